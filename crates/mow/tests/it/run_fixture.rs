//! Makes small projects to run: each phase has one plan with one task, which is a shell script.
#![expect(clippy::disallowed_methods, reason = "tests hold the other end of pipes")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use mow_testkit::program_call::CommandResult;
use mow_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::sandbox;

/// A phase: the phases it depends on, and the script of its task.
pub(crate) type Phase<'a> = (&'a [u32], &'a str);

/// Makes a repository with a planned project, all committed.
pub(crate) fn planned(phases: &[Phase<'_>]) -> Sandbox {
    let mut roadmap = "# Roadmap: Small\n\n## Phases\n\n".to_owned();
    let mut details = "\n## Phase Details\n".to_owned();
    for (at, (dependencies, _)) in phases.iter().enumerate() {
        let number = at + 1;
        let dependencies: Vec<_> =
            dependencies.iter().map(|dependencies| format!("Phase {dependencies}")).collect();
        let dependencies =
            if dependencies.is_empty() { "Nothing".to_owned() } else { dependencies.join(", ") };
        roadmap += &format!("- [ ] **Phase {number}: Part {number}** - a part\n");
        details += &format!(
            "\n### Phase {number}: Part {number}\n\n**Goal**: Part {number}\n**Depends on**: {dependencies}\n\
             **Plans**: 1 plan\n\nPlans:\n- [ ] 0{number}-01-PLAN.md\n"
        );
    }
    let project = sandbox()
        .file(".planning/PROJECT.md", "# Small\n")
        .file(".planning/REQUIREMENTS.md", "# Requirements\n")
        .file(".planning/ROADMAP.md", roadmap + &details)
        .file(".planning/STATE.md", "# Project State\n\n## Current Position\n\nPhase: 1\n")
        .file(".planning/config.json", "{ \"workflow\": { \"research\": false } }\n");
    for (at, (_, script)) in phases.iter().enumerate() {
        let dir = format!(".planning/phases/0{0}-part-{0}", at + 1);
        project.write(&format!("{dir}/0{}-CONTEXT.md", at + 1), context(at + 1));
        project.write(&format!("{dir}/0{}-01-PLAN.md", at + 1), plan(at + 1, script));
    }
    project.git(".", &["init", "-q", "-b", "main"]);
    project.git(".", &["config", "user.name", "Test"]);
    project.git(".", &["config", "user.email", "t@example.org"]);
    commit(&project);
    project
}

/// Commits all files.
pub(crate) fn commit(project: &Sandbox) {
    project.git(".", &["add", "--all"]);
    project.git(".", &["commit", "-q", "-m", "plan"]);
}

fn context(number: usize) -> String {
    format!(
        "# Phase {number} - Context\n\n<decisions>\n## Implementation Decisions\n\n- None.\n\n\
         </decisions>\n\n<deferred>\n## Deferred Ideas\n\n- Idea {number}: **later** maybe.\n\n\
         </deferred>\n"
    )
}

fn plan(number: usize, script: &str) -> String {
    format!(
        "---\nphase: 0{number}-part-{number}\nplan: 01\ntype: execute\nwave: 1\ndepends_on: []\n\
         files_modified:\n  - part-{number}\nautonomous: true\n---\n\n<tasks>\n\n\
         <task type=\"auto\">\n  <name>Task 1: Part</name>\n  <files>part-{number}</files>\n\
         \x20 <action>\n\n```sh\n{script}\necho {number} > part-{number}\n```\n  </action>\n\
         \x20 <verify>\n    <automated>test -f part-{number}</automated>\n  </verify>\n\
         \x20 <done>It is there</done>\n</task>\n\n</tasks>\n"
    )
}

/// Runs all phases until the run exits.
pub(crate) fn run_all(project: &Sandbox) -> CommandResult {
    project.call(["run", "--all", "--yes", "--plain"]).run()
}

/// Returns the answer of a command with `--json`.
pub(crate) fn json_of(project: &Sandbox, words: &[&str]) -> Value {
    project.call(words.iter().chain(&["--json"])).run().json()
}

/// Returns the path of the journal of the only run.
pub(crate) fn journal(project: &Sandbox) -> PathBuf {
    let runs = fs::read_dir(project.root().join(".git/mow/runs")).expect("there was a run");
    let dirs: Vec<_> = runs.map(|entry| entry.expect("it can be listed").path()).collect();
    assert_eq!(dirs.len(), 1, "{dirs:?}");
    dirs[0].join("journal.ndjson")
}

/// A task script that reports its arrival at a gate and waits there. The timeouts end it when the
/// test has failed.
pub(crate) const GATED: &str =
    "timeout 100 sh -c 'echo > ../../../here'\ntimeout 100 cat ../../../go";

/// The test's side of a task that waits at a gate: two named pipes.
pub(crate) struct Gate {
    here: PathBuf,
    go: PathBuf,
}

impl Gate {
    /// Makes the two pipes outside of the project.
    pub(crate) fn new(project: &Sandbox) -> Self {
        let (here, go) = (project.outer_dir().join("here"), project.outer_dir().join("go"));
        let made = Command::new("mkfifo").args([&here, &go]).status();
        assert!(made.expect("pipes can be made").success());
        Self { here, go }
    }

    /// Waits until the task has reached the gate.
    pub(crate) fn reached(&self) {
        fs::read(&self.here).expect("the pipe can be read");
    }

    /// Lets the task continue.
    pub(crate) fn open(&self) {
        fs::write(&self.go, "go\n").expect("the pipe can be written");
    }
}
