//! The same phase by every agent, and two phases at once by different ones.

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, phase};
use mow_testkit::llm::{Script, Step};
use serde_json::json;

use super::{Casting, PATIENCE, Scene, done, good, plan_text, planned, role, says};

/// What a model says to an agent that does not know its own session any more and is told all anew.
fn forgetful() -> Vec<Script> {
    vec![
        role("discusser").when("-answers.").step(says(&json!({ "clear": true, "questions": [] }))),
        role("executor").when("task: 2\n").step(Step::sh("echo grown > crop-2")).step(done()),
    ]
}

/// A whole phase, from the first question to the merge.
fn whole(agent: Agent) {
    let casting = Casting { roles: &[("default", agent)], ..Casting::default() };
    let mut scripts = forgetful();
    scripts.extend(good());
    let scene = Scene::new(&casting, &[phase("1", &[]).undiscussed()], scripts);
    scene.field.ends(&ALL, 5);
    let open = scene.open();
    assert!(open.len() == 1 && open[0]["question"] == "Crop: What shall grow?", "{open:?}");
    scene.answer(&open[0], "oats");
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 2);
    assert_eq!(scene.asked().len(), 1, "{:?}", scene.asked());
}

#[test]
fn a_phase_by_codex() {
    whole(Agent::Codex);
}

#[test]
fn a_phase_by_opencode() {
    whole(Agent::OpenCode);
}

#[test]
fn a_phase_by_gemini() {
    whole(Agent::Gemini);
}

#[test]
fn two_agents_work_at_two_phases_at_once() {
    let second = plan_text("01", &["crop-2"]).replace("01-field-1", "02-field-2");
    let dir = ".planning/phases/02-field-2";
    let writes = Step::sh(&format!("cat > {dir}/02-01-PLAN.md <<'END'\n{second}END"));
    let sows = |n: u32| Step::sh(&format!("echo grown > crop-{n}"));
    let scripts = vec![
        role("executor").when("phase: 1 ").step(sows(1).hold("executor")).step(done()),
        role("executor").when("phase: 2 ").step(sows(2)).step(done()),
        role("planner").step(writes.hold("planner")).says("Planned."),
        role("plan-checker").step(says(&json!({ "verdict": "passed", "issues": [] }))),
    ];
    let roles =
        [("executor", Agent::Codex), ("planner", Agent::Claude), ("plan-checker", Agent::Claude)];
    let more = json!({ "workflow": { "research": false } });
    let phases = [planned(&["crop-1"]), phase("2", &[])];
    let scene = Scene::new(&Casting { roles: &roles, more }, &phases, scripts);
    let lead = scene.field.start(&ALL);
    for name in ["executor", "planner"] {
        scene.llm.wait_for(|request| request.script.as_deref() == Some(name), PATIENCE);
    }
    // Both are in the middle of their work.
    for name in ["executor", "planner"] {
        scene.llm.let_go(name);
    }
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    let log = scene.field.ends(&["log"], 0);
    assert!(log.contains("(codex) used") && log.contains("(claude) used"), "{log}");
}
