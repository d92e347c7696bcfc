//! Tests with the real Claude Code.

use std::time::Duration;

use mow_host::agent::{
    Access, AgentJob, AgentOutcome, AgentRequest, AgentSession, Event, FailureKind, Limits, Reply,
};
use mow_host::stop_signal::StopSignal;
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step, Tool};
use serde_json::json;

use crate::fixture::{AgentFixture, ScriptedPerson, done_text, resumed_job, stop_at};

const REPORT: &str = "mcp__mow__report";

/// Needs a permission in every mode.
fn risky(name: &str) -> Step {
    Step::sh(&format!("echo {name} >> $PWD/{name}.txt"))
}

#[test]
fn an_agent_edits_reports_and_finishes() {
    let script = Script::new("work")
        .step(Step::write("${cwd}/made.txt", "made\n"))
        .step(Step::call(REPORT, json!({ "status": "fine" })))
        .step(Step::call(REPORT, json!({ "status": "wrong" })))
        .says("all done: ${last_tool_result}");
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let job = AgentJob {
        model: Some("claude-haiku-4-5".to_owned()),
        ..fixture.job(&format!(
            "You are the executor of phase 7. [[script:work]] [[cwd={}]]",
            fixture.work().display()
        ))
    };
    let mut person = ScriptedPerson::default();
    let end = fixture.run(&job, &mut person);
    assert!(done_text(&end).starts_with("all done: no such status"), "{end:?}");
    assert_eq!(fixture.text("made.txt"), "made\n");
    assert_eq!(person.calls.len(), 2);
    assert_eq!(person.calls[0], ("report".to_owned(), json!({ "status": "fine" })));
    assert_eq!(person.used_tools(), ["Write", REPORT, REPORT]);
    assert_eq!(person.used().input, 400);
    assert_eq!(person.used().output, 80);
    assert!(person.used().usd.is_some_and(|usd| usd > 0.0), "{:?}", person.used());
    assert!(person.requests.is_empty(), "{:?}", person.requests);
    let request = fixture.llm.wait_for(|request| request.script.is_some(), Duration::ZERO);
    assert!(request.user.contains("executor of phase 7"));
    assert_eq!(request.model, "claude-haiku-4-5");
    for taken in ["SendMessage", "ListAgents", "CronCreate", "EnterWorktree", "Workflow"] {
        assert!(!request.tools.iter().any(|tool| tool == taken), "{taken}");
    }
}

#[test]
fn read_access_removes_editing_tools() {
    let fixture = AgentFixture::with(Agent::Claude, [Script::new("look").says("seen")]);
    let job = AgentJob { access: Access::Read, ..fixture.job("[[script:look]]") };
    let end = fixture.run(&job, &mut ScriptedPerson::default());
    assert_eq!(done_text(&end), "seen");
    let request = fixture.llm.wait_for(|request| request.script.is_some(), Duration::ZERO);
    assert!(request.tools.iter().any(|tool| tool == "Read"), "{:?}", request.tools);
    for tool in ["Edit", "Write", "NotebookEdit"] {
        assert!(!request.tools.iter().any(|offered| offered == tool), "{tool}");
    }
}

#[test]
fn permissions_are_given_and_refused() {
    let script =
        Script::new("two").step(risky("one")).step(risky("two")).says("${last_tool_result}");
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = fixture.run(&fixture.job("[[script:two]]"), &mut person);
    assert!(done_text(&end).contains("better not"), "{end:?}");
    assert_eq!(
        (fixture.text("one.txt"), fixture.text("two.txt")),
        ("one\n".to_owned(), String::new())
    );
    let AgentRequest::Permission { tool, text, input, .. } = &person.requests[0] else { panic!() };
    assert_eq!(tool, "Bash");
    assert_eq!(text, "echo one >> $PWD/one.txt");
    assert_eq!(input["command"], "echo one >> $PWD/one.txt");
    assert_ne!(person.requests[0].id(), person.requests[1].id());
}

#[test]
fn a_parked_permission_is_asked_again_by_another_process() {
    let script = Script::new("two").step(risky("one")).step(risky("two")).says("finished");
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let job = fixture.job("[[script:two]]");
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Park]);
    let end = fixture.run(&job, &mut person);
    let AgentOutcome::Parked { ask } = end else { panic!("{end:?}") };
    assert_eq!(person.used().input, 200, "{:?}", person.events);
    assert!(person.used().usd.is_some_and(|usd| usd > 0.0), "{:?}", person.events);
    let mut again = ScriptedPerson::new([Reply::Allow]);
    let end = fixture.run(&resumed_job(&job, &person.session()), &mut again);
    assert_eq!(done_text(&end), "finished");
    assert_eq!(again.requests, [ask], "the same request comes again under the same id");
    assert_eq!(again.session(), person.session());
    assert_eq!(again.used().input, 200, "only what this run used");
    // No tool ran twice.
    assert_eq!(
        (fixture.text("one.txt").as_str(), fixture.text("two.txt").as_str()),
        ("one\n", "two\n")
    );
}

#[test]
fn a_tool_that_ran_beside_a_parked_permission_is_kept() {
    let both =
        Step::call("Bash", json!({ "command": "echo one >> $PWD/one.txt" })).tool(Tool::Named {
            name: "Bash".to_owned(),
            input: json!({ "command": "echo two >> $PWD/two.txt" }),
        });
    let again = Step::sh("echo two >> $PWD/two.txt");
    let fixture = AgentFixture::with(
        Agent::Claude,
        [Script::new("both").step(both).step(again).says("finished")],
    );
    let job = fixture.job("[[script:both]]");
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Park]);
    let end = fixture.run(&job, &mut person);
    let AgentOutcome::Parked { .. } = end else { panic!("{end:?}") };
    // The model learns what became of both, and asks for what was not done.
    let mut again = ScriptedPerson::new([Reply::Allow]);
    let end = fixture.run(&resumed_job(&job, &person.session()), &mut again);
    assert_eq!(done_text(&end), "finished");
    assert_eq!(
        (fixture.text("one.txt").as_str(), fixture.text("two.txt").as_str()),
        ("one\n", "two\n")
    );
}

#[test]
fn questions_are_answered_refused_and_parked() {
    let script = Script::new("ask")
        .step(Step::ask("Which one?", &["red", "blue"]))
        .says("it was ${last_tool_result}");
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let job = fixture.job("[[script:ask]]");
    let mut person = ScriptedPerson::new([Reply::Answer(vec!["blue".to_owned()])]);
    let end = fixture.run(&job, &mut person);
    assert!(done_text(&end).contains("\"Which one?\"=\"blue\""), "{end:?}");
    let AgentRequest::Question { questions, .. } = &person.requests[0] else { panic!() };
    assert_eq!(questions[0].text, "Which one?");
    let labels: Vec<_> = questions[0].choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["red", "blue"]);

    let mut person = ScriptedPerson::new([Reply::Deny("nobody is here".to_owned())]);
    let end = fixture.run(&job, &mut person);
    assert!(done_text(&end).contains("nobody is here"), "{end:?}");

    let mut person = ScriptedPerson::new([Reply::Park]);
    let end = fixture.run(&job, &mut person);
    let AgentOutcome::Parked { ask } = end else { panic!("{end:?}") };
    let asked = fixture.llm.requests().len();
    let mut again = ScriptedPerson::new([Reply::Answer(vec!["red".to_owned()])]);
    let end = fixture.run(&resumed_job(&job, &person.session()), &mut again);
    assert!(done_text(&end).contains("\"Which one?\"=\"red\""), "{end:?}");
    assert_eq!(again.requests, [ask]);
    assert_eq!(fixture.llm.requests().len(), asked + 1, "parking costs no request");
    assert_eq!(again.used().input, 100);
}

#[test]
fn a_stop_in_the_middle_of_a_tool_leaves_no_process() {
    let fixture = AgentFixture::with(
        Agent::Claude,
        [Script::new("long").step(Step::sh("touch $PWD/begun; sleep 300"))],
    );
    let stop = StopSignal::new().unwrap();
    let mut person = ScriptedPerson::new([Reply::Allow]);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&fixture.work().join("begun"), &stop));
        fixture.run_until(&fixture.job("[[script:long]]"), &mut person, &stop)
    });
    assert_eq!(end, AgentOutcome::Stopped);
    assert_eq!(person.used().input, 100);
}

#[test]
fn model_errors_are_classified() {
    for (name, step, expected) in [
        ("401", Step::default().fails(401, None), FailureKind::NotLoggedIn),
        ("403", Step::default().fails(403, None), FailureKind::NotLoggedIn),
        ("402", Step::default().fails(402, None), FailureKind::QuotaExhausted),
        (
            "429",
            Step::default().fails(429, None),
            FailureKind::RateLimited { retry_after_ms: None },
        ),
        ("529", Step::default().fails(529, None), FailureKind::Overloaded),
        ("500", Step::default().fails(500, None), FailureKind::Overloaded),
        ("400", Step::default().fails(400, None), FailureKind::Other),
        ("cut", Step::default().drops(None), FailureKind::ConnectionLost),
    ] {
        let fixture =
            AgentFixture::with(Agent::Claude, [Script::new("bad").step(step.clone()).step(step)]);
        let mut person = ScriptedPerson::default();
        let end = fixture.run(&fixture.job("[[script:bad]]"), &mut person);
        let AgentOutcome::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
        assert_eq!(*kind, expected, "{name}: {end:?}");
        if name == "401" {
            assert_eq!(fixture.llm.requests().len(), 1, "it is not tried again");
        }
    }
}

#[test]
fn a_transient_failure_is_retried() {
    let fixture = AgentFixture::with(
        Agent::Claude,
        [Script::new("busy").step(Step::text("hello").fails(529, 1))],
    );
    let mut person = ScriptedPerson::default();
    let end = fixture.run(&fixture.job("[[script:busy]]"), &mut person);
    assert_eq!(done_text(&end), "hello");
    let is_retry = |event: &&Event| matches!(event, Event::Retry { status: Some(529), .. });
    assert_eq!(person.events.iter().filter(is_retry).count(), 1, "{:?}", person.events);
}

#[test]
fn each_limit_ends_the_run() {
    let script = Script::new("two").step(risky("one")).step(risky("two")).says("finished");
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let job = fixture.job("[[script:two]]");
    let with = |limits: Limits| AgentJob { limits, ..job.clone() };
    let limits = &job.limits;
    for (limits, expected) in [
        (Limits { usd: Some(0.000_001), ..limits.clone() }, FailureKind::BudgetExceeded),
        (Limits { turns: Some(1), ..limits.clone() }, FailureKind::TurnLimitReached),
        (
            Limits { wall: Some(Duration::from_millis(100)), ..limits.clone() },
            FailureKind::TimedOut,
        ),
        (Limits { output_bytes: 100, ..limits.clone() }, FailureKind::TooMuchOutput),
    ] {
        let mut person = ScriptedPerson::new([Reply::Allow, Reply::Allow]);
        let end = fixture.run(&with(limits), &mut person);
        let AgentOutcome::Failed { kind, .. } = &end else { panic!("{expected:?}: {end:?}") };
        assert_eq!(*kind, expected, "{end:?}");
    }
    let job = AgentJob {
        session: AgentSession::Resume("5e3f8a3c-0000-4000-8000-000000000000".into()),
        ..job
    };
    let end = fixture.run(&job, &mut ScriptedPerson::default());
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::SessionUnknown, .. }),
        "{end:?}"
    );
}

#[test]
fn a_message_arrives_between_two_turns() {
    let script = Script::new("busy").step(risky("one")).says("finished");
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let mut person = ScriptedPerson::new([Reply::Allow]);
    person.messages = vec!["told at once".to_owned()];
    person.messages_after_tool = vec!["told on the way".to_owned()];
    let end = fixture.run(&fixture.job("[[script:busy]]"), &mut person);
    assert!(matches!(end, AgentOutcome::Done { .. }), "{end:?}");
    let last = fixture.llm.requests().pop().unwrap();
    assert!(last.user.contains("told at once"), "{}", last.user);
    assert!(last.user.contains("told on the way"), "{}", last.user);
}

#[test]
fn tokens_are_limited_but_the_last_answer_is_completed() {
    let write = |name: &str| Step::write(&format!("${{cwd}}/{name}"), "made\n");
    // The agent may continue briefly before it is ended, but must not finish.
    let last = Step::text("finished").hold("last");
    let script = Script::new("work").step(write("one")).step(write("two")).step(last);
    let fixture = AgentFixture::with(Agent::Claude, [script]);
    let job = fixture.job(&format!(
        "You are the executor of phase 7. [[script:work]] [[cwd={}]]",
        fixture.work().display()
    ));
    let bounded = |tokens| AgentJob {
        limits: Limits { tokens: Some(tokens), ..job.limits.clone() },
        ..job.clone()
    };
    let mut person = ScriptedPerson::default();
    let end = fixture.run(&bounded(200), &mut person);
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::BudgetExceeded, .. }),
        "{end:?}"
    );
    assert_eq!(person.used().tokens(), 240, "what it used is told all the same");
    fixture.llm.release("last");
    let end = fixture.run(&bounded(300), &mut ScriptedPerson::default());
    assert_eq!(done_text(&end), "finished");
}
