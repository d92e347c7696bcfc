//! Tests permissions and questions of Codex and OpenCode: a person answers once, through the inbox.
//!
//! Codex asks for what its sandbox does not allow, and when its model has a question. OpenCode asks
//! for every command, as mow starts it; it cannot put a question to a client. After a restart
//! neither repeats the pending request by itself: their models do, once they are told to continue.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::ALL;
use serde_json::{Value, json};

use super::{AgentRunFixture, executor_only, planned_phase, role_script, task_done};

/// A command that no permission rule allows.
const COMMAND_TO_ASK: &str = "echo grown >> crop-1; echo wanted";
/// A command that a permission rule allows.
const ALLOWED_COMMAND: &str = "echo grown > crop-1";

/// Returns a turn that runs the command a person has to allow.
fn ask_step(agent: Agent) -> Step {
    match agent {
        Agent::Codex => {
            let input = json!({
                "cmd": COMMAND_TO_ASK,
                "sandbox_permissions": "require_escalated",
                "justification": "it must be so",
            });
            Step::call("exec_command", input)
        }
        _ => Step::sh(COMMAND_TO_ASK),
    }
}

/// Runs until a person is asked, answers, and runs to the end. Returns the question, too.
fn run_with_answer(agent: Agent, script: Script, answer: &str) -> (AgentRunFixture, Value) {
    let rules = json!({ "permissions": { "allow": [format!("execute({ALLOWED_COMMAND})")] } });
    let fixture = AgentRunFixture::new(
        &executor_only(agent, rules),
        &[planned_phase(&["crop-1"])],
        vec![script],
    );
    fixture.project.exits_with(&ALL, 5);
    let questions = fixture.open_questions();
    assert_eq!(questions.len(), 1, "{questions:?}");
    fixture.answer(&questions[0], answer);
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1"]), "grown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 1);
    assert_eq!(fixture.asked_events().len(), 1, "{:?}", fixture.asked_events());
    (fixture, questions[0].clone())
}

fn assert_allowed_once(agent: Agent) {
    let script =
        role_script("executor").step(ask_step(agent)).step(ask_step(agent)).step(task_done());
    let (_, item) = run_with_answer(agent, script, "allow");
    assert_eq!(item["choices"], json!(["allow", "always", "deny"]), "{item}");
    let question = item["question"].as_str().expect("it asks");
    assert!(question.contains("executor") && question.contains("echo wanted"), "{question}");
}

fn assert_denial_reaches_agent(agent: Agent) {
    let script = role_script("executor")
        .step(ask_step(agent))
        .step(ask_step(agent))
        .step(Step::sh(ALLOWED_COMMAND))
        .step(task_done());
    let (fixture, _) = run_with_answer(agent, script, "deny");
    let requests = fixture.llm.requests();
    let mut received =
        requests.iter().flat_map(|request| request.results.iter().chain([&request.user]));
    assert!(
        received.any(|text| text.contains("a person denied it")),
        "the agent receives the reason"
    );
}

#[test]
fn codex_asks_once_for_a_command_outside_of_its_sandbox() {
    assert_allowed_once(Agent::Codex);
}

#[test]
fn codex_is_told_why_a_command_was_denied() {
    assert_denial_reaches_agent(Agent::Codex);
}

#[test]
fn opencode_asks_once_for_a_command() {
    assert_allowed_once(Agent::OpenCode);
}

#[test]
fn opencode_is_told_why_a_command_was_denied() {
    assert_denial_reaches_agent(Agent::OpenCode);
}

#[test]
fn a_question_of_codex_is_answered_through_the_inbox() {
    let asks = || Step::ask("Rye or oats?", &["rye", "oats"]);
    let script = role_script("executor")
        .step(asks())
        .step(asks())
        .step(Step::sh(ALLOWED_COMMAND))
        .step(task_done());
    let (fixture, item) = run_with_answer(Agent::Codex, script, "oats");
    assert_eq!(item["choices"], json!(["rye", "oats"]), "{item}");
    assert!(item["question"].as_str().is_some_and(|text| text.contains("Rye or oats?")), "{item}");
    let requests = fixture.llm.requests();
    let mut received = requests.iter().flat_map(|request| &request.results);
    assert!(received.any(|text| text.contains("oats")), "{}", fixture.llm.transcript());
}
