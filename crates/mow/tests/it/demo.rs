//! Tests `mow demo --prepare`: the project is valid, and the scripts of its plans work.
#![expect(
    clippy::disallowed_methods,
    reason = "the test runs the scripts of the plans, as an agent would"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use mow_store::plan::{self, Plan, Task};
use mow_testkit::sandbox::Sandbox;
use serde_json::{Value, json};

use crate::{sandbox, today};

const PREPARE: [&str; 4] = ["demo", "--prepare", "--dir", "demo"];

const PHASES: [&str; 6] =
    ["01-log-format", "02-statistics", "03-charts", "04-import", "05-report", "06-release"];

fn prepared_demo() -> Sandbox {
    let project = sandbox();
    let _ = project.call(PREPARE).run().stdout_on_success();
    project
}

/// Returns the plans of a phase in the order of their waves.
fn plans(project: &Sandbox, phase: &str) -> Vec<(String, Plan)> {
    let load = |number: u32| {
        let path = format!(".planning/phases/{phase}/{}-0{number}-PLAN.md", &phase[..2]);
        let plan = plan::parse(&project.bytes(&format!("demo/{path}")));
        (path, plan)
    };
    let mut plans = vec![load(1), load(2)];
    plans.sort_by_key(|(_, plan)| plan.wave);
    plans
}

/// Returns the script in the action of a task.
fn script(task: &Task) -> &str {
    let action = task.element("action").expect("every task has an action");
    let (_, rest) = action.split_once("```sh\n").expect("every action has a script");
    rest.split_once("\n```").expect("the script ends").0
}

/// Runs a script as an agent does. Returns whether it succeeded, and its output.
fn run_script(dir: &Path, script: &str) -> (bool, String) {
    let output = Command::new("sh")
        .args(["-eu", "-c", script])
        .current_dir(dir)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .expect("there is a shell");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Runs a plan and commits it. Every check must fail before the action of its task.
fn run_plan(project: &Sandbox, path: &str, plan: &Plan) {
    let dir = project.root().join("demo");
    for task in &plan.tasks {
        let verify = task.element("automated").expect("every task has a command that verifies it");
        assert!(!run_script(&dir, verify).0, "{path}: `{verify}` passes before {}", task.name);
        let (done, output) = run_script(&dir, script(task));
        assert!(done && output.is_empty(), "{path}: {}: {output}", task.name);
        let (verified, output) = run_script(&dir, verify);
        assert!(verified, "{path}: `{verify}` fails after {}:\n{output}", task.name);
    }
    let status = project.git("demo", &["status", "--porcelain", "--untracked-files=all"]);
    let changed: BTreeSet<_> = status.lines().map(|line| line[3..].to_owned()).collect();
    assert_eq!(changed, plan.files_modified.iter().cloned().collect(), "{path}");
    project.git("demo", &["add", "--all"]);
    project.git("demo", &["commit", "-q", "-m", path]);
    for promise in ["artifacts", "key-links"] {
        project.call(["verify", promise, path, "--raw"]).cwd("demo").run().prints("valid");
    }
}

/// Runs a phase on its own branch, which starts at `base`.
fn run_phase(project: &Sandbox, phase: &str, base: &str) {
    project.git("demo", &["checkout", "-q", "-b", phase, base]);
    for (path, plan) in plans(project, phase) {
        run_plan(project, &path, &plan);
    }
    project.git("demo", &["checkout", "-q", "main"]);
}

#[test]
fn a_demo_is_a_repository_with_one_commit() {
    let project = sandbox();
    let answer = project.call(PREPARE).env("GIT_DIR", "elsewhere").run().stdout_on_success();
    let dir = project.root().join("demo");
    assert!(answer.contains(&format!("{}: 6 phases, 12 plans", dir.display())), "{answer}");
    assert_eq!(
        project.git("demo", &["log", "--format=%cn <%ce> %D"]).trim(),
        "mow demo <demo@mow.invalid> HEAD -> main"
    );
    assert_eq!(project.git("demo", &["status", "--porcelain"]), "");
    for (path, bytes) in project.files() {
        let text = String::from_utf8(bytes).unwrap();
        assert!(path.starts_with("demo/.planning/") && !text.contains("{date}"), "{path}");
    }
    assert!(
        project.text("demo/.planning/STATE.md").contains(&format!("Last session: {}", today()))
    );
}

#[test]
fn the_git_identity_of_the_user_is_used() {
    let project = sandbox();
    let settings = "[user]\nname = Ann\nemail = ann@example.org\n";
    fs::write(project.home().join(".gitconfig"), settings).unwrap();
    let _ = project.call(PREPARE).run().stdout_on_success();
    assert_eq!(project.git("demo", &["log", "--format=%an <%ae>"]), "Ann <ann@example.org>\n");
    assert!(!project.git("demo", &["config", "--local", "--list"]).contains("user."));
}

#[test]
fn only_a_new_or_empty_directory_is_accepted() {
    let project = sandbox().file("full/mine", "mine\n").file("file", "");
    project.make_dir("empty");
    project.link("link", "nowhere");
    let before = project.files();
    for (dir, why) in [("full", "is not empty"), (".", "is not empty"), ("file", "cannot be used")]
    {
        project.call(["demo", "--prepare", "--dir", dir]).run().refuses(why);
    }
    project.call(["demo", "--prepare", "--dir", "link"]).run().refuses("cannot be used");
    assert_eq!(project.files(), before);
    let dir_of = |words: &[&str]| -> Value { project.call(words).run().json() };
    let at = |name: &str| json!({ "dir": project.root().join(name), "phases": 6, "plans": 12 });
    assert_eq!(dir_of(&["demo", "--prepare", "--json", "--dir", "empty"]), at("empty"));
    assert_eq!(dir_of(&["demo", "--prepare", "--json", "--dir", "new/er"]), at("new/er"));
    assert_eq!(dir_of(&["demo", "--prepare", "--json"]), at("mow-demo"));
    assert_eq!(dir_of(&["demo", "--prepare", "--json"]), at("mow-demo-2"));
    project.call(PREPARE).env("PATH", "/nowhere").run().refuses("cannot run git");
    assert!(!project.root().join("demo").exists());
}

#[test]
fn every_command_reads_the_demo_without_warnings() {
    let project = prepared_demo();
    let call = |words: &[&str]| project.call(words).cwd("demo").run();
    let dag = call(&["roadmap", "analyze-dag", "--raw"]).json();
    let waves: Vec<_> = dag["waves"].as_array().unwrap().iter().map(|w| &w["phases"]).collect();
    assert_eq!(json!(waves), json!([["1"], ["2", "3", "4"], ["5"], ["6"]]), "{dag}");
    let found = call(&["validate", "consistency"]).json();
    assert_eq!((&found["passed"], &found["warning_count"]), (&json!(true), &json!(0)), "{found}");
    assert_eq!(call(&["validate", "health"]).json()["status"], "healthy");
    let report: Value = serde_json::from_str(&call(&["doctor", "--json"]).stdout).unwrap();
    for check in report["plan"].as_array().unwrap() {
        assert_eq!(check["level"], "ok", "{check}");
    }
    let mut requirements = Vec::new();
    let mut files = Vec::new();
    for phase in PHASES {
        let index = call(&["phase-plan-index", &phase[..2]]).json();
        assert_eq!(index["incomplete"].as_array().unwrap().len(), 2, "{index}");
        for (path, plan) in plans(&project, phase) {
            let structure = call(&["verify", "plan-structure", &path]).json();
            assert_eq!(structure["valid"], true, "{structure}");
            assert_eq!(structure["warnings"], json!([]), "{path}");
            requirements.extend(plan.requirements);
            files.extend(plan.files_modified);
        }
    }
    let listed = project.text("demo/.planning/REQUIREMENTS.md");
    let boxes = listed.lines().filter_map(|line| line.strip_prefix("- [ ] **")?.split("**").next());
    assert_eq!(boxes.collect::<Vec<_>>(), requirements);
    // No two plans share a file, so parallel plans cannot conflict.
    assert_eq!(files.iter().collect::<BTreeSet<_>>().len(), files.len());
}

#[test]
fn the_scripts_in_the_plans_build_the_program() {
    let project = prepared_demo();
    run_phase(&project, PHASES[0], "main");
    project.git("demo", &["merge", "-q", PHASES[0]]);
    for phase in &PHASES[1..4] {
        run_phase(&project, phase, PHASES[0]);
    }
    for phase in &PHASES[1..4] {
        project.git("demo", &["merge", "-q", phase]);
    }
    for phase in &PHASES[4..] {
        run_phase(&project, phase, "main");
        project.git("demo", &["merge", "-q", phase]);
    }
    // MANIFEST has a checksum of every file, so another awk or another run must give the same
    // result.
    assert_eq!(project.text("demo/MANIFEST"), include_str!("samples/demo-manifest.txt"));
    let tracked = project.git("demo", &["ls-files"]);
    let tracked = tracked.lines().filter(|path| !path.starts_with(".planning/"));
    let listed = include_str!("samples/demo-manifest.txt").lines();
    let listed = listed.filter_map(|line| line.split_whitespace().nth(2)).chain(["MANIFEST"]);
    assert_eq!(tracked.collect::<BTreeSet<_>>(), listed.collect());
    assert_eq!(project.git("demo", &["status", "--porcelain"]), "");
}
