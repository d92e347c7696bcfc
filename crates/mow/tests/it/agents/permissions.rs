//! Tests permissions and questions of Claude Code: a person is asked once for what no rule allows.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::ALL;
use serde_json::{Value, json};

use super::{
    AgentAssignment, AgentRunFixture, executor_only, planned_phase, role_script, task_done,
};

/// A command that no permission rule allows.
const COMMAND_TO_ASK: &str = "sh -c 'echo grown >> crop-1'";

/// A configuration that allows only the first of two commands.
fn strict_permissions() -> AgentAssignment<'static> {
    executor_only(
        Agent::Claude,
        json!({ "permissions": { "allow": ["Bash(sh -c 'echo begun* > *)"] } }),
    )
}

fn script_with_first_command() -> Script {
    role_script("executor").step(Step::sh("sh -c 'echo begun > crop-1'"))
}

/// Runs until a person is asked, and returns the question.
fn run_until_asked(fixture: &AgentRunFixture) -> Value {
    fixture.project.exits_with(&ALL, 5);
    let questions = fixture.open_questions();
    assert_eq!(questions.len(), 1, "{questions:?}");
    questions[0].clone()
}

#[test]
fn an_allowed_command_is_asked_once_and_run_by_another_process() {
    let script = script_with_first_command().step(Step::sh(COMMAND_TO_ASK)).step(task_done());
    let fixture =
        AgentRunFixture::new(&strict_permissions(), &[planned_phase(&["crop-1"])], vec![script]);
    let item = run_until_asked(&fixture);
    assert_eq!(item["choices"], json!(["allow", "always", "deny"]), "{item}");
    let question = item["question"].as_str().expect("it asks");
    assert!(question.contains("executor") && question.contains("echo grown"), "{question}");
    fixture.answer(&item, "allow");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1"]), "begun\ngrown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 1);
    assert_eq!(fixture.asked_events().len(), 1, "{:?}", fixture.asked_events());
    let rules = &fixture.config()["permissions"]["allow"];
    assert_eq!(rules.as_array().map(Vec::len), Some(1), "{rules}");
}

#[test]
fn the_answer_always_becomes_a_permission_rule() {
    let again = Step::sh(COMMAND_TO_ASK);
    let script = script_with_first_command()
        .step(again.clone())
        .step(task_done())
        .step(again)
        .step(Step::sh("echo grown > crop-2"))
        .step(task_done());
    let mut assignment = strict_permissions();
    let rules = ["Bash(sh -c 'echo begun* > *)", "Bash(echo grown > crop-2)"];
    assignment.extra_config["permissions"]["allow"] = json!(rules);
    let fixture =
        AgentRunFixture::new(&assignment, &[planned_phase(&["crop-1", "crop-2"])], vec![script]);
    let item = run_until_asked(&fixture);
    fixture.answer(&item, "always");
    // The second task runs the same command again.
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1"]), "begun\ngrown\ngrown\n");
    let rules = fixture.config()["permissions"]["allow"].clone();
    assert_eq!(rules[2], json!(format!("Bash({COMMAND_TO_ASK})")), "{rules}");
    assert_eq!(fixture.asked_events().len(), 1, "{:?}", fixture.asked_events());
}

#[test]
fn the_agent_is_told_about_a_denial() {
    let script = script_with_first_command()
        .step(Step::sh(COMMAND_TO_ASK))
        .step(Step::sh("sh -c 'echo begun and grown > crop-1'"))
        .step(task_done());
    let fixture =
        AgentRunFixture::new(&strict_permissions(), &[planned_phase(&["crop-1"])], vec![script]);
    let item = run_until_asked(&fixture);
    fixture.answer(&item, "deny");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1"]), "begun and grown\n");
    let is_informed =
        fixture.llm.requests().iter().any(|request| {
            request.results.iter().any(|result| result.contains("a person denied it"))
        });
    assert!(is_informed, "{}", fixture.llm.transcript());
}

#[test]
fn a_question_of_an_agent_is_answered_through_the_inbox() {
    let script = role_script("executor")
        .step(Step::sh("sh -c 'echo begun > crop-1'"))
        .step(Step::ask("Rye or oats?", &["rye", "oats"]))
        .step(Step::sh("sh -c 'echo begun and grown > crop-1'"))
        .step(task_done());
    let fixture =
        AgentRunFixture::new(&strict_permissions(), &[planned_phase(&["crop-1"])], vec![script]);
    let item = run_until_asked(&fixture);
    assert_eq!(item["choices"], json!(["rye", "oats"]), "{item}");
    assert!(item["question"].as_str().is_some_and(|text| text.contains("Rye or oats?")), "{item}");
    fixture.answer(&item, "oats");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    let requests = fixture.llm.requests();
    let received = requests.iter().flat_map(|request| &request.results);
    assert!(
        received.into_iter().any(|result| result.contains("oats")),
        "{}",
        fixture.llm.transcript()
    );
    assert_eq!(fixture.asked_events().len(), 1, "{:?}", fixture.asked_events());
}
