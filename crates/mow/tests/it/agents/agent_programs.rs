//! Tests the same phase with each agent program, and two phases at once with different ones.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::{ALL, phase};
use serde_json::json;

use super::{
    AgentAssignment, AgentRunFixture, MODEL_TIMEOUT, final_answer, plan_text, planned_phase,
    role_script, successful_phase_scripts, task_done,
};

/// Returns scripts for agents that cannot resume a session and get the full prompt again.
fn scripts_for_new_sessions() -> Vec<Script> {
    vec![
        role_script("discusser")
            .when("-answers.")
            .step(final_answer(&json!({ "clear": true, "questions": [] }))),
        role_script("executor")
            .when("task: 2\n")
            .step(Step::sh("echo grown > crop-2"))
            .step(task_done()),
    ]
}

/// Runs a complete phase with an agent, from the first question to the merge.
fn run_complete_phase(agent: Agent) {
    let assignment = AgentAssignment { roles: &[("default", agent)], ..AgentAssignment::default() };
    let mut scripts = scripts_for_new_sessions();
    scripts.extend(successful_phase_scripts());
    let fixture = AgentRunFixture::new(&assignment, &[phase("1", &[]).without_context()], scripts);
    fixture.project.exits_with(&ALL, 5);
    let questions = fixture.open_questions();
    assert!(
        questions.len() == 1 && questions[0]["question"] == "Crop: What shall grow?",
        "{questions:?}"
    );
    fixture.answer(&questions[0], "oats");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 2);
    assert_eq!(fixture.asked_events().len(), 1, "{:?}", fixture.asked_events());
}

#[test]
fn codex_completes_a_phase() {
    run_complete_phase(Agent::Codex);
}

#[test]
fn opencode_completes_a_phase() {
    run_complete_phase(Agent::OpenCode);
}

#[test]
fn gemini_completes_a_phase() {
    run_complete_phase(Agent::Gemini);
}

#[test]
fn two_agents_work_on_two_phases_at_once() {
    let second = plan_text("01", &["crop-2"]).replace("01-field-1", "02-field-2");
    let dir = ".planning/phases/02-field-2";
    let write_plan = Step::sh(&format!("cat > {dir}/02-01-PLAN.md <<'END'\n{second}END"));
    let write_crop = |n: u32| Step::sh(&format!("echo grown > crop-{n}"));
    let scripts = vec![
        role_script("executor")
            .when("phase: 1 ")
            .step(write_crop(1).hold("executor"))
            .step(task_done()),
        role_script("executor").when("phase: 2 ").step(write_crop(2)).step(task_done()),
        role_script("planner").step(write_plan.hold("planner")).says("Planned."),
        role_script("plan-checker")
            .step(final_answer(&json!({ "verdict": "passed", "issues": [] }))),
    ];
    let roles =
        [("executor", Agent::Codex), ("planner", Agent::Claude), ("plan-checker", Agent::Claude)];
    let extra_config = json!({ "workflow": { "research": false } });
    let phases = [planned_phase(&["crop-1"]), phase("2", &[])];
    let fixture =
        AgentRunFixture::new(&AgentAssignment { roles: &roles, extra_config }, &phases, scripts);
    let lead = fixture.project.start(&ALL);
    for name in ["executor", "planner"] {
        fixture.llm.wait_for(|request| request.script.as_deref() == Some(name), MODEL_TIMEOUT);
    }
    // Both agents are at work now.
    for name in ["executor", "planner"] {
        fixture.llm.release(name);
    }
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    let log = fixture.project.exits_with(&["log"], 0);
    assert!(log.contains("(codex) used") && log.contains("(claude) used"), "{log}");
}
