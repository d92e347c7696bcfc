//! The points themselves. Dying is tested on processes of our own: this very test binary.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::source::points_in;
use crate::{Blow, Role, enter, hide, reach, reach_torn};

/// What a victim is told to do; without it this test binary is nobody's victim.
const VICTIM: &str = "MOW_TEST_VICTIM";

/// Not a test by itself: what the others run in a process that may die.
#[test]
fn victim() {
    let Ok(role) = std::env::var(VICTIM) else { return };
    match role.as_str() {
        "lead" => enter(Role::Lead),
        "worker" => enter(Role::Worker),
        _ => {}
    }
    for _ in 0..2 {
        reach("a.first");
        reach_torn("a.half", || fs::write(std::env::var("HALF").unwrap(), "half").unwrap());
    }
    reach("a.last");
}

fn command(dir: &Path, role: &str, order: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "tests::victim", "--quiet"]).env(VICTIM, role);
    command.env("HALF", dir.join("half")).env("MOW_FAILPOINT_TRACE", dir.join("trace"));
    command.env("MOW_FAILPOINT_MARK", dir.join("mark")).envs(order.iter().copied());
    command
}

fn run(dir: &Path, role: &str, order: &[(&str, &str)]) -> ExitStatus {
    command(dir, role, order).output().unwrap().status
}

#[test]
fn a_process_dies_at_its_point_and_no_other_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let order = [("MOW_FAILPOINT", "a.first@lead,worker")];
    assert!(run(dir.path(), "person", &order).success());
    assert_eq!(run(dir.path(), "lead", &order).signal(), Some(9));
    assert!(run(dir.path(), "lead", &order).success(), "once for each role");
    assert_eq!(run(dir.path(), "worker", &order).signal(), Some(9));
    let trace = fs::read_to_string(dir.path().join("trace")).unwrap();
    assert!(trace.starts_with("person a.first\nperson a.half\nperson a.first\n"), "{trace}");
    assert!(trace.ends_with("lead a.last\nworker a.first\n"), "{trace}");
}

#[test]
fn the_second_pass_counts_and_the_half_step_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let order = [("MOW_FAILPOINT", "a.half@lead#2")];
    assert_eq!(run(dir.path(), "lead", &order).signal(), Some(9));
    assert_eq!(fs::read_to_string(dir.path().join("trace")).unwrap().lines().count(), 4);
    assert_eq!(fs::read_to_string(dir.path().join("half")).unwrap(), "half");
    assert!(run(dir.path(), "person", &[]).success(), "without a name nobody dies");
}

#[test]
fn one_death_comes_after_the_other() {
    let dir = tempfile::tempdir().unwrap();
    let order = [("MOW_FAILPOINT", "a.last@lead a.first@lead,worker#2")];
    assert!(run(dir.path(), "worker", &order).success(), "it is not its turn");
    for role in ["lead", "lead", "worker"] {
        assert_eq!(run(dir.path(), role, &order).signal(), Some(9));
    }
    let trace = fs::read_to_string(dir.path().join("trace")).unwrap();
    let ends = "lead a.last\nlead a.first\nlead a.half\nlead a.first\nworker a.first\n";
    assert!(trace.contains(ends), "{trace}");
    assert!(
        run(dir.path(), "lead", &order).success() && run(dir.path(), "worker", &order).success()
    );
}

#[test]
fn a_blow_is_read_as_it_is_written() {
    let blow = Blow::parse("a.b@lead,worker#3");
    assert_eq!(blow.to_string(), "a.b@lead,worker#3");
    assert_eq!((blow.roles, blow.hit), (vec![Role::Lead, Role::Worker], 3));
    assert_eq!(Blow::parse("a.b").to_string(), "a.b@lead#1");
}

#[test]
fn a_hidden_order_reaches_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(dir.path(), "lead", &[("MOW_FAILPOINT", "a.first@lead")]);
    hide(&mut command);
    assert!(command.output().unwrap().status.success());
    assert!(!dir.path().join("trace").exists());
}

#[test]
fn points_are_found_where_they_are_called() {
    let call = |how: &str, name: &str| format!("    failpoint::{how}(\"{name}\");\n");
    let text = format!("//! {}\nfn f() {{\n{}}}\n", call("reach", "no.point"), call("reach", "b"))
        + &call("reach_torn", "c.d");
    let found: Vec<_> =
        points_in("f.rs", &text).into_iter().map(|point| (point.line, point.name)).collect();
    assert_eq!(found, [(4, "b".to_owned()), (6, "c.d".to_owned())]);
}
