//! Tests reviews by agents: plans that the checker refuses, and gaps that the verifier finds.

use std::path::Path;

use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::{ALL, phase};
use serde_json::json;

use super::{
    AgentAssignment, AgentRunFixture, final_answer, planned_phase, role_script,
    successful_phase_scripts, task_done, write_plan_step,
};

/// Returns a turn in which the checker refuses the plans.
fn refuse_step() -> Step {
    final_answer(&json!({ "verdict": "issues", "issues": [{
        "plan": "01-01", "severity": "blocker", "description": "crop-2 is missing",
        "fix_hint": "Add a task for crop-2",
    }]}))
}

fn without_scripts(scripts: Vec<Script>, names: &[&str]) -> Vec<Script> {
    scripts.into_iter().filter(|script| !names.contains(&script.name.as_str())).collect()
}

#[test]
fn a_plan_that_the_checker_refuses_is_revised() {
    let mut scripts = without_scripts(successful_phase_scripts(), &["planner", "plan-checker"]);
    scripts.extend([
        role_script("planner")
            .step(write_plan_step("01", &["crop-1"]))
            .step(Step::text("Planned."))
            .step(Step::sh("cat ../../.git/mow/runs/*/logs/*review*"))
            .step(write_plan_step("01", &["crop-1", "crop-2"]))
            .step(Step::text("Planned once more.")),
        role_script("plan-checker")
            .step(refuse_step())
            .step(final_answer(&json!({ "verdict": "passed", "issues": [] }))),
    ]);
    let fixture = AgentRunFixture::new(&AgentAssignment::default(), &[phase("1", &[])], scripts);
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    // The prompt of the planner names the review file and does not quote it.
    let requests = fixture.llm.requests();
    let last = requests.iter().rfind(|request| request.script.as_deref() == Some("planner"));
    let last = last.expect("the planner is asked");
    let file = last.user.split('`').find(|word| word.contains("review"));
    assert!(file.is_some_and(|file| Path::new(file).exists()), "{}", last.user);
    assert!(!last.user.contains("crop-2 is missing"), "{}", last.user);
    let issues = last.results.iter().find(|result| result.contains("crop-2 is missing"));
    assert!(issues.is_some_and(|text| text.contains("Add a task for crop-2")), "{last:?}");
}

#[test]
fn a_planner_that_asks_during_a_revision_continues_with_the_answer() {
    let mut scripts = without_scripts(successful_phase_scripts(), &["planner", "plan-checker"]);
    scripts.extend([
        role_script("planner")
            .step(write_plan_step("01", &["crop-1"]))
            .step(Step::text("Planned."))
            .step(Step::ask("Which crop?", &["rye", "oats"]))
            .step(write_plan_step("01", &["crop-1", "crop-2"]))
            .step(Step::text("Planned once more.")),
        role_script("plan-checker")
            .step(refuse_step())
            .step(final_answer(&json!({ "verdict": "passed", "issues": [] }))),
    ]);
    let fixture = AgentRunFixture::new(&AgentAssignment::default(), &[phase("1", &[])], scripts);
    fixture.project.exits_with(&ALL, 5);
    let questions = fixture.open_questions();
    assert_eq!(questions.len(), 1, "{questions:?}");
    fixture.answer(&questions[0], "oats");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    let requests = fixture.llm.requests();
    let mut received = requests.iter().flat_map(|request| &request.results);
    assert!(received.any(|result| result.contains("oats")), "{}", fixture.llm.transcript());
}

#[test]
fn plans_that_are_refused_three_times_fail_the_phase() {
    let mut scripts = without_scripts(successful_phase_scripts(), &["planner", "plan-checker"]);
    let planner = (0..6).fold(role_script("planner"), |script, _| {
        script.step(write_plan_step("01", &["crop-1"])).says("Planned.")
    });
    let checker = (0..6).fold(role_script("plan-checker"), |script, _| script.step(refuse_step()));
    scripts.extend([planner, checker]);
    let fixture = AgentRunFixture::new(&AgentAssignment::default(), &[phase("1", &[])], scripts);
    let output = fixture.project.exits_with(&ALL, 1);
    assert!(output.contains("the plans were refused 3 times"), "{output}");
    let requests = fixture.llm.requests();
    let checks =
        requests.iter().filter(|request| request.script.as_deref() == Some("plan-checker"));
    assert_eq!(checks.count(), 3, "{}", fixture.llm.transcript());
    fixture.project.assert_consistent();
}

/// Returns a turn that writes VERIFICATION.md.
fn write_verification_step(status: &str) -> Step {
    Step::sh(&format!(
        "printf -- '---\\nphase: 01-field-1\\nverified: 2026-01-01\\nstatus: {status}\\nscore: 1/2\\n---\\n\\n\
         Looked.\\n' > .planning/phases/01-field-1/01-VERIFICATION.md"
    ))
}

#[test]
fn gaps_are_closed_by_another_plan_after_the_answer_close() {
    let scripts = vec![
        role_script("executor")
            .when("plan: 01-01,")
            .step(Step::sh("echo grown > crop-1"))
            .step(task_done()),
        role_script("executor")
            .when("plan: 01-02,")
            .step(Step::sh("echo grown > crop-2"))
            .step(task_done()),
        role_script("planner").step(write_plan_step("02", &["crop-2"])).says("Planned."),
        role_script("plan-checker")
            .step(final_answer(&json!({ "verdict": "passed", "issues": [] }))),
        role_script("verifier")
            .step(write_verification_step("gaps_found"))
            .step(final_answer(&json!({ "verdict": "gaps_found", "gaps": ["crop-2 is missing"] })))
            .step(write_verification_step("passed"))
            .step(final_answer(&json!({ "verdict": "passed", "gaps": [] }))),
    ];
    let assignment = AgentAssignment {
        extra_config: json!({ "workflow": { "research": false } }),
        ..AgentAssignment::default()
    };
    let fixture = AgentRunFixture::new(&assignment, &[planned_phase(&["crop-1"])], scripts);
    fixture.project.exits_with(&ALL, 5);
    let questions = fixture.open_questions();
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert_eq!(
        questions[0]["choices"],
        json!(["accept", "close", "retry", "fail"]),
        "{questions:?}"
    );
    assert!(
        questions[0]["question"].as_str().is_some_and(|text| text.contains("crop-2 is missing"))
    );
    fixture.answer(&questions[0], "close");
    fixture.project.run_all();
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 2);
    assert_eq!(fixture.project.trailers("Mow-Plan").len(), 2);
    let text =
        fixture.project.git(&["show", "main:.planning/phases/01-field-1/01-VERIFICATION.md"]);
    assert!(text.contains("status: passed"), "{text}");
}
