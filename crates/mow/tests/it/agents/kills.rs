//! Tests kills of agent, worker and lead while the model thinks: the result is the same.

use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step};
use mow_testkit::planned_project::{ALL, RunningCommand, kill};
use serde_json::json;

use super::{
    AgentRunFixture, MODEL_TIMEOUT, agent_processes, executor_only, planned_phase, role_script,
    task_done,
};

/// Returns a script for two tasks. The model is held at the end of the first, before the commit.
fn script() -> Script {
    role_script("executor")
        .step(Step::sh("echo grown >> crop-1"))
        .step(task_done().hold("first"))
        .step(Step::sh("echo grown >> crop-2"))
        .step(task_done())
}

/// Starts a run and waits until its agent waits for the model.
fn run_held_in_first_task() -> (AgentRunFixture, RunningCommand) {
    let assignment = executor_only(Agent::Claude, json!({}));
    let fixture =
        AgentRunFixture::new(&assignment, &[planned_phase(&["crop-1", "crop-2"])], vec![script()]);
    let lead = fixture.project.start(&ALL);
    fixture.llm.wait_for(|request| request.step == 1, MODEL_TIMEOUT);
    (fixture, lead)
}

fn assert_complete(fixture: &AgentRunFixture) {
    fixture.project.assert_consistent();
    assert_eq!(fixture.project.git(&["show", "main:crop-1", "main:crop-2"]), "grown\ngrown\n");
    assert_eq!(fixture.project.trailers("Mow-Task").len(), 2);
}

#[test]
fn a_killed_agent_fails_its_task_and_the_next_run_does_it() {
    let (fixture, lead) = run_held_in_first_task();
    let killed = agent_processes(&fixture.project.run_id());
    assert!(!killed.is_empty());
    killed.into_iter().for_each(kill);
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(1), "{output}");
    assert!(output.contains("claude") && output.contains("signal 9"), "{output}");
    fixture.llm.release("first");
    fixture.project.run_all();
    assert_complete(&fixture);
}

#[test]
fn a_killed_worker_is_replaced_and_its_agent_ended() {
    let (fixture, lead) = run_held_in_first_task();
    let run = fixture.project.run_id();
    let before = agent_processes(&run);
    kill(fixture.project.worker_pid("01", 1));
    fixture.project.wait_for_status("1", "waiting");
    fixture.llm.release("first");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(agent_processes(&run).iter().all(|pid| !before.contains(pid)));
    assert_complete(&fixture);
}

#[test]
fn a_killed_lead_leaves_worker_and_agent_at_work() {
    let (fixture, lead) = run_held_in_first_task();
    let run = fixture.project.run_id();
    // The agent has the lowest process id. Its children come and go.
    let oldest_agent_process = || agent_processes(&run).into_iter().min();
    let before = (fixture.project.worker_pid("01", 1), oldest_agent_process());
    lead.kill();
    let lead = fixture.project.start(&ALL);
    assert_eq!((fixture.project.worker_pid("01", 1), oldest_agent_process()), before);
    fixture.llm.release("first");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert_complete(&fixture);
}
