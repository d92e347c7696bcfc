//! Plans that a checker refuses, and work in which a verifier finds gaps.

use std::path::Path;

use mow_testkit::field::{ALL, phase};
use mow_testkit::llm::{Script, Step};
use serde_json::json;

use super::{Casting, Scene, done, good, planned, role, says, writes_plan};

/// What a checker says of plans that will not do.
fn refusal() -> Step {
    says(&json!({ "verdict": "issues", "issues": [{
        "plan": "01-01", "severity": "blocker", "description": "crop-2 is missing",
        "fix_hint": "Add a task for crop-2",
    }]}))
}

fn without(scripts: Vec<Script>, names: &[&str]) -> Vec<Script> {
    scripts.into_iter().filter(|script| !names.contains(&script.name.as_str())).collect()
}

#[test]
fn a_plan_that_the_checker_refuses_is_revised() {
    let mut scripts = without(good(), &["planner", "plan-checker"]);
    scripts.extend([
        role("planner")
            .step(writes_plan("01", &["crop-1"]))
            .step(Step::text("Planned."))
            .step(Step::sh("cat ../../.git/mow/runs/*/logs/*review*"))
            .step(writes_plan("01", &["crop-1", "crop-2"]))
            .step(Step::text("Planned once more.")),
        role("plan-checker")
            .step(refusal())
            .step(says(&json!({ "verdict": "passed", "issues": [] }))),
    ]);
    let scene = Scene::new(&Casting::default(), &[phase("1", &[])], scripts);
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    // The planner is told where it stands what is wrong, and not what that is.
    let requests = scene.llm.requests();
    let last = requests.iter().rfind(|request| request.script.as_deref() == Some("planner"));
    let last = last.expect("the planner is asked");
    let file = last.user.split('`').find(|word| word.contains("review"));
    assert!(file.is_some_and(|file| Path::new(file).exists()), "{}", last.user);
    assert!(!last.user.contains("crop-2 is missing"), "{}", last.user);
    let issues = last.results.iter().find(|result| result.contains("crop-2 is missing"));
    assert!(issues.is_some_and(|text| text.contains("Add a task for crop-2")), "{last:?}");
}

#[test]
fn a_planner_that_asks_while_it_revises_goes_on_with_the_answer() {
    let mut scripts = without(good(), &["planner", "plan-checker"]);
    scripts.extend([
        role("planner")
            .step(writes_plan("01", &["crop-1"]))
            .step(Step::text("Planned."))
            .step(Step::ask("Which crop?", &["rye", "oats"]))
            .step(writes_plan("01", &["crop-1", "crop-2"]))
            .step(Step::text("Planned once more.")),
        role("plan-checker")
            .step(refusal())
            .step(says(&json!({ "verdict": "passed", "issues": [] }))),
    ]);
    let scene = Scene::new(&Casting::default(), &[phase("1", &[])], scripts);
    scene.field.ends(&ALL, 5);
    let open = scene.open();
    assert_eq!(open.len(), 1, "{open:?}");
    scene.answer(&open[0], "oats");
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    let requests = scene.llm.requests();
    let mut told = requests.iter().flat_map(|request| &request.results);
    assert!(told.any(|result| result.contains("oats")), "{}", scene.llm.transcript());
}

#[test]
fn plans_that_are_refused_again_and_again_fail_the_phase() {
    let mut scripts = without(good(), &["planner", "plan-checker"]);
    let planner = (0..6).fold(role("planner"), |script, _| {
        script.step(writes_plan("01", &["crop-1"])).says("Planned.")
    });
    let checker = (0..6).fold(role("plan-checker"), |script, _| script.step(refusal()));
    scripts.extend([planner, checker]);
    let scene = Scene::new(&Casting::default(), &[phase("1", &[])], scripts);
    let said = scene.field.ends(&ALL, 1);
    assert!(said.contains("the plans were refused 3 times"), "{said}");
    let requests = scene.llm.requests();
    let checks =
        requests.iter().filter(|request| request.script.as_deref() == Some("plan-checker"));
    assert_eq!(checks.count(), 3, "{}", scene.llm.transcript());
    scene.field.inspect();
}

/// Writes VERIFICATION.md.
fn verification(status: &str) -> Step {
    Step::sh(&format!(
        "printf -- '---\\nphase: 01-field-1\\nverified: 2026-01-01\\nstatus: {status}\\nscore: 1/2\\n---\\n\\n\
         Looked.\\n' > .planning/phases/01-field-1/01-VERIFICATION.md"
    ))
}

#[test]
fn gaps_are_closed_by_another_plan_when_a_person_wants_that() {
    let scripts = vec![
        role("executor").when("plan: 01-01,").step(Step::sh("echo grown > crop-1")).step(done()),
        role("executor").when("plan: 01-02,").step(Step::sh("echo grown > crop-2")).step(done()),
        role("planner").step(writes_plan("02", &["crop-2"])).says("Planned."),
        role("plan-checker").step(says(&json!({ "verdict": "passed", "issues": [] }))),
        role("verifier")
            .step(verification("gaps_found"))
            .step(says(&json!({ "verdict": "gaps_found", "gaps": ["crop-2 is missing"] })))
            .step(verification("passed"))
            .step(says(&json!({ "verdict": "passed", "gaps": [] }))),
    ];
    let casting =
        Casting { more: json!({ "workflow": { "research": false } }), ..Casting::default() };
    let scene = Scene::new(&casting, &[planned(&["crop-1"])], scripts);
    scene.field.ends(&ALL, 5);
    let open = scene.open();
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!(open[0]["choices"], json!(["accept", "close", "retry", "fail"]), "{open:?}");
    assert!(open[0]["question"].as_str().is_some_and(|text| text.contains("crop-2 is missing")));
    scene.answer(&open[0], "close");
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 2);
    assert_eq!(scene.field.trailers("Mow-Plan").len(), 2);
    let text = scene.field.git(&["show", "main:.planning/phases/01-field-1/01-VERIFICATION.md"]);
    assert!(text.contains("status: passed"), "{text}");
}
