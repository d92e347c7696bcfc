//! The real OpenCode and Gemini, by the Agent Client Protocol, and a small agent that fills in a form.

use std::path::PathBuf;
use std::time::Duration;

use mow_host::agent::{Access, Ask, End, Job, Kind, Reply, ToolServer, Trouble};
use mow_host::stop::Stop;
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Request, Script, Step};

use crate::bench::{Bench, Person, done, kill, resumed, stop_at};

#[test]
fn opencode_edits_asks_and_ends() {
    let script = Script::new("work")
        .step(Step::write("${cwd}/made.txt", "made\n"))
        .step(Step::sh("echo one >> one.txt"))
        .step(Step::sh("echo two >> two.txt"))
        .says("all done");
    let bench = Bench::with(Agent::OpenCode, [script]);
    let job = Job {
        system: Some("You are the executor of phase 7.".to_owned()),
        model: Some("scripted/other".to_owned()),
        ..bench.job(&format!("[[script:work]] [[cwd={}]]", bench.work().display()))
    };
    let mut person = Person::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = bench.run(&job, &mut person);
    assert!(matches!(end, End::Done { .. }), "{end:?}");
    assert_eq!(bench.text("made.txt"), "made\n");
    assert_eq!((bench.text("one.txt"), bench.text("two.txt")), ("one\n".to_owned(), String::new()));
    let Ask::Permission { tool, text, .. } = &person.asks[0] else { panic!() };
    assert_eq!((tool.as_str(), text.as_str()), ("execute", "echo one >> one.txt"));
    let requests = bench.llm.requests();
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
    let bench = Bench::with(
        Agent::OpenCode,
        [script, Script::new("long").step(Step::sh("touch begun; sleep 300"))],
    );
    let job = bench.job("[[script:two]]");
    let mut person = Person::new([Reply::Park]);
    let end = bench.run(&job, &mut person);
    let End::Parked { ask } = end else { panic!("{end:?}") };
    let mut again = Person::new([Reply::Allow]);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            bench.llm.wait_for(|request: &Request| request.step == 2, Duration::from_secs(120));
            kill(&bench, "acp");
        });
        bench.run(&resumed(&job, &person.session()), &mut again)
    });
    assert_eq!(again.asks, [ask], "the same thing is asked, by the same name");
    assert!(matches!(end, End::Failed { kind: Trouble::Crashed, .. }), "{end:?}");
    bench.llm.let_go("end");
    let end = bench.run(&resumed(&job, &person.session()), &mut Person::default());
    assert_eq!(done(&end), "finished");
    assert_eq!(bench.text("one.txt"), "one\n");

    let stop = Stop::new().unwrap();
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&bench.work().join("begun"), &stop));
        let mut person = Person::new([Reply::Allow]);
        bench.run_until(&bench.job("[[script:long]]"), &mut person, &stop)
    });
    assert_eq!(end, End::Stopped);
    let end = bench.run(&resumed(&job, "ses_unknown"), &mut Person::default());
    assert!(matches!(end, End::Failed { kind: Trouble::SessionUnknown, .. }), "{end:?}");
}

#[test]
fn what_the_model_of_opencode_refuses_is_told_apart() {
    let key = Some("Incorrect API key provided: x".to_owned());
    for (name, step, expected) in [
        ("401", Step { message: key, ..Step::default() }.fails(401, None), Trouble::Login),
        ("400", Step::default().fails(400, None), Trouble::Other),
    ] {
        let bench = Bench::with(Agent::OpenCode, [Script::new("bad").step(step)]);
        let end = bench.run(&bench.job("[[script:bad]]"), &mut Person::default());
        let End::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
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
    let bench = Bench::with(Agent::Gemini, [script]);
    let job = bench.job(&format!("[[script:work]] [[cwd={}]]", bench.work().display()));
    let mut person = Person::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = bench.run(&job, &mut person);
    assert!(matches!(end, End::Done { .. }), "{end:?}");
    assert_eq!(bench.text("made.txt"), "made\n");
    assert_eq!((bench.text("one.txt"), bench.text("two.txt")), ("one\n".to_owned(), String::new()));
    assert!(person.used().input > 0);
    let models: Vec<_> = bench.llm.requests().into_iter().map(|request| request.model).collect();
    assert!(models.iter().all(|model| model == Agent::Gemini.model()), "{models:?}");
}

#[test]
fn gemini_is_parked_and_stopped() {
    let scripts = [
        Script::new("one").step(Step::sh("echo one >> one.txt")).says("finished"),
        Script::new("long").step(Step::sh("touch begun; sleep 300")),
    ];
    let bench = Bench::with(Agent::Gemini, scripts);
    let job = bench.job("[[script:one]]");
    let mut person = Person::new([Reply::Park]);
    let end = bench.run(&job, &mut person);
    let End::Parked { ask } = end else { panic!("{end:?}") };
    let mut again = Person::new([Reply::Allow]);
    let mut end = bench.run(&resumed(&job, &person.session()), &mut again);
    if matches!(end, End::Failed { kind: Trouble::SessionUnknown, .. }) {
        // It does not always find what it has saved; then a new session has to do.
        end = bench.run(&job, &mut again);
    }
    assert_eq!(done(&end), "finished");
    assert_eq!(again.asks, [ask], "the same thing is asked, by the same name");

    let stop = Stop::new().unwrap();
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&bench.work().join("begun"), &stop));
        let mut person = Person::new([Reply::Allow]);
        bench.run_until(&bench.job("[[script:long]]"), &mut person, &stop)
    });
    assert_eq!(end, End::Stopped);
}

/// An agent of a few lines: it answers call by call, whatever is said.
fn scripted(lines: &[&str]) -> String {
    let answers: Vec<_> = lines.iter().map(|line| format!("read x; echo '{line}'")).collect();
    answers.join("\n")
}

#[test]
fn a_form_is_filled_in_and_servers_are_handed_over() {
    let ask = r#"{"id":"q","method":"elicitation/create","params":{"message":"Which?","requestedSchema":{"properties":{"db":{"oneOf":[{"const":"pg","title":"Postgres"},{"const":"sl","title":"SQLite"}]}}}}}"#;
    let script = scripted(&[
        r#"{"id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}"#,
        r#"{"id":2,"result":{"sessionId":"s"}}"#,
        ask,
        r#"{"id":3,"result":{"stopReason":"end_turn"}}"#,
    ]);
    let bench = Bench::stand_in(Kind::Acp, &script);
    let server = ToolServer {
        name: "mow".to_owned(),
        command: PathBuf::from("/bin/mow"),
        args: vec!["serve".to_owned()],
        env: vec![("A".to_owned(), "b".to_owned())],
    };
    let job = Job { servers: vec![server], access: Access::Read, ..bench.job("do it") };
    let mut person = Person::new([Reply::Answer(vec!["Postgres".to_owned()])]);
    assert_eq!(done(&bench.run(&job, &mut person)), "");
    let Ask::Question { questions, .. } = &person.asks[0] else { panic!() };
    assert_eq!(questions[0].text, "Which?");
    assert_eq!(questions[0].choices[1].label, "SQLite");
    let log = bench.log();
    assert!(log.contains(r#"{"action":"accept","content":{"db":"pg"}}"#), "{log}");
    let served = r#""command":"/bin/mow","args":["serve"],"env":[{"name":"A","value":"b"},"#;
    // What the agent starts is marked as its own processes are.
    assert!(log.contains(&format!(r#"{served}{{"name":"MOW_AGENT","value":""#)), "{log}");
}

#[test]
fn an_agent_of_another_version_or_without_a_login_is_told_apart() {
    for (lines, expected) in [
        (vec![r#"{"id":1,"result":{"protocolVersion":9}}"#], Trouble::Other),
        (
            vec![
                r#"{"id":1,"result":{"protocolVersion":1}}"#,
                r#"{"id":2,"error":{"code":-32000,"message":"Authentication required"}}"#,
            ],
            Trouble::Login,
        ),
    ] {
        let bench = Bench::stand_in(Kind::Acp, &format!("{}\ncat", scripted(&lines)));
        let end = bench.run(&bench.job("do it"), &mut Person::default());
        let End::Failed { kind, .. } = &end else { panic!("{end:?}") };
        assert_eq!(*kind, expected, "{end:?}");
    }
}
