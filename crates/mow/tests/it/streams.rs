//! Tests output: colours, terminal width, readers that close the pipe early, long answers.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::sandbox;

fn project(phases: usize) -> mow_testkit::sandbox::Sandbox {
    let section =
        |number| format!("### Phase {number}: Some name of phase {number}\n**Goal**: {number}\n\n");
    let roadmap: String = (1..=phases).map(section).collect();
    sandbox().file(".planning/ROADMAP.md", roadmap)
}

#[test]
fn pipes_get_no_colours_unless_forced() {
    let project = project(3);
    let graph = || project.call(["roadmap", "graph"]);
    let plain = graph().run().stdout_on_success();
    assert!(!plain.contains('\x1b'), "{plain}");
    let color = graph().env("CLICOLOR_FORCE", "1").run().stdout_on_success();
    assert!(color.contains("\x1b["), "colours can be had: {color}");
    assert_eq!(graph().env("FORCE_COLOR", "1").run().stdout_on_success(), color, "by either name");
    let bad = project.call(["bogus"]).env("FORCE_COLOR", "1").run();
    assert!(!bad.transcript().contains('\x1b'), "{}", bad.transcript());
    for call in [&["--help"][..], &["state", "--help"], &["doctor"], &[], &["help-open", "man"]] {
        let ran = project.call(call).env("FORCE_COLOR", "1").run();
        assert!(ran.stdout.contains("\x1b["), "{}", ran.transcript());
        let ran = project.call(call).env("FORCE_COLOR", "1").env("NO_COLOR", "").run();
        assert!(!ran.stdout.contains('\x1b'), "{}", ran.transcript());
    }
    let none = graph().env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").run().stdout_on_success();
    assert_eq!(none, plain);
    for call in [&["--help"][..], &["roadmap", "phases"], &["bogus"]] {
        let ran = project.call(call).env("TERM", "xterm-256color").run();
        assert!(!ran.transcript().contains('\x1b'), "{}", ran.transcript());
    }
}

#[test]
fn the_width_follows_the_variable_columns() {
    let project = project(3);
    let widest = |columns: &str| {
        let drawing =
            project.call(["roadmap", "graph"]).env("COLUMNS", columns).run().stdout_on_success();
        drawing.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    };
    assert!(widest("40") <= 80 && widest("no number") <= 80);
}

/// Starts a call with a long answer and reads only its first line.
fn read_one_line(arguments: &[&str]) -> (String, Option<i32>, String) {
    let project = project(5_000);
    let mut child = project.call(arguments).spawn();
    let mut line = String::new();
    let stdout = child.stdout.take().expect("it is a pipe");
    let mut reader = BufReader::with_capacity(16, stdout);
    reader.read_line(&mut line).expect("the answer is text");
    drop(reader);
    let output = child.wait_with_output().expect("it can be waited for");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (line, output.status.code(), stderr)
}

#[test]
fn a_reader_may_close_the_pipe_early() {
    for call in
        [&["roadmap", "phases"][..], &["roadmap", "phases", "--json"], &["roadmap", "graph"]]
    {
        let (line, code, stderr) = read_one_line(call);
        assert!(!line.is_empty());
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{call:?}");
    }
}

#[test]
fn a_long_answer_of_the_contract_goes_to_a_file() {
    let project = project(500);
    let call = || project.call(["roadmap", "analyze"]);
    for call in [call(), call().without_env("HOME"), call().env("XDG_CACHE_HOME", project.home())] {
        let answer = call.run().stdout_on_success();
        let path = answer.strip_prefix("@file:").expect("the answer is a file's name");
        assert!(path.ends_with(".json") && path.contains("/mow-"), "{path}");
        assert!(path.starts_with(project.outer_dir().to_str().unwrap()), "{path}");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.chars().count() > 50_000 && !text.ends_with('\n'));
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["phase_count"], 500);
    }
    // Commands of our own print whatever it is.
    let phases = project.call(["roadmap", "phases", "--json"]).run().json();
    assert_eq!(phases.as_array().map(Vec::len), Some(500));
}

#[test]
fn on_a_terminal_every_answer_ends_its_line() {
    let project = project(2);
    let mut bar = project.call(["progress", "bar", "--raw"]).on_terminal();
    bar.wait_for("(0%)\r\n");
    assert!(bar.end().0.success());
    let (status, screen) = project.call(["find-phase", "1"]).on_terminal().end();
    assert!(status.success() && screen.ends_with("}\r\n"), "{screen:?}");
}
