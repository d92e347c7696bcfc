//! The real Codex.

use std::time::Duration;

use mow_host::agent::{Access, Ask, End, Job, Limits, Reply, Session, Trouble};
use mow_host::stop::Stop;
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Request, Script, Step};
use serde_json::json;

use crate::bench::{Bench, Person, done, kill, resumed, stop_at};

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
fn it_edits_reports_and_ends() {
    let script = Script::new("work")
        .step(Step::sh("echo made > made.txt"))
        .step(Step::call("report", json!({ "status": "fine" })))
        .step(Step::call("report", json!({ "status": "wrong" })))
        .says("all done: ${last_tool_result}");
    let bench = Bench::with(Agent::Codex, [script]);
    let job = Job {
        system: Some("You are the executor of phase 7.".to_owned()),
        model: Some("other-model".to_owned()),
        ..bench.job("[[script:work]]")
    };
    let mut person = Person::default();
    let end = bench.run(&job, &mut person);
    assert_eq!(done(&end), "all done: no such status");
    assert_eq!(bench.text("made.txt"), "made\n");
    let statuses: Vec<_> =
        person.calls.iter().map(|(tool, input)| (tool.as_str(), input)).collect();
    let (fine, wrong) = (json!({ "status": "fine" }), json!({ "status": "wrong" }));
    assert_eq!(statuses, [("report", &fine), ("report", &wrong)]);
    assert_eq!(person.used_tools(), ["commandExecution", "report", "report"]);
    assert_eq!((person.used().input, person.used().output, person.used().usd), (400, 80, None));
    assert!(person.asks.is_empty(), "{:?}", person.asks);
    let request = bench.llm.wait_for(|request| request.script.is_some(), Duration::ZERO);
    assert_eq!(request.model, "other-model");
    let told = format!("{}{}", request.system, request.user);
    assert!(told.contains("executor of phase 7"), "{told}");
}

#[test]
fn who_may_only_read_cannot_write() {
    let script = Script::new("look").step(Step::sh("echo made > made.txt")).says("seen");
    let bench = Bench::with(Agent::Codex, [script]);
    let job = Job { access: Access::Read, ..bench.job("[[script:look]]") };
    let mut person = Person::default();
    assert_eq!(done(&bench.run(&job, &mut person)), "seen");
    assert!(!bench.work().join("made.txt").exists());
}

#[test]
fn permissions_are_given_and_refused() {
    let script =
        Script::new("two").step(risky("one")).step(risky("two")).says("last: ${last_tool_result}");
    let bench = Bench::with(Agent::Codex, [script]);
    let mut person = Person::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = bench.run(&bench.job("[[script:two]]"), &mut person);
    assert!(done(&end).contains("last: "), "{end:?}");
    assert_eq!((bench.text("one.txt"), bench.text("two.txt")), ("one\n".to_owned(), String::new()));
    let last = bench.llm.requests().pop().unwrap();
    assert!(last.user.contains("better not"), "it learns why: {}", last.user);
    let Ask::Permission { tool, text, .. } = &person.asks[0] else { panic!() };
    assert_eq!(tool, "shell");
    assert!(text.contains("echo one >> one.txt") && text.contains("it must be so"), "{text}");
    assert_ne!(person.asks[0].id(), person.asks[1].id());
}

#[test]
fn what_is_parked_is_asked_again_by_another_process() {
    // A resumed thread goes to its model again, which asks again.
    let script = Script::new("two")
        .step(risky("one"))
        .step(risky("two"))
        .step(risky("two"))
        .step(Step::call("report", json!({ "status": "fine" })))
        .says("finished");
    let bench = Bench::with(Agent::Codex, [script]);
    let job = bench.job("[[script:two]]");
    let mut person = Person::new([Reply::Allow, Reply::Park]);
    let end = bench.run(&job, &mut person);
    let End::Parked { ask } = end else { panic!("{end:?}") };
    let mut again = Person::new([Reply::Allow]);
    let end = bench.run(&resumed(&job, &person.session()), &mut again);
    assert_eq!(done(&end), "finished");
    assert_eq!(again.asks, [ask], "the same thing is asked, by the same name");
    assert_eq!(again.session(), person.session());
    assert_eq!(again.calls.len(), 1, "the tools are still there");
    assert_eq!(
        (bench.text("one.txt").as_str(), bench.text("two.txt").as_str()),
        ("one\n", "two\n")
    );
    assert_eq!(again.used().input, 300, "only what this run used");
}

#[test]
fn questions_are_answered_refused_and_parked() {
    let script = Script::new("ask").step(question()).says("it was ${last_tool_result}");
    let bench = Bench::with(Agent::Codex, [script]);
    let job = bench.job("[[script:ask]]");
    let mut person = Person::new([Reply::Answer(vec!["blue".to_owned()])]);
    let end = bench.run(&job, &mut person);
    assert!(done(&end).contains("blue"), "{end:?}");
    let Ask::Question { questions, .. } = &person.asks[0] else { panic!() };
    assert_eq!(questions[0].text, "Which one?");
    let labels: Vec<_> = questions[0].choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["red", "blue"]);

    let end = bench.run(&job, &mut Person::new([Reply::Deny("nobody is here".to_owned())]));
    assert!(done(&end).contains("nobody is here"), "{end:?}");

    let mut person = Person::new([Reply::Park]);
    let end = bench.run(&job, &mut person);
    assert!(matches!(end, End::Parked { .. }), "{end:?}");
}

#[test]
fn one_that_is_killed_goes_on_where_it_was() {
    let script = Script::new("cut").step(risky("one")).step(Step::text("finished").hold("two"));
    let bench = Bench::with(Agent::Codex, [script]);
    let job = bench.job("[[script:cut]]");
    let mut person = Person::new([Reply::Allow]);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| {
            bench.llm.wait_for(|request: &Request| request.step == 1, Duration::from_secs(120));
            kill(&bench, "app-server");
        });
        bench.run(&job, &mut person)
    });
    assert!(matches!(end, End::Failed { kind: Trouble::Crashed, .. }), "{end:?}");
    bench.llm.let_go("two");
    let end = bench.run(&resumed(&job, &person.session()), &mut Person::default());
    assert_eq!(done(&end), "finished");
    assert_eq!(bench.text("one.txt"), "one\n");
    let unknown = Session::Resume("01a1e30f-2c76-7741-b346-64bfe17e2fb3".to_owned());
    let end = bench.run(&Job { session: unknown, ..job }, &mut Person::default());
    assert!(matches!(end, End::Failed { kind: Trouble::SessionUnknown, .. }), "{end:?}");
}

#[test]
fn a_stop_in_the_middle_of_a_tool_leaves_no_process() {
    let bench =
        Bench::with(Agent::Codex, [Script::new("long").step(Step::sh("touch begun; sleep 300"))]);
    let stop = Stop::new().unwrap();
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&bench.work().join("begun"), &stop));
        bench.run_until(&bench.job("[[script:long]]"), &mut Person::default(), &stop)
    });
    assert_eq!(end, End::Stopped);
}

#[test]
fn what_its_model_refuses_is_told_apart() {
    let quota = Step { code: Some("insufficient_quota".to_owned()), ..Step::default() };
    for (name, step, expected) in [
        ("401", Step::default().fails(401, None), Trouble::Login),
        ("quota", quota.fails(429, None), Trouble::Quota),
        ("429", Step::default().fails(429, None), Trouble::RateLimited { retry_after_ms: None }),
        ("503", Step::default().fails(503, None), Trouble::Overloaded),
        ("400", Step::default().fails(400, None), Trouble::Other),
        ("cut", Step::default().drops(None), Trouble::Cut),
    ] {
        let bench = Bench::with(Agent::Codex, [Script::new("bad").step(step)]);
        let end = bench.run(&bench.job("[[script:bad]]"), &mut Person::default());
        let End::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
        assert_eq!(*kind, expected, "{name}: {end:?}");
    }
}

#[test]
fn a_message_reaches_it_and_turns_are_bounded() {
    let script = Script::new("busy").step(risky("one")).step(risky("two")).says("finished");
    let bench = Bench::with(Agent::Codex, [script]);
    let job = bench.job("[[script:busy]]");
    let mut person = Person::new([Reply::Allow, Reply::Allow]);
    person.late = vec!["told on the way".to_owned()];
    let end = bench.run(&job, &mut person);
    assert_eq!(done(&end), "finished");
    let last = bench.llm.requests().pop().unwrap();
    assert_eq!(last.step, 2, "in the same turn");
    assert!(last.user.contains("told on the way"), "{}", last.user);

    let job = Job { limits: Limits { turns: Some(1), ..job.limits.clone() }, ..job };
    let end = bench.run(&job, &mut Person::new([Reply::Allow, Reply::Allow]));
    assert!(matches!(end, End::Failed { kind: Trouble::Turns, .. }), "{end:?}");
}

#[test]
fn its_tokens_are_bounded_but_its_last_answer_is_not_cut_off() {
    // It may go on before it is ended, but not to its end.
    let last = Step::text("finished").hold("last");
    let script = Script::new("busy").step(risky("one")).step(risky("two")).step(last);
    let bench = Bench::with(Agent::Codex, [script]);
    let job = bench.job("[[script:busy]]");
    let bounded = |tokens| Job {
        limits: Limits { tokens: Some(tokens), ..job.limits.clone() },
        ..job.clone()
    };
    let allows = || Person::new([Reply::Allow, Reply::Allow]);
    let mut person = allows();
    let end = bench.run(&bounded(100), &mut person);
    assert!(matches!(end, End::Failed { kind: Trouble::Budget, .. }), "{end:?}");
    assert_eq!(person.used().tokens(), 240);
    bench.llm.let_go("last");
    let end = bench.run(&bounded(300), &mut allows());
    assert_eq!(done(&end), "finished");
}
