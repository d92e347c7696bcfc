//! Tests `mow agents`, `mow cost` and `mow peer` without running an agent.

use mow_testkit::planned_project::{PlannedProject, phase, plan, task};
use serde_json::Value;

const MOW: &str = env!("CARGO_BIN_EXE_mow");

fn two_phase_project() -> PlannedProject {
    let one = |n: &str| phase(n, &[]).with(plan(vec![task(&format!("echo {n} > crop-{n}"))]));
    PlannedProject::new(MOW, &[one("1"), one("2")])
}

#[test]
fn a_run_without_agents_costs_nothing() {
    let project = two_phase_project();
    project.run_all();
    let text = project.exits_with(&["cost"], 0);
    assert!(text.contains("No agent has worked"), "{text}");
    let value: Value = serde_json::from_str(&project.run(&["cost", "--json"]).stdout).unwrap();
    assert_eq!(value["total"]["agent_runs"], 0);
    assert_eq!(value["total"]["usd"], Value::Null);
}

#[test]
fn the_agent_of_each_role_is_shown() {
    let project = two_phase_project();
    project.write(
        ".planning/config.json",
        r#"{"roles": {"planner": {"agent": "codex", "model": "big"}, "executor": {"command": "true"}}}"#,
    );
    let value: Value = serde_json::from_str(&project.run(&["agents", "--json"]).stdout).unwrap();
    assert_eq!(value["roles"]["planner"]["agent"], "codex");
    assert_eq!(value["roles"]["planner"]["model"], "big");
    assert_eq!(value["roles"]["executor"], Value::Null);
    let names: Vec<_> = value["agents"].as_array().unwrap().iter().map(|a| &a["name"]).collect();
    assert_eq!(names, ["claude", "codex", "gemini", "opencode"]);
    let text = project.exits_with(&["agents"], 0);
    assert!(text.contains("codex, model big") && text.contains("a command"), "{text}");
}

#[test]
fn a_peer_message_is_sent_and_logged() {
    let project = two_phase_project();
    project.run_all();
    let send = ["peer", "send", "2", "mind the", "gap", "--from", "1"];
    let value: Value = serde_json::from_str(&project.run(&send).stdout).unwrap();
    assert_eq!(value["sent"], true);
    let log =
        project.exits_with(&["chat-log", "read", "--from", "phase-01", "--to", "phase-02"], 0);
    assert!(log.contains("mind the gap"), "{log}");
    let unknown_phase = project.exits_with(&["peer", "send", "7", "hello", "--from", "1"], 1);
    assert!(unknown_phase.contains('7'), "{unknown_phase}");
    project.exits_with(&["peer", "send", "2", &"long ".repeat(200), "--from", "1"], 1);
}
