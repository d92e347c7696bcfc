//! Agent, worker and lead are killed while a model thinks. The next run comes to the same end.

use mow_testkit::agents::Agent;
use mow_testkit::field::{ALL, Going, kill};
use mow_testkit::llm::{Script, Step};
use serde_json::json;

use super::{PATIENCE, Scene, agents, done, executor, planned, role};

/// Two tasks; the model thinks at the end of the first, when its work is not committed yet.
fn script() -> Script {
    role("executor")
        .step(Step::sh("echo grown >> crop-1"))
        .step(done().hold("first"))
        .step(Step::sh("echo grown >> crop-2"))
        .step(done())
}

/// A run whose agent waits for its model.
fn held() -> (Scene, Going) {
    let casting = executor(Agent::Claude, json!({}));
    let scene = Scene::new(&casting, &[planned(&["crop-1", "crop-2"])], vec![script()]);
    let lead = scene.field.start(&ALL);
    scene.llm.wait_for(|request| request.step == 1, PATIENCE);
    (scene, lead)
}

fn is_sound(scene: &Scene) {
    scene.field.inspect();
    assert_eq!(scene.field.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(scene.field.trailers("Mow-Task").len(), 2);
}

#[test]
fn a_killed_agent_fails_its_task_and_the_next_run_does_it() {
    let (scene, lead) = held();
    let agents = agents(&scene.field.run_id());
    assert!(!agents.is_empty());
    agents.into_iter().for_each(kill);
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("claude") && said.contains("signal 9"), "{said}");
    scene.llm.let_go("first");
    scene.field.run_all();
    is_sound(&scene);
}

#[test]
fn a_killed_worker_is_replaced_and_its_agent_ended() {
    let (scene, lead) = held();
    let run = scene.field.run_id();
    let before = agents(&run);
    kill(scene.field.worker("01", 1));
    scene.field.until_moved("1", "waiting");
    scene.llm.let_go("first");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(agents(&run).iter().all(|pid| !before.contains(pid)));
    is_sound(&scene);
}

#[test]
fn a_killed_lead_leaves_worker_and_agent_at_work() {
    let (scene, lead) = held();
    let run = scene.field.run_id();
    // The agent itself; what it starts comes and goes.
    let leading = || agents(&run).into_iter().min();
    let before = (scene.field.worker("01", 1), leading());
    lead.kill();
    let lead = scene.field.start(&ALL);
    assert_eq!((scene.field.worker("01", 1), leading()), before);
    scene.llm.let_go("first");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    is_sound(&scene);
}
