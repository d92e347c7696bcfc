//! Tests of the step list.

use super::*;
use anyhow::bail;

#[test]
fn a_failing_step_says_how_to_repeat_it() {
    let mut steps = Steps::default();
    let error = steps
        .call("lint", "spelling", "spell --all", || bail!("two words are wrong"))
        .expect_err("the step fails");
    let text = format!("{error:#}");
    assert!(text.contains("spell --all") && text.contains("two words are wrong"), "{text}");
}

#[test]
fn a_program_that_fails_fails_its_step() {
    let mut steps = Steps::default();
    assert!(steps.command("lint", "fails", Command::new("false")).is_err());
    assert!(steps.command("lint", "passes", Command::new("true")).is_ok());
}

#[test]
fn the_table_sums_the_steps_of_a_tier() {
    let step = |tier, seconds| TimedStep {
        tier,
        name: "x".to_owned(),
        took: Duration::from_secs(seconds),
    };
    let steps = Steps { done: vec![step("lint", 30), step("tests", 60), step("lint", 60)] };
    let table = steps.table();
    let minutes = |tier: &str| {
        let (_, tiers) = table.split_once("minutes").expect("the table of tiers");
        let line = tiers.lines().find(|line| line.starts_with(tier)).expect("the tier's line");
        line.split_whitespace().last().map(str::to_owned)
    };
    assert_eq!(minutes("lint"), Some("1.50".to_owned()));
    assert_eq!(minutes("tests"), Some("1.00".to_owned()));
    assert_eq!(minutes("all"), Some("2.50".to_owned()));
}

#[test]
fn a_shell_line_can_be_pasted() {
    let mut command = Command::new("/some/where/cargo");
    command.args(["test", "storm"]).env("KILLS", "7");
    assert_eq!(shell_line(&command), "KILLS=7 cargo test storm");
    assert_eq!(shell_line(&Command::new("/cache/bin/tool")), "/cache/bin/tool");
}
