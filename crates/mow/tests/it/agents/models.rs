//! Models that refuse, that do not answer for a while, that break off, and that cost too much.

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, Plan, phase};
use mow_testkit::llm::{Script, Step, Usage};
use serde_json::{Value, json};

use super::{Scene, done, executor, plan_text, planned, role};

fn sows() -> Step {
    Step::sh("echo grown > crop-1")
}

#[test]
fn nothing_more_is_started_once_a_key_is_refused() {
    let casting = executor(Agent::Claude, json!({ "multi_phase": { "max_workers": 1 } }));
    let second = plan_text("01", &["crop-2"]).replace("01-field-1", "02-field-2");
    let phases = [planned(&["crop-1"]), phase("2", &[]).with(Plan::of_text(&second))];
    let scripts = vec![
        role("executor").when("phase: 1 ").step(sows().fails(401, 1)).step(done()),
        role("executor").when("phase: 2 ").step(Step::sh("echo grown > crop-2")).step(done()),
    ];
    let scene = Scene::new(&casting, &phases, scripts);
    scene.field.ends(&ALL, 1);
    let open = scene.open();
    let breaker = open.iter().find(|item| item["kind"] == "breaker").expect("a person is told");
    let question = breaker["question"].as_str().expect("it asks");
    for words in ["claude", "mow agents", "nothing new is started"] {
        assert!(question.contains(words), "{question}");
    }
    // Who runs it again without an answer is told why nothing happens.
    let again = scene.field.ends(&ALL, 5);
    for words in ["claude cannot work", "nothing new is started", "continue"] {
        assert!(again.contains(words), "{again}");
    }
    let is_start = |event: &Value| event["event"] == "moved" && event["to"] == "running";
    let started = scene.field.events().into_iter().filter(is_start);
    assert_eq!(started.map(|event| event["phase"].clone()).collect::<Vec<_>>(), ["1"]);
    let transcript = scene.llm.transcript();
    let prompts = scene.llm.requests().into_iter().filter(|request| request.script.is_some());
    assert_eq!(prompts.count(), 1, "{transcript}");
    // With a key that is good, both are done.
    scene.answer(breaker, "continue");
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
}

/// Lets nobody but mow wait for the model.
fn impatient(script: Script) -> Scene {
    let env = json!({ "CLAUDE_CODE_MAX_RETRIES": "0" });
    let more = json!({ "agents": { "retry_s": 1, "claude": { "env": env } } });
    Scene::new(&executor(Agent::Claude, more), &[planned(&["crop-1"])], vec![script])
}

fn goes_on(scene: &Scene, words: &str) {
    let said = scene.field.run_all();
    assert!(said.contains(words), "{said}");
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1"]), "grown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 1);
    assert!(scene.asked().is_empty(), "{:?}", scene.asked());
}

#[test]
fn a_limit_that_passes_is_waited_for() {
    let scene = impatient(role("executor").step(sows().fails(429, 2)).step(done()));
    goes_on(&scene, "limited for now");
}

#[test]
fn an_overloaded_model_is_waited_for() {
    let scene = impatient(role("executor").step(sows()).step(done().fails(529, 2)));
    goes_on(&scene, "does not answer");
}

#[test]
fn an_answer_that_breaks_off_is_asked_for_again() {
    let script = role("executor").step(sows().drops(1)).step(done().drops(1));
    let scene =
        Scene::new(&executor(Agent::Claude, json!({})), &[planned(&["crop-1"])], vec![script]);
    goes_on(&scene, "");
}

#[test]
fn a_phase_stops_at_its_budget_and_goes_on_when_that_is_raised() {
    let dear = Usage { input: 5_000, ..Usage::default() };
    let script = role("executor")
        .step(sows().usage(dear))
        .step(done())
        .step(Step::sh("echo grown > crop-2"))
        .step(done());
    let casting = executor(Agent::Claude, json!({ "budget": { "phase_tokens": 1_000 } }));
    let scene = Scene::new(&casting, &[planned(&["crop-1", "crop-2"])], vec![script]);
    let said = scene.field.ends(&ALL, 1);
    for words in ["of 1000 tokens", "budget.phase_tokens", "mow resume 1"] {
        assert!(said.contains(words), "{said}");
    }
    let papers = ".worktrees/p01/.planning/phases/01-field-1";
    let checkpoint = scene.field.text(&format!("{papers}/01-CHECKPOINT.md"));
    assert!(checkpoint.contains("budget.phase_tokens"), "{checkpoint}");
    scene.field.ends(&["config-set", "budget.phase_tokens", "100000"], 0);
    scene.field.ends(&["resume", "1"], 0);
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 2);
}
