//! Failpoints in child processes. The children that die are runs of this test binary.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::source::points_in;
use crate::{KillPoint, ProcessRole, clear_env, reach, reach_torn, set_role};

/// The variable with the role of a child process; without it, the test `victim` does nothing.
const VICTIM: &str = "MOW_TEST_VICTIM";

/// Not a test by itself: the other tests run it in a child process that may die.
#[test]
fn victim() {
    let Ok(role) = std::env::var(VICTIM) else { return };
    match role.as_str() {
        "lead" => set_role(ProcessRole::Lead),
        "worker" => set_role(ProcessRole::Worker),
        _ => {}
    }
    for _ in 0..2 {
        reach("a.first");
        reach_torn("a.half", || fs::write(std::env::var("HALF").unwrap(), "half").unwrap());
    }
    reach("a.last");
}

fn command(dir: &Path, role: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::victim", "--quiet"]).env(VICTIM, role);
    command.env("HALF", dir.join("half")).env("MOW_FAILPOINT_TRACE", dir.join("trace"));
    command.env("MOW_FAILPOINT_MARK", dir.join("mark")).envs(variables.iter().copied());
    command
}

fn run(dir: &Path, role: &str, variables: &[(&str, &str)]) -> ExitStatus {
    command(dir, role, variables).output().unwrap().status
}

#[test]
fn only_processes_of_the_named_roles_die() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [("MOW_FAILPOINT", "a.first@lead,worker")];
    assert!(run(dir.path(), "person", &variables).success());
    assert_eq!(run(dir.path(), "lead", &variables).signal(), Some(9));
    assert!(run(dir.path(), "lead", &variables).success(), "once for each role");
    assert_eq!(run(dir.path(), "worker", &variables).signal(), Some(9));
    let trace = fs::read_to_string(dir.path().join("trace")).unwrap();
    assert!(trace.starts_with("person a.first\nperson a.half\nperson a.first\n"), "{trace}");
    assert!(trace.ends_with("lead a.last\nworker a.first\n"), "{trace}");
}

#[test]
fn the_second_pass_counts_and_the_half_step_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [("MOW_FAILPOINT", "a.half@lead#2")];
    assert_eq!(run(dir.path(), "lead", &variables).signal(), Some(9));
    assert_eq!(fs::read_to_string(dir.path().join("trace")).unwrap().lines().count(), 4);
    assert_eq!(fs::read_to_string(dir.path().join("half")).unwrap(), "half");
    assert!(run(dir.path(), "person", &[]).success(), "without kill points no process dies");
}

#[test]
fn kill_points_are_used_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let variables = [("MOW_FAILPOINT", "a.last@lead a.first@lead,worker#2")];
    assert!(run(dir.path(), "worker", &variables).success(), "its kill point is not active yet");
    for role in ["lead", "lead", "worker"] {
        assert_eq!(run(dir.path(), role, &variables).signal(), Some(9));
    }
    let trace = fs::read_to_string(dir.path().join("trace")).unwrap();
    let ends = "lead a.last\nlead a.first\nlead a.half\nlead a.first\nworker a.first\n";
    assert!(trace.contains(ends), "{trace}");
    assert!(
        run(dir.path(), "lead", &variables).success()
            && run(dir.path(), "worker", &variables).success()
    );
}

#[test]
fn a_kill_point_is_parsed_as_it_is_displayed() {
    let kill_point = KillPoint::parse("a.b@lead,worker#3");
    assert_eq!(kill_point.to_string(), "a.b@lead,worker#3");
    assert_eq!(
        (kill_point.roles, kill_point.hit),
        (vec![ProcessRole::Lead, ProcessRole::Worker], 3)
    );
    assert_eq!(KillPoint::parse("a.b").to_string(), "a.b@lead#1");
}

#[test]
fn clear_env_disables_failpoints() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(dir.path(), "lead", &[("MOW_FAILPOINT", "a.first@lead")]);
    clear_env(&mut command);
    assert!(command.output().unwrap().status.success());
    assert!(!dir.path().join("trace").exists());
}

#[test]
fn failpoints_are_found_in_source_code() {
    let call = |how: &str, name: &str| format!("    failpoint::{how}(\"{name}\");\n");
    let text = format!("//! {}\nfn f() {{\n{}}}\n", call("reach", "no.point"), call("reach", "b"))
        + &call("reach_torn", "c.d");
    let found: Vec<_> =
        points_in("f.rs", &text).into_iter().map(|point| (point.line, point.name)).collect();
    assert_eq!(found, [(4, "b".to_owned()), (6, "c.d".to_owned())]);
}
