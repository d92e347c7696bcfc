//! `mow agents`, `mow cost` and `mow peer` without any agent at work.

use mow_testkit::field::{Field, phase, plan, task};
use serde_json::Value;

const MOW: &str = env!("CARGO_BIN_EXE_mow");

fn sown() -> Field {
    let one = |n: &str| phase(n, &[]).with(plan(vec![task(&format!("echo {n} > crop-{n}"))]));
    Field::new(MOW, &[one("1"), one("2")])
}

#[test]
fn a_run_without_agents_costs_nothing() {
    let field = sown();
    field.run_all();
    let text = field.ends(&["cost"], 0);
    assert!(text.contains("No agent was at work"), "{text}");
    let value: Value = serde_json::from_str(&field.run(&["cost", "--json"]).stdout).unwrap();
    assert_eq!(value["total"]["agent_runs"], 0);
    assert_eq!(value["total"]["usd"], Value::Null);
}

#[test]
fn who_plays_which_role_is_shown() {
    let field = sown();
    field.write(
        ".planning/config.json",
        r#"{"roles": {"planner": {"agent": "codex", "model": "big"}, "executor": {"command": "true"}}}"#,
    );
    let value: Value = serde_json::from_str(&field.run(&["agents", "--json"]).stdout).unwrap();
    assert_eq!(value["roles"]["planner"]["agent"], "codex");
    assert_eq!(value["roles"]["planner"]["model"], "big");
    assert_eq!(value["roles"]["executor"], Value::Null);
    let names: Vec<_> = value["agents"].as_array().unwrap().iter().map(|a| &a["name"]).collect();
    assert_eq!(names, ["claude", "codex", "gemini", "opencode"]);
    let text = field.ends(&["agents"], 0);
    assert!(text.contains("codex, model big") && text.contains("a command"), "{text}");
}

#[test]
fn a_phase_tells_another_something_and_the_log_has_it() {
    let field = sown();
    field.run_all();
    let send = ["peer", "send", "2", "mind the", "gap", "--from", "1"];
    let value: Value = serde_json::from_str(&field.run(&send).stdout).unwrap();
    assert_eq!(value["sent"], true);
    let log = field.ends(&["chat-log", "read", "--from", "phase-01", "--to", "phase-02"], 0);
    assert!(log.contains("mind the gap"), "{log}");
    let nobody = field.ends(&["peer", "send", "7", "hello", "--from", "1"], 1);
    assert!(nobody.contains('7'), "{nobody}");
    field.ends(&["peer", "send", "2", &"long ".repeat(200), "--from", "1"], 1);
}
