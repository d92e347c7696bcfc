//! Tests that commands of people are refused inside an agent, whatever the agent does to its
//! environment.
#![expect(clippy::disallowed_methods, reason = "the tests start shells as an agent does")]

use std::process::{Command, Output};

use mow_testkit::sandbox::Sandbox;

use crate::run_fixture::{json_of, planned, run_all};

const MOW: &str = env!("CARGO_BIN_EXE_mow");

/// Makes a project whose first phase has failed, so that question 1 is open.
fn project_with_question() -> Sandbox {
    let project = planned(&[(&[], "exit 3")]);
    assert_eq!(run_all(&project).status.code(), Some(1));
    project
}

/// Runs a script in the project, in a process that carries the variables.
fn script(project: &Sandbox, variables: &[(&str, &str)], script: &str) -> Output {
    Command::new("sh")
        .args(["-c", script])
        .current_dir(project.root())
        .env("HOME", project.home())
        .env("MOW", MOW)
        .envs(variables.iter().copied())
        .output()
        .expect("a shell can be started")
}

fn assert_refused(output: &Output, reason: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(reason), "{errors}");
}

#[test]
fn an_agent_that_clears_its_environment_is_still_refused() {
    let project = project_with_question();
    let agent: &[(&str, &str)] = &[("MOW_ROLE", "worker"), ("MOW_AGENT", "7"), ("MOW_RUN", "x")];
    let clear = "env -u MOW_ROLE -u MOW_AGENT -u MOW_TOKEN -u MOW_RUN";
    let reason = "an agent of a run cannot decide about the run";
    for command in [
        "answer 1 retry",
        "approve 1",
        "deny 1",
        "pause",
        "resume 1",
        "cancel --yes",
        "merge",
        "close-shop --yes",
        "rescue restore x",
        "config-set permissions.allow Bash",
        "config-set roles.executor.command true",
    ] {
        // The shell stays the parent of mow, because another command follows.
        let called = format!("{clear} \"$MOW\" {command}; exit $?");
        assert_refused(&script(&project, agent, &called), reason);
    }
    for mark in [("MOW_AGENT", "7"), ("MOW_TOKEN", "r/01/1"), ("MOW_ROLE", "worker")] {
        let deep = "sh -c 'env -i sh -c \"$MOW answer 1 retry; exit \\$?\"; exit $?'";
        let deep = deep.replace("$MOW", MOW);
        assert_refused(&script(&project, &[mark], &format!("{deep}; exit $?")), reason);
    }
    assert_eq!(json_of(&project, &["inbox"])["questions"][0]["state"], "open");
    let person = script(&project, &[], "\"$MOW\" answer 1 retry; exit $?");
    assert!(person.status.success(), "{}", String::from_utf8_lossy(&person.stderr));
}

#[test]
fn a_chain_of_too_many_processes_cannot_hide_an_agent() {
    let project = project_with_question();
    let nested = "if [ $1 -gt 0 ]; then sh \"$0\" $(($1 - 1)); exit $?; fi; \
                  env -u MOW_AGENT $MOW answer 1 retry; exit $?";
    project.write("../nested.sh", nested);
    let call = format!("sh {} 70; exit $?", project.outer_dir().join("nested.sh").display());
    assert_refused(&script(&project, &[("MOW_AGENT", "7")], &call), "an agent of a run");
}

#[test]
fn an_agent_starts_no_run_in_its_own_project_and_may_change_other_settings() {
    let project = project_with_question();
    let run = json_of(&project, &["ps"])["run"].as_str().unwrap().to_owned();
    let agent = [("MOW_AGENT", "7"), ("MOW_RUN", run.as_str()), ("MOW_PHASE", "1")];
    let clear = "env -u MOW_AGENT -u MOW_RUN -u MOW_PHASE \"$MOW\"";
    let started = script(&project, &agent, &format!("{clear} run --all --yes --plain; exit $?"));
    assert_refused(&started, "the worker of phase 1 cannot start a run of its own");
    let set = script(&project, &agent, &format!("{clear} config-set workflow.research false"));
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));
    let elsewhere = script(
        &project,
        &[("MOW_AGENT", "7"), ("MOW_RUN", "of-another-project")],
        &format!("{clear} run --all --yes --plain --dry-run; exit $?"),
    );
    assert!(elsewhere.status.success(), "{}", String::from_utf8_lossy(&elsewhere.stderr));
}
