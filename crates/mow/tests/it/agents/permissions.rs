//! What agents want to do and no rule allows, and what they ask: a person answers, once.

use mow_testkit::agents::Agent;
use mow_testkit::field::ALL;
use mow_testkit::llm::{Script, Step};
use serde_json::{Value, json};

use super::{Casting, Scene, done, executor, planned, role};

/// A command that no agent runs without asking.
const SOW: &str = "sh -c 'echo grown >> crop-1'";

/// Only the first of two commands is allowed.
fn strict() -> Casting<'static> {
    executor(Agent::Claude, json!({ "permissions": { "allow": ["Bash(sh -c 'echo begun* > *)"] } }))
}

fn begins() -> Script {
    role("executor").step(Step::sh("sh -c 'echo begun > crop-1'"))
}

/// Runs until somebody is asked; returns what.
fn asked(scene: &Scene) -> Value {
    scene.field.ends(&ALL, 5);
    let open = scene.open();
    assert_eq!(open.len(), 1, "{open:?}");
    open[0].clone()
}

#[test]
fn what_a_person_allows_is_asked_once_and_done_by_another_process() {
    let script = begins().step(Step::sh(SOW)).step(done());
    let scene = Scene::new(&strict(), &[planned(&["crop-1"])], vec![script]);
    let item = asked(&scene);
    assert_eq!(item["choices"], json!(["allow", "always", "deny"]), "{item}");
    let question = item["question"].as_str().expect("it asks");
    assert!(question.contains("executor") && question.contains("echo grown"), "{question}");
    scene.answer(&item, "allow");
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1"]), "begun\ngrown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 1);
    assert_eq!(scene.asked().len(), 1, "{:?}", scene.asked());
    let rules = &scene.config()["permissions"]["allow"];
    assert_eq!(rules.as_array().map(Vec::len), Some(1), "{rules}");
}

#[test]
fn what_is_always_allowed_becomes_a_rule() {
    let again = Step::sh(SOW);
    let script = begins()
        .step(again.clone())
        .step(done())
        .step(again)
        .step(Step::sh("echo grown > crop-2"))
        .step(done());
    let mut casting = strict();
    let rules = ["Bash(sh -c 'echo begun* > *)", "Bash(echo grown > crop-2)"];
    casting.more["permissions"]["allow"] = json!(rules);
    let scene = Scene::new(&casting, &[planned(&["crop-1", "crop-2"])], vec![script]);
    let item = asked(&scene);
    scene.answer(&item, "always");
    // The second task does the same once more.
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1"]), "begun\ngrown\ngrown\n");
    let rules = scene.config()["permissions"]["allow"].clone();
    assert_eq!(rules[2], json!(format!("Bash({SOW})")), "{rules}");
    assert_eq!(scene.asked().len(), 1, "{:?}", scene.asked());
}

#[test]
fn what_a_person_denies_the_agent_is_told() {
    let script = begins()
        .step(Step::sh(SOW))
        .step(Step::sh("sh -c 'echo begun and grown > crop-1'"))
        .step(done());
    let scene = Scene::new(&strict(), &[planned(&["crop-1"])], vec![script]);
    let item = asked(&scene);
    scene.answer(&item, "deny");
    scene.field.run_all();
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1"]), "begun and grown\n");
    let told = scene.llm.requests().iter().any(|request| {
        request.results.iter().any(|result| result.contains("a person does not want that"))
    });
    assert!(told, "{}", scene.llm.transcript());
}

#[test]
fn a_question_of_an_agent_is_answered_through_the_inbox() {
    let script = role("executor")
        .step(Step::sh("sh -c 'echo begun > crop-1'"))
        .step(Step::ask("Rye or oats?", &["rye", "oats"]))
        .step(Step::sh("sh -c 'echo begun and grown > crop-1'"))
        .step(done());
    let scene = Scene::new(&strict(), &[planned(&["crop-1"])], vec![script]);
    let item = asked(&scene);
    assert_eq!(item["choices"], json!(["rye", "oats"]), "{item}");
    assert!(item["question"].as_str().is_some_and(|text| text.contains("Rye or oats?")), "{item}");
    scene.answer(&item, "oats");
    scene.field.run_all();
    scene.field.inspect();
    let requests = scene.llm.requests();
    let told = requests.iter().flat_map(|request| &request.results);
    assert!(told.into_iter().any(|result| result.contains("oats")), "{}", scene.llm.transcript());
    assert_eq!(scene.asked().len(), 1, "{:?}", scene.asked());
}
