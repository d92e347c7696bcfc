//! What Codex and OpenCode ask: a person answers once, through the inbox, and another process goes on.
//!
//! Codex asks for what its sandbox does not allow, and where its model has a question. OpenCode asks for
//! every command, as mow starts it; it has no way to put a question to a client. Neither asks by itself
//! for what it was asking when it was ended: their models do, once they are told to go on.

use mow_testkit::agents::Agent;
use mow_testkit::field::ALL;
use mow_testkit::llm::{Script, Step};
use serde_json::{Value, json};

use super::{Scene, done, executor, planned, role};

/// What no rule allows.
const WANTED: &str = "echo grown >> crop-1; echo wanted";
/// What may be done in any case.
const FREE: &str = "echo grown > crop-1";

/// A turn that runs what somebody has to allow.
fn wants(agent: Agent) -> Step {
    match agent {
        Agent::Codex => {
            let input = json!({
                "cmd": WANTED,
                "sandbox_permissions": "require_escalated",
                "justification": "it must be so",
            });
            Step::call("exec_command", input)
        }
        _ => Step::sh(WANTED),
    }
}

/// Runs until a person is asked, answers, and runs to the end.
fn answered(agent: Agent, script: Script, answer: &str) -> (Scene, Value) {
    let rules = json!({ "permissions": { "allow": [format!("execute({FREE})")] } });
    let scene = Scene::new(&executor(agent, rules), &[planned(&["crop-1"])], vec![script]);
    scene.field.ends(&ALL, 5);
    let open = scene.open();
    assert_eq!(open.len(), 1, "{open:?}");
    scene.answer(&open[0], answer);
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1"]), "grown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 1);
    assert_eq!(scene.asked().len(), 1, "{:?}", scene.asked());
    (scene, open[0].clone())
}

fn is_allowed(agent: Agent) {
    let script = role("executor").step(wants(agent)).step(wants(agent)).step(done());
    let (_, item) = answered(agent, script, "allow");
    assert_eq!(item["choices"], json!(["allow", "always", "deny"]), "{item}");
    let question = item["question"].as_str().expect("it asks");
    assert!(question.contains("executor") && question.contains("echo wanted"), "{question}");
}

fn is_denied(agent: Agent) {
    let script =
        role("executor").step(wants(agent)).step(wants(agent)).step(Step::sh(FREE)).step(done());
    let (scene, _) = answered(agent, script, "deny");
    let requests = scene.llm.requests();
    let mut told =
        requests.iter().flat_map(|request| request.results.iter().chain([&request.user]));
    assert!(told.any(|text| text.contains("a person does not want that")), "it learns why");
}

#[test]
fn what_codex_may_do_outside_of_its_sandbox_a_person_says_once() {
    is_allowed(Agent::Codex);
}

#[test]
fn what_codex_may_not_do_it_is_told() {
    is_denied(Agent::Codex);
}

#[test]
fn which_commands_opencode_may_run_a_person_says_once() {
    is_allowed(Agent::OpenCode);
}

#[test]
fn what_opencode_may_not_do_it_is_told() {
    is_denied(Agent::OpenCode);
}

#[test]
fn a_question_of_codex_is_answered_through_the_inbox() {
    let asks = || Step::ask("Rye or oats?", &["rye", "oats"]);
    let script = role("executor").step(asks()).step(asks()).step(Step::sh(FREE)).step(done());
    let (scene, item) = answered(Agent::Codex, script, "oats");
    assert_eq!(item["choices"], json!(["rye", "oats"]), "{item}");
    assert!(item["question"].as_str().is_some_and(|text| text.contains("Rye or oats?")), "{item}");
    let requests = scene.llm.requests();
    let mut told = requests.iter().flat_map(|request| &request.results);
    assert!(told.any(|text| text.contains("oats")), "{}", scene.llm.transcript());
}
