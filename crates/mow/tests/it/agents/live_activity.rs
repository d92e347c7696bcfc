//! Tests `mow logs --follow`: a second terminal shows what an agent does while it does it.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Request, Step};
use mow_testkit::planned_project::ALL;
use serde_json::Value;

use super::{AgentRunFixture, MODEL_TIMEOUT, executor_only, planned_phase, role_script, task_done};

/// The first command of the agent.
const COMMAND: &str = "echo grown > crop-1; echo planted";

/// Runs one task: a text with a command, an edit, and the report. The model is held before the edit
/// and before the report.
fn fixture(agent: Agent) -> AgentRunFixture {
    let look = Step { text: "I plant it now.".to_owned(), ..Step::sh(COMMAND) };
    let script = role_script("executor")
        .step(look)
        .step(Step::write("crop-1", "grown well\n").hold("edit"))
        .step(task_done().hold("report"));
    let allowed = serde_json::json!({ "permissions": { "allow": ["edit"] } });
    AgentRunFixture::new(
        &executor_only(agent, allowed),
        &[planned_phase(&["crop-1"])],
        vec![script],
    )
}

fn assert_followed(agent: Agent) {
    let fixture = fixture(agent);
    let project = &fixture.project;
    let run = project.start(&ALL);
    project.wait_for("a run", || project.run_dir());
    let mut second = project.call(&["logs", "1", "--follow"]).on_terminal();
    // While the model is held, the agent can do nothing more: what it did must be shown already.
    let is_step = |step| move |request: &Request| request.script.is_some() && request.step == step;
    fixture.llm.wait_for(is_step(1), MODEL_TIMEOUT);
    for shown in [
        &format!("{} starts", agent.program()),
        "executor 01-01/1",
        "I plant it now.",
        COMMAND,
        "ok: planted",
    ] {
        second.wait_for(shown);
    }
    fixture.llm.release("edit");
    fixture.llm.wait_for(is_step(2), MODEL_TIMEOUT);
    second.wait_for("edit crop-1");
    second.wait_for("ok");
    fixture.llm.release("report");
    let (status, output) = run.end();
    assert!(status.success(), "{output}");
    for shown in ["I am done.", "ended: done", "check 01-01/1", "grep -q grown crop-1", "exit 0"] {
        second.wait_for(shown);
    }
    let (status, screen) = second.end();
    assert!(status.success() && screen.contains("phase 1 is merged"), "{screen}");
    let lines = project.run(&["logs", "1", "--json"]).stdout_on_success();
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
    let kinds: Vec<_> = lines.iter().filter_map(|line| line["kind"].as_str()).collect();
    for kind in ["agent_started", "text", "tool", "edit", "result", "usage", "ended"] {
        assert!(kinds.contains(&kind), "no {kind}: {lines:#?}");
    }
    let tool = lines.iter().find(|line| line["kind"] == "tool").expect("it was looked for");
    assert!(tool["input"]["command"].as_str().is_some_and(|text| text.contains(COMMAND)), "{tool}");
    let result = lines.iter().find(|line| line["call"] == tool["call"] && line["kind"] == "result");
    assert_eq!(result.map(|result| &result["ok"]), Some(&Value::Bool(true)), "{lines:#?}");
}

#[test]
fn a_second_terminal_follows_claude() {
    assert_followed(Agent::Claude);
}

#[test]
fn a_second_terminal_follows_codex() {
    assert_followed(Agent::Codex);
}
