//! Tests `mow install shim` with a real node.
#![expect(clippy::disallowed_methods, reason = "the tests start node and create a program")]

use std::path::Path;
use std::process::{Command, Output};

use mow_testkit::sandbox::Sandbox;

use crate::sandbox;

fn node(project: &Sandbox, file: &Path, arguments: &[&str], path: &str) -> Output {
    Command::new("/usr/bin/env")
        .env_clear()
        .env("PATH", path)
        .arg("node")
        .arg(file)
        .args(arguments)
        .current_dir(project.root())
        .output()
        .expect("env can be run")
}

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[test]
fn the_shim_behaves_like_mow_itself() {
    let project = sandbox().file(".planning/STATE.md", "## Blockers\n\n- a\n");
    let _ = project.call(["install", "shim", "bin"]).run().stdout_on_success();
    let shim = project.root().join("bin/mow-tools.cjs");
    let run =
        node(&project, &shim, &["state", "add-blocker", "--text", "$1 `b` \"c\"", "--raw"], PATH);
    assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(0), b"true".as_slice()));
    assert_eq!(project.text(".planning/STATE.md"), "## Blockers\n\n- a\n- $1 `b` \"c\"\n");
    let run = node(&project, &shim, &["bogus"], PATH);
    assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0));
    assert!(run.stderr.starts_with(b"Error: Unknown command: bogus"));
}

#[test]
fn a_mow_in_path_takes_precedence() {
    let project = sandbox().file("path/mow", "#!/bin/sh\necho \"other $*\"\nexit 7\n");
    let other = project.root().join("path");
    mow_testkit::sandbox::make_executable(&other.join("mow"));
    let _ = project.call(["install", "shim", "."]).run().stdout_on_success();
    let path = format!("{}:{PATH}", other.display());
    let run = node(&project, &project.root().join("mow-tools.cjs"), &["a", "b c"], &path);
    assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(7), b"other a b c\n".as_slice()));
}

#[test]
fn only_files_written_by_mow_are_replaced() {
    let project = sandbox().file("bin/gsd-tools.cjs", "mine\n");
    let call = |more: &[&str]| {
        let call = [&["install", "shim", "bin", "--name", "gsd-tools.cjs"], more].concat();
        project.call(call).run()
    };
    call(&[]).refuses("mow did not write it");
    assert_eq!(project.text("bin/gsd-tools.cjs"), "mine\n");
    assert!(call(&["--force"]).stdout_on_success().starts_with("wrote "));
    assert!(call(&[]).stdout_on_success().ends_with("is up to date\n"));
    let older = project.text("bin/gsd-tools.cjs") + "// older\n";
    project.write("bin/gsd-tools.cjs", older);
    assert_eq!(call(&["--json"]).json()["written"], true);
}

#[test]
fn the_name_must_be_a_file_name_and_the_default_directory_is_below_home() {
    let project = sandbox();
    for name in ["../x.cjs", "/x.cjs", "a/b.cjs", "x.js", "", "..", "-x.cjs"] {
        let name = format!("--name={name}");
        project.call(["install", "shim", ".", &name]).run().refuses("is not the name");
    }
    assert!(project.files().is_empty());
    let _ = project.call(["install", "shim"]).run().stdout_on_success();
    assert!(project.home().join(".claude/mowism/bin/mow-tools.cjs").exists());
}
