//! Tests of the Agent Client Protocol with the real OpenCode and Gemini, and with small fake agents.

use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::{
    Access, AgentJob, AgentKind, AgentOutcome, AgentRequest, FailureKind, Reply, ToolServer,
};
use mow_host::stop_signal::StopSignal;
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Request, Script, Step};

use crate::fixture::{AgentFixture, ScriptedPerson, done_text, kill, resumed_job, stop_at};

#[test]
fn opencode_edits_asks_and_ends() {
    let script = Script::new("work")
        .step(Step::write("${cwd}/made.txt", "made\n"))
        .step(Step::sh("echo one >> one.txt"))
        .step(Step::sh("echo two >> two.txt"))
        .says("all done");
    let fixture = AgentFixture::with(Agent::OpenCode, [script]);
    let job = AgentJob {
        model: Some("scripted/other".to_owned()),
        ..fixture.job(&format!(
            "You are the executor of phase 7. [[script:work]] [[cwd={}]]",
            fixture.work().display()
        ))
    };
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = fixture.run(&job, &mut person);
    assert!(matches!(end, AgentOutcome::Done { .. }), "{end:?}");
    assert_eq!(fixture.text("made.txt"), "made\n");
    assert_eq!(
        (fixture.text("one.txt"), fixture.text("two.txt")),
        ("one\n".to_owned(), String::new())
    );
    let AgentRequest::Permission { tool, text, .. } = &person.requests[0] else { panic!() };
    assert_eq!((tool.as_str(), text.as_str()), ("execute", "echo one >> one.txt"));
    let requests = fixture.llm.requests();
    let first = requests.iter().find(|request| request.script.is_some()).unwrap();
    assert_eq!(first.model, "other");
    assert!(first.user.contains("executor of phase 7"), "{}", first.user);
    assert!(requests.iter().any(|request| request.user.contains("better not")), "it learns why");
    assert!(person.used().input > 0);
}

#[test]
fn opencode_is_parked_killed_and_stopped() {
    let script = Script::new("two")
        .step(Step::sh("echo one >> one.txt"))
        .step(Step::sh("echo one >> one.txt"))
        .step(Step::text("finished").hold("end"));
    let fixture = AgentFixture::with(
        Agent::OpenCode,
        [script, Script::new("long").step(Step::sh("touch begun; sleep 300"))],
    );
    let job = fixture.job("[[script:two]]");
    let mut person = ScriptedPerson::new([Reply::Park]);
    let end = fixture.run(&job, &mut person);
    let AgentOutcome::Parked { ask } = end else { panic!("{end:?}") };
    let mut again = ScriptedPerson::new([Reply::Allow]);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            fixture.llm.wait_for(|request: &Request| request.step == 2, Duration::from_secs(120));
            kill(&fixture, "acp");
        });
        fixture.run(&resumed_job(&job, &person.session()), &mut again)
    });
    assert_eq!(again.requests, [ask], "the same request comes again under the same id");
    assert!(matches!(end, AgentOutcome::Failed { kind: FailureKind::Crashed, .. }), "{end:?}");
    fixture.llm.release("end");
    let end = fixture.run(&resumed_job(&job, &person.session()), &mut ScriptedPerson::default());
    assert_eq!(done_text(&end), "finished");
    assert_eq!(fixture.text("one.txt"), "one\n");

    let stop = StopSignal::new().unwrap();
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&fixture.work().join("begun"), &stop));
        let mut person = ScriptedPerson::new([Reply::Allow]);
        fixture.run_until(&fixture.job("[[script:long]]"), &mut person, &stop)
    });
    assert_eq!(end, AgentOutcome::Stopped);
    let end = fixture.run(&resumed_job(&job, "ses_unknown"), &mut ScriptedPerson::default());
    assert!(
        matches!(end, AgentOutcome::Failed { kind: FailureKind::SessionUnknown, .. }),
        "{end:?}"
    );
}

#[test]
fn model_errors_of_opencode_are_classified() {
    let key = Some("Incorrect API key provided: x".to_owned());
    for (name, step, expected) in [
        (
            "401",
            Step { message: key, ..Step::default() }.fails(401, None),
            FailureKind::NotLoggedIn,
        ),
        ("400", Step::default().fails(400, None), FailureKind::Other),
    ] {
        let fixture = AgentFixture::with(Agent::OpenCode, [Script::new("bad").step(step)]);
        let end = fixture.run(&fixture.job("[[script:bad]]"), &mut ScriptedPerson::default());
        let AgentOutcome::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
        assert_eq!(*kind, expected, "{name}: {end:?}");
    }
}

#[test]
fn gemini_edits_asks_and_ends() {
    let script = Script::new("work")
        .step(Step::write("${cwd}/made.txt", "made\n"))
        .step(Step::sh("echo one >> one.txt"))
        .step(Step::sh("echo two >> two.txt"))
        .says("all done");
    let fixture = AgentFixture::with(Agent::Gemini, [script]);
    let job = fixture.job(&format!("[[script:work]] [[cwd={}]]", fixture.work().display()));
    let mut person = ScriptedPerson::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = fixture.run(&job, &mut person);
    assert!(matches!(end, AgentOutcome::Done { .. }), "{end:?}");
    assert_eq!(fixture.text("made.txt"), "made\n");
    assert_eq!(
        (fixture.text("one.txt"), fixture.text("two.txt")),
        ("one\n".to_owned(), String::new())
    );
    assert!(person.used().input > 0);
    let models: Vec<_> = fixture.llm.requests().into_iter().map(|request| request.model).collect();
    assert!(models.iter().all(|model| model == Agent::Gemini.model()), "{models:?}");
}

#[test]
fn gemini_is_parked_and_stopped() {
    let scripts = [
        Script::new("one").step(Step::sh("echo one >> one.txt")).says("finished"),
        Script::new("long").step(Step::sh("touch begun; sleep 300")),
    ];
    let fixture = AgentFixture::with(Agent::Gemini, scripts);
    let job = fixture.job("[[script:one]]");
    let mut person = ScriptedPerson::new([Reply::Park]);
    let end = fixture.run(&job, &mut person);
    let AgentOutcome::Parked { ask } = end else { panic!("{end:?}") };
    let mut again = ScriptedPerson::new([Reply::Allow]);
    let mut end = fixture.run(&resumed_job(&job, &person.session()), &mut again);
    if matches!(end, AgentOutcome::Failed { kind: FailureKind::SessionUnknown, .. }) {
        // It does not always find what it has saved; then a new session has to do.
        end = fixture.run(&job, &mut again);
    }
    assert_eq!(done_text(&end), "finished");
    assert_eq!(again.requests, [ask], "the same request comes again under the same id");

    let stop = StopSignal::new().unwrap();
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&fixture.work().join("begun"), &stop));
        let mut person = ScriptedPerson::new([Reply::Allow]);
        fixture.run_until(&fixture.job("[[script:long]]"), &mut person, &stop)
    });
    assert_eq!(end, AgentOutcome::Stopped);
}

/// An agent of a few lines: it answers call by call, whatever is said.
fn scripted(lines: &[&str]) -> String {
    let answers: Vec<_> = lines.iter().map(|line| format!("read x; echo '{line}'")).collect();
    answers.join("\n")
}

#[test]
fn a_form_is_answered_and_tool_servers_are_passed_on() {
    let ask = r#"{"id":"q","method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"properties":{"db":{"oneOf":[{"const":"pg","title":"Postgres"},{"const":"sl","title":"SQLite"}]}}}}}"#;
    let script = scripted(&[
        r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#,
        r#"{"id":2,"result":{"sessionId":"s"}}"#,
        ask,
        r#"{"id":3,"result":{"stopReason":"end_turn"}}"#,
    ]);
    let fixture = AgentFixture::fake_agent(AgentKind::Acp, &script);
    let server = ToolServer {
        name: "mow".to_owned(),
        command: PathBuf::from("/bin/mow"),
        args: vec!["serve".to_owned()],
        env: vec![("A".to_owned(), "b".to_owned())],
    };
    let job = AgentJob { tool_servers: vec![server], access: Access::Read, ..fixture.job("do it") };
    let mut person = ScriptedPerson::new([Reply::Answer(vec!["Postgres".to_owned()])]);
    assert_eq!(done_text(&fixture.run(&job, &mut person)), "");
    let AgentRequest::Question { questions, .. } = &person.requests[0] else { panic!() };
    assert_eq!(questions[0].text, "Which?");
    assert_eq!(questions[0].choices[1].label, "SQLite");
    let log = fixture.log();
    assert!(log.contains(r#"{"action":"accept","content":{"db":"pg"}}"#), "{log}");
    let served = r#""command":"/bin/mow","args":["serve"],"env":[{"name":"A","value":"b"},"#;
    // What the agent starts is marked as its own processes are.
    assert!(log.contains(&format!(r#"{served}{{"name":"MOW_AGENT","value":""#)), "{log}");
}

#[test]
fn an_unsupported_version_and_a_missing_login_are_reported() {
    for (lines, expected) in [
        (vec![r#"{"id":1,"result":{"protocolVersion":9}}"#], FailureKind::Other),
        (
            vec![
                r#"{"id":1,"result":{"protocolVersion":1}}"#,
                r#"{"id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
            ],
            FailureKind::NotLoggedIn,
        ),
    ] {
        let fixture =
            AgentFixture::fake_agent(AgentKind::Acp, &format!("{}\ncat", scripted(&lines)));
        let end = fixture.run(&fixture.job("do it"), &mut ScriptedPerson::default());
        let AgentOutcome::Failed { kind, .. } = &end else { panic!("{end:?}") };
        assert_eq!(*kind, expected, "{end:?}");
    }
}
