//! Tests with the real Codex.

use std::time::Duration;

use mow_host::agent::{
    Access, AgentJob, AgentOutcome, AgentRequest, AgentSession, FailureKind, Limits, Reply,
};
use mow_host::stop_signal::StopSignal;
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Request, Script, Step};
use serde_json::json;

use crate::fixture::{AgentFixture, ScriptedPerson, done_text, kill, resumed_job, stop_at};

/// Wants to be run outside of the sandbox, and so needs a permission.
fn risky(name: &str) -> Step {
    let input = json!({
        "cmd": format!("echo {name} >> {name}.txt"),
        "sandbox_permissions": "require_escalated",
        "justification": "it must be so",
    });
    Step::call("exec_command", input)
}

fn question() -> Step {
    let options = json!([
        { "label": "red", "description": "warm" }, { "label": "blue", "description": "cold" },
    ]);
    let question =
        json!({ "id": "color", "header": "Color", "question": "Which one?", "options": options });
    Step::call("request_user_input", json!({ "questions": [question] }))
}

#[test]
fn an_agent_edits_reports_and_finishes() {
    let script = Script::new("work")
        .step(Step::sh("echo made > made.txt"))
        .step(Step::call("report", json!({ "status": "fine" })))
        .step(Step::call("report", json!({ "status": "wrong" })))
        .says("all done: ${last_tool_result}");
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = AgentJob {
        model: Some("other-model".to_owned()),
        ..fixture.job("You are the executor of phase 7. [[script:work]]")
    };
    let mut person = ScriptedPerson::default();
    let end = fixture.run(&job, &mut person);
    assert_eq!(done_text(&end), "all done: no such status");
    assert_eq!(fixture.text("made.txt"), "made\n");
    let statuses: Vec<_> =
        person.calls.iter().map(|(tool, input)| (tool.as_str(), input)).collect();
    let (fine, wrong) = (json!({ "status": "fine" }), json!({ "status": "wrong" }));
    assert_eq!(statuses, [("report", &fine), ("report", &wrong)]);
    assert_eq!(person.used_tools(), ["commandExecution", "report", "report"]);
    assert_eq!((person.used().input, person.used().output, person.used().usd), (400, 80, None));
    assert!(person.requests.is_empty(), "{:?}", person.requests);
    let request = fixture.llm.wait_for(|request| request.script.is_some(), Duration::ZERO);
    assert_eq!(request.model, "other-model");
    assert!(request.user.contains("executor of phase 7"), "{}", request.user);
}

#[test]
fn read_access_prevents_writing() {
    let script = Script::new("look").step(Step::sh("echo made > made.txt")).says("seen");
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = AgentJob { access: Access::Read, ..fixture.job("[[script:look]]") };
    let mut person = ScriptedPerson::default();
    assert_eq!(done_text(&fixture.run(&job, &mut person)), "seen");
    assert!(!fixture.work().join("made.txt").exists());
}

#[test]
fn permissions_are_given_and_refused() {
    let script =
        Script::new("two").step(risky("one")).step(risky("two")).says("last: ${last_tool_result}");
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = fixture.run(&fixture.job("[[script:two]]"), &mut person);
    assert!(done_text(&end).contains("last: "), "{end:?}");
    assert_eq!(
        (fixture.text("one.txt"), fixture.text("two.txt")),
        ("one\n".to_owned(), String::new())
    );
    let last = fixture.llm.requests().pop().unwrap();
    assert!(last.user.contains("better not"), "it learns why: {}", last.user);
    let AgentRequest::Permission { tool, text, .. } = &person.requests[0] else { panic!() };
    assert_eq!(tool, "shell");
    assert!(text.contains("echo one >> one.txt") && text.contains("it must be so"), "{text}");
    assert_ne!(person.requests[0].id(), person.requests[1].id());
}

#[test]
fn a_parked_request_is_asked_again_by_another_process() {
    // A resumed thread goes to its model again, which asks again.
    let script = Script::new("two")
        .step(risky("one"))
        .step(risky("two"))
        .step(risky("two"))
        .step(Step::call("report", json!({ "status": "fine" })))
        .says("finished");
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = fixture.job("[[script:two]]");
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Park]);
    let end = fixture.run(&job, &mut person);
    let AgentOutcome::Parked { ask } = end else { panic!("{end:?}") };
    let mut again = ScriptedPerson::new([Reply::Allow]);
    let end = fixture.run(&resumed_job(&job, &person.session()), &mut again);
    assert_eq!(done_text(&end), "finished");
    assert_eq!(again.requests, [ask], "the same request comes again under the same id");
    assert_eq!(again.session(), person.session());
    assert_eq!(again.calls.len(), 1, "the tools are still there");
    assert_eq!(
        (fixture.text("one.txt").as_str(), fixture.text("two.txt").as_str()),
        ("one\n", "two\n")
    );
    assert_eq!(again.used().input, 300, "only what this run used");
}

#[test]
fn questions_are_answered_refused_and_parked() {
    let script = Script::new("ask").step(question()).says("it was ${last_tool_result}");
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = fixture.job("[[script:ask]]");
    let mut person = ScriptedPerson::new([Reply::Answer(vec!["blue".to_owned()])]);
    let end = fixture.run(&job, &mut person);
    assert!(done_text(&end).contains("blue"), "{end:?}");
    let AgentRequest::Question { questions, .. } = &person.requests[0] else { panic!() };
    assert_eq!(questions[0].text, "Which one?");
    let labels: Vec<_> = questions[0].choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["red", "blue"]);

    let end =
        fixture.run(&job, &mut ScriptedPerson::new([Reply::Deny("nobody is here".to_owned())]));
    assert!(done_text(&end).contains("nobody is here"), "{end:?}");

    let mut person = ScriptedPerson::new([Reply::Park]);
    let end = fixture.run(&job, &mut person);
    assert!(matches!(end, AgentOutcome::Parked { .. }), "{end:?}");
}

#[test]
fn a_killed_session_continues_where_it_was() {
    let script = Script::new("cut").step(risky("one")).step(Step::text("finished").hold("two"));
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = fixture.job("[[script:cut]]");
    let mut person = ScriptedPerson::new([Reply::Allow]);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            fixture.llm.wait_for(|request: &Request| request.step == 1, Duration::from_secs(120));
            kill(&fixture, "app-server");
        });
        fixture.run(&job, &mut person)
    });
    assert!(matches!(end, AgentOutcome::Failed { kind: FailureKind::Crashed, .. }), "{end:?}");
    fixture.llm.release("two");
    let end = fixture.run(&resumed_job(&job, &person.session()), &mut ScriptedPerson::default());
    assert_eq!(done_text(&end), "finished");
    assert_eq!(fixture.text("one.txt"), "one\n");
    let unknown = AgentSession::Resume("01a1e30f-2c76-7741-b346-64bfe17e2fb3".to_owned());
    let end = fixture.run(&AgentJob { session: unknown, ..job }, &mut ScriptedPerson::default());
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::SessionUnknown, .. }),
        "{end:?}"
    );
}

#[test]
fn a_stop_in_the_middle_of_a_tool_leaves_no_process() {
    let fixture = AgentFixture::with(
        Agent::Codex,
        [Script::new("long").step(Step::sh("touch begun; sleep 300"))],
    );
    let stop = StopSignal::new().unwrap();
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&fixture.work().join("begun"), &stop));
        fixture.run_until(&fixture.job("[[script:long]]"), &mut ScriptedPerson::default(), &stop)
    });
    assert_eq!(end, AgentOutcome::Stopped);
}

#[test]
fn model_errors_are_classified() {
    let quota = Step { code: Some("insufficient_quota".to_owned()), ..Step::default() };
    for (name, step, expected) in [
        ("401", Step::default().fails(401, None), FailureKind::NotLoggedIn),
        ("quota", quota.fails(429, None), FailureKind::QuotaExhausted),
        (
            "429",
            Step::default().fails(429, None),
            FailureKind::RateLimited { retry_after_ms: None },
        ),
        ("503", Step::default().fails(503, None), FailureKind::Overloaded),
        ("400", Step::default().fails(400, None), FailureKind::Other),
        ("cut", Step::default().drops(None), FailureKind::ConnectionLost),
    ] {
        let fixture = AgentFixture::with(Agent::Codex, [Script::new("bad").step(step)]);
        let end = fixture.run(&fixture.job("[[script:bad]]"), &mut ScriptedPerson::default());
        let AgentOutcome::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
        assert_eq!(*kind, expected, "{name}: {end:?}");
    }
}

#[test]
fn a_message_arrives_during_a_turn_and_turns_are_limited() {
    let script = Script::new("busy").step(risky("one")).step(risky("two")).says("finished");
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = fixture.job("[[script:busy]]");
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Allow]);
    person.messages_after_tool = vec!["told on the way".to_owned()];
    let end = fixture.run(&job, &mut person);
    assert_eq!(done_text(&end), "finished");
    let last = fixture.llm.requests().pop().unwrap();
    assert_eq!(last.step, 2, "in the same turn");
    assert!(last.user.contains("told on the way"), "{}", last.user);

    let job = AgentJob { limits: Limits { turns: Some(1), ..job.limits.clone() }, ..job };
    let end = fixture.run(&job, &mut ScriptedPerson::new([Reply::Allow, Reply::Allow]));
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::TurnLimitReached, .. }),
        "{end:?}"
    );
}

#[test]
fn tokens_are_limited_but_the_last_answer_is_completed() {
    // The agent may continue briefly before it is ended, but must not finish.
    let last = Step::text("finished").hold("last");
    let script = Script::new("busy").step(risky("one")).step(risky("two")).step(last);
    let fixture = AgentFixture::with(Agent::Codex, [script]);
    let job = fixture.job("[[script:busy]]");
    let bounded = |tokens| AgentJob {
        limits: Limits { tokens: Some(tokens), ..job.limits.clone() },
        ..job.clone()
    };
    let allows = || ScriptedPerson::new([Reply::Allow, Reply::Allow]);
    let mut person = allows();
    let end = fixture.run(&bounded(100), &mut person);
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::BudgetExceeded, .. }),
        "{end:?}"
    );
    assert_eq!(person.used().tokens(), 240);
    fixture.llm.release("last");
    let end = fixture.run(&bounded(300), &mut allows());
    assert_eq!(done_text(&end), "finished");
}
