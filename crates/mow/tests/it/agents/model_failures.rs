//! Tests models that refuse, are overloaded, break off their answer, or exceed the budget.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step, TokenCounts};
use mow_testkit::planned_project::{ALL, PlanFixture, phase};
use serde_json::{Value, json};

use super::{AgentRunFixture, executor_only, plan_text, planned_phase, role_script, task_done};

fn write_crop() -> Step {
    Step::sh("echo grown > crop-1")
}

#[test]
fn nothing_new_starts_once_an_api_key_is_refused() {
    let assignment = executor_only(Agent::Claude, json!({ "multi_phase": { "max_workers": 1 } }));
    let second = plan_text("01", &["crop-2"]).replace("01-field-1", "02-field-2");
    let phases =
        [planned_phase(&["crop-1"]), phase("2", &[]).with(PlanFixture::from_text(&second))];
    let scripts = vec![
        role_script("executor")
            .when("phase: 1 ")
            .step(write_crop().fails(401, 1))
            .step(task_done()),
        role_script("executor")
            .when("phase: 2 ")
            .step(Step::sh("echo grown > crop-2"))
            .step(task_done()),
    ];
    let fixture = AgentRunFixture::new(&assignment, &phases, scripts);
    fixture.project.exits_with(&ALL, 1);
    let questions = fixture.open_questions();
    let breaker =
        questions.iter().find(|item| item["kind"] == "breaker").expect("a person is told");
    let question = breaker["question"].as_str().expect("it asks");
    for words in ["claude", "mow agents", "nothing new is started"] {
        assert!(question.contains(words), "{question}");
    }
    // A new run without an answer says why nothing happens.
    let again = fixture.project.exits_with(&ALL, 5);
    for words in ["claude cannot work", "nothing new is started", "continue"] {
        assert!(again.contains(words), "{again}");
    }
    let is_start = |event: &Value| event["event"] == "moved" && event["to"] == "running";
    let started = fixture.project.events().into_iter().filter(is_start);
    assert_eq!(started.map(|event| event["phase"].clone()).collect::<Vec<_>>(), ["1"]);
    let transcript = fixture.llm.transcript();
    let prompts = fixture.llm.requests().into_iter().filter(|request| request.script.is_some());
    assert_eq!(prompts.count(), 1, "{transcript}");
    // With a valid key, both phases complete.
    fixture.answer(breaker, "continue");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
}

/// Makes a project whose agent does not retry, so that mow has to.
fn fixture_without_agent_retries(script: Script) -> AgentRunFixture {
    let env = json!({ "CLAUDE_CODE_MAX_RETRIES": "0" });
    let extra_config = json!({ "agents": { "retry_s": 1, "claude": { "env": env } } });
    AgentRunFixture::new(
        &executor_only(Agent::Claude, extra_config),
        &[planned_phase(&["crop-1"])],
        vec![script],
    )
}

fn assert_run_succeeds_with_note(fixture: &AgentRunFixture, words: &str) {
    let output = fixture.project.run_all();
    assert!(output.contains(words), "{output}");
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1"]), "grown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 1);
    assert!(fixture.asked_events().is_empty(), "{:?}", fixture.asked_events());
}

#[test]
fn mow_waits_for_a_temporary_rate_limit() {
    let fixture = fixture_without_agent_retries(
        role_script("executor").step(write_crop().fails(429, 2)).step(task_done()),
    );
    assert_run_succeeds_with_note(&fixture, "is rate-limited");
}

#[test]
fn mow_waits_for_an_overloaded_model() {
    let fixture = fixture_without_agent_retries(
        role_script("executor").step(write_crop()).step(task_done().fails(529, 2)),
    );
    assert_run_succeeds_with_note(&fixture, "does not answer");
}

#[test]
fn an_answer_that_breaks_off_is_requested_again() {
    let script = role_script("executor").step(write_crop().drops(1)).step(task_done().drops(1));
    let fixture = AgentRunFixture::new(
        &executor_only(Agent::Claude, json!({})),
        &[planned_phase(&["crop-1"])],
        vec![script],
    );
    assert_run_succeeds_with_note(&fixture, "");
}

#[test]
fn a_phase_stops_at_its_budget_and_continues_when_it_is_raised() {
    let expensive = TokenCounts { input: 5_000, ..TokenCounts::default() };
    let script = role_script("executor")
        .step(write_crop().usage(expensive))
        .step(task_done())
        .step(Step::sh("echo grown > crop-2"))
        .step(task_done());
    let assignment = executor_only(Agent::Claude, json!({ "budget": { "phase_tokens": 1_000 } }));
    let fixture =
        AgentRunFixture::new(&assignment, &[planned_phase(&["crop-1", "crop-2"])], vec![script]);
    let output = fixture.project.exits_with(&ALL, 1);
    for words in ["of 1000 tokens", "budget.phase_tokens", "mow resume 1"] {
        assert!(output.contains(words), "{output}");
    }
    let phase_dir = ".worktrees/p01/.planning/phases/01-field-1";
    let checkpoint = fixture.project.text(&format!("{phase_dir}/01-CHECKPOINT.md"));
    assert!(checkpoint.contains("budget.phase_tokens"), "{checkpoint}");
    fixture.project.exits_with(&["config-set", "budget.phase_tokens", "100000"], 0);
    fixture.project.exits_with(&["resume", "1"], 0);
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 2);
}
