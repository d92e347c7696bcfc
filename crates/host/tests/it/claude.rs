//! The real Claude Code.

use std::time::Duration;

use mow_host::agent::{Access, Ask, End, Event, Job, Limits, Reply, Session, Trouble};
use mow_host::stop::Stop;
use mow_testkit::agents::Agent;
use mow_testkit::llm::{Script, Step, Tool};
use serde_json::json;

use crate::bench::{Bench, Person, done, resumed, stop_at};

const REPORT: &str = "mcp__mow__report";

/// Needs a permission in every mode.
fn risky(name: &str) -> Step {
    Step::sh(&format!("echo {name} >> $PWD/{name}.txt"))
}

#[test]
fn it_edits_reports_and_ends() {
    let script = Script::new("work")
        .step(Step::write("${cwd}/made.txt", "made\n"))
        .step(Step::call(REPORT, json!({ "status": "fine" })))
        .step(Step::call(REPORT, json!({ "status": "wrong" })))
        .says("all done: ${last_tool_result}");
    let bench = Bench::with(Agent::Claude, [script]);
    let job = Job {
        system: Some("You are the executor of phase 7.".to_owned()),
        model: Some("claude-haiku-4-5".to_owned()),
        ..bench.job(&format!("[[script:work]] [[cwd={}]]", bench.work().display()))
    };
    let mut person = Person::default();
    let end = bench.run(&job, &mut person);
    assert!(done(&end).starts_with("all done: no such status"), "{end:?}");
    assert_eq!(bench.text("made.txt"), "made\n");
    assert_eq!(person.calls.len(), 2);
    assert_eq!(person.calls[0], ("report".to_owned(), json!({ "status": "fine" })));
    assert_eq!(person.used_tools(), ["Write", REPORT, REPORT]);
    assert_eq!(person.used().input, 400);
    assert_eq!(person.used().output, 80);
    assert!(person.used().usd.is_some_and(|usd| usd > 0.0), "{:?}", person.used());
    assert!(person.asks.is_empty(), "{:?}", person.asks);
    let request = bench.llm.wait_for(|request| request.script.is_some(), Duration::ZERO);
    assert!(request.system.contains("executor of phase 7"));
    assert_eq!(request.model, "claude-haiku-4-5");
    for taken in ["SendMessage", "ListAgents", "CronCreate", "EnterWorktree", "Workflow"] {
        assert!(!request.tools.iter().any(|tool| tool == taken), "{taken}");
    }
}

#[test]
fn who_may_only_read_has_no_tools_for_editing() {
    let bench = Bench::with(Agent::Claude, [Script::new("look").says("seen")]);
    let job = Job { access: Access::Read, ..bench.job("[[script:look]]") };
    let end = bench.run(&job, &mut Person::default());
    assert_eq!(done(&end), "seen");
    let request = bench.llm.wait_for(|request| request.script.is_some(), Duration::ZERO);
    assert!(request.tools.iter().any(|tool| tool == "Read"), "{:?}", request.tools);
    for tool in ["Edit", "Write", "NotebookEdit"] {
        assert!(!request.tools.iter().any(|offered| offered == tool), "{tool}");
    }
}

#[test]
fn permissions_are_given_and_refused() {
    let script =
        Script::new("two").step(risky("one")).step(risky("two")).says("${last_tool_result}");
    let bench = Bench::with(Agent::Claude, [script]);
    let mut person = Person::new([Reply::Allow, Reply::Deny("better not".to_owned())]);
    let end = bench.run(&bench.job("[[script:two]]"), &mut person);
    assert!(done(&end).contains("better not"), "{end:?}");
    assert_eq!((bench.text("one.txt"), bench.text("two.txt")), ("one\n".to_owned(), String::new()));
    let Ask::Permission { tool, text, input, .. } = &person.asks[0] else { panic!() };
    assert_eq!(tool, "Bash");
    assert_eq!(text, "echo one >> $PWD/one.txt");
    assert_eq!(input["command"], "echo one >> $PWD/one.txt");
    assert_ne!(person.asks[0].id(), person.asks[1].id());
}

#[test]
fn a_parked_permission_is_asked_again_by_another_process() {
    let script = Script::new("two").step(risky("one")).step(risky("two")).says("finished");
    let bench = Bench::with(Agent::Claude, [script]);
    let job = bench.job("[[script:two]]");
    let mut person = Person::new([Reply::Allow, Reply::Park]);
    let end = bench.run(&job, &mut person);
    let End::Parked { ask } = end else { panic!("{end:?}") };
    assert_eq!(person.used().input, 200, "{:?}", person.events);
    assert!(person.used().usd.is_some_and(|usd| usd > 0.0), "{:?}", person.events);
    let mut again = Person::new([Reply::Allow]);
    let end = bench.run(&resumed(&job, &person.session()), &mut again);
    assert_eq!(done(&end), "finished");
    assert_eq!(again.asks, [ask], "the same thing is asked, by the same name");
    assert_eq!(again.session(), person.session());
    assert_eq!(again.used().input, 200, "only what this run used");
    // Nothing was done twice.
    assert_eq!(
        (bench.text("one.txt").as_str(), bench.text("two.txt").as_str()),
        ("one\n", "two\n")
    );
}

#[test]
fn what_ran_beside_a_parked_permission_is_not_lost() {
    let both =
        Step::call("Bash", json!({ "command": "echo one >> $PWD/one.txt" })).tool(Tool::Named {
            name: "Bash".to_owned(),
            input: json!({ "command": "echo two >> $PWD/two.txt" }),
        });
    let again = Step::sh("echo two >> $PWD/two.txt");
    let bench =
        Bench::with(Agent::Claude, [Script::new("both").step(both).step(again).says("finished")]);
    let job = bench.job("[[script:both]]");
    let mut person = Person::new([Reply::Allow, Reply::Park]);
    let end = bench.run(&job, &mut person);
    let End::Parked { .. } = end else { panic!("{end:?}") };
    // The model learns what became of both, and asks for what was not done.
    let mut again = Person::new([Reply::Allow]);
    let end = bench.run(&resumed(&job, &person.session()), &mut again);
    assert_eq!(done(&end), "finished");
    assert_eq!(
        (bench.text("one.txt").as_str(), bench.text("two.txt").as_str()),
        ("one\n", "two\n")
    );
}

#[test]
fn questions_are_answered_refused_and_parked() {
    let script = Script::new("ask")
        .step(Step::ask("Which one?", &["red", "blue"]))
        .says("it was ${last_tool_result}");
    let bench = Bench::with(Agent::Claude, [script]);
    let job = bench.job("[[script:ask]]");
    let mut person = Person::new([Reply::Answer(vec!["blue".to_owned()])]);
    let end = bench.run(&job, &mut person);
    assert!(done(&end).contains("\"Which one?\"=\"blue\""), "{end:?}");
    let Ask::Question { questions, .. } = &person.asks[0] else { panic!() };
    assert_eq!(questions[0].text, "Which one?");
    let labels: Vec<_> = questions[0].choices.iter().map(|choice| choice.label.as_str()).collect();
    assert_eq!(labels, ["red", "blue"]);

    let mut person = Person::new([Reply::Deny("nobody is here".to_owned())]);
    let end = bench.run(&job, &mut person);
    assert!(done(&end).contains("nobody is here"), "{end:?}");

    let mut person = Person::new([Reply::Park]);
    let end = bench.run(&job, &mut person);
    let End::Parked { ask } = end else { panic!("{end:?}") };
    let asked = bench.llm.requests().len();
    let mut again = Person::new([Reply::Answer(vec!["red".to_owned()])]);
    let end = bench.run(&resumed(&job, &person.session()), &mut again);
    assert!(done(&end).contains("\"Which one?\"=\"red\""), "{end:?}");
    assert_eq!(again.asks, [ask]);
    assert_eq!(bench.llm.requests().len(), asked + 1, "parking costs no request");
    assert_eq!(again.used().input, 100);
}

#[test]
fn a_stop_in_the_middle_of_a_tool_leaves_no_process() {
    let bench = Bench::with(
        Agent::Claude,
        [Script::new("long").step(Step::sh("touch $PWD/begun; sleep 300"))],
    );
    let stop = Stop::new().unwrap();
    let mut person = Person::new([Reply::Allow]);
    let end = std::thread::scope(|scope| {
        scope.spawn(|| stop_at(&bench.work().join("begun"), &stop));
        bench.run_until(&bench.job("[[script:long]]"), &mut person, &stop)
    });
    assert_eq!(end, End::Stopped);
    assert_eq!(person.used().input, 100);
}

#[test]
fn what_its_model_refuses_is_told_apart() {
    for (name, step, expected) in [
        ("401", Step::default().fails(401, None), Trouble::Login),
        ("403", Step::default().fails(403, None), Trouble::Login),
        ("402", Step::default().fails(402, None), Trouble::Quota),
        ("429", Step::default().fails(429, None), Trouble::RateLimited { retry_after_ms: None }),
        ("529", Step::default().fails(529, None), Trouble::Overloaded),
        ("500", Step::default().fails(500, None), Trouble::Overloaded),
        ("400", Step::default().fails(400, None), Trouble::Other),
        ("cut", Step::default().drops(None), Trouble::Cut),
    ] {
        let bench = Bench::with(Agent::Claude, [Script::new("bad").step(step.clone()).step(step)]);
        let mut person = Person::default();
        let end = bench.run(&bench.job("[[script:bad]]"), &mut person);
        let End::Failed { kind, .. } = &end else { panic!("{name}: {end:?}") };
        assert_eq!(*kind, expected, "{name}: {end:?}");
        if name == "401" {
            assert_eq!(bench.llm.requests().len(), 1, "it is not tried again");
        }
    }
}

#[test]
fn a_failure_that_passes_is_waited_for() {
    let bench =
        Bench::with(Agent::Claude, [Script::new("busy").step(Step::text("hello").fails(529, 1))]);
    let mut person = Person::default();
    let end = bench.run(&bench.job("[[script:busy]]"), &mut person);
    assert_eq!(done(&end), "hello");
    let is_retry = |event: &&Event| matches!(event, Event::Retry { status: Some(529), .. });
    assert_eq!(person.events.iter().filter(is_retry).count(), 1, "{:?}", person.events);
}

#[test]
fn bounds_end_it() {
    let script = Script::new("two").step(risky("one")).step(risky("two")).says("finished");
    let bench = Bench::with(Agent::Claude, [script]);
    let job = bench.job("[[script:two]]");
    let with = |limits: Limits| Job { limits, ..job.clone() };
    let limits = &job.limits;
    for (limits, expected) in [
        (Limits { usd: Some(0.000_001), ..limits.clone() }, Trouble::Budget),
        (Limits { turns: Some(1), ..limits.clone() }, Trouble::Turns),
        (Limits { wall: Some(Duration::from_millis(100)), ..limits.clone() }, Trouble::TimedOut),
        (Limits { all_bytes: 100, ..limits.clone() }, Trouble::Flood),
    ] {
        let mut person = Person::new([Reply::Allow, Reply::Allow]);
        let end = bench.run(&with(limits), &mut person);
        let End::Failed { kind, .. } = &end else { panic!("{expected:?}: {end:?}") };
        assert_eq!(*kind, expected, "{end:?}");
    }
    let job =
        Job { session: Session::Resume("5e3f8a3c-0000-4000-8000-000000000000".into()), ..job };
    let end = bench.run(&job, &mut Person::default());
    assert!(matches!(end, End::Failed { kind: Trouble::SessionUnknown, .. }), "{end:?}");
}

#[test]
fn a_message_reaches_it_between_two_turns() {
    let script = Script::new("busy").step(risky("one")).says("finished");
    let bench = Bench::with(Agent::Claude, [script]);
    let mut person = Person::new([Reply::Allow]);
    person.messages = vec!["told at once".to_owned()];
    person.late = vec!["told on the way".to_owned()];
    let end = bench.run(&bench.job("[[script:busy]]"), &mut person);
    assert!(matches!(end, End::Done { .. }), "{end:?}");
    let last = bench.llm.requests().pop().unwrap();
    assert!(last.user.contains("told at once"), "{}", last.user);
    assert!(last.user.contains("told on the way"), "{}", last.user);
}

#[test]
fn its_tokens_are_bounded_but_its_last_answer_is_not_cut_off() {
    let write = |name: &str| Step::write(&format!("${{cwd}}/{name}"), "made\n");
    // It may go on before it is ended, but not to its end.
    let last = Step::text("finished").hold("last");
    let script = Script::new("work").step(write("one")).step(write("two")).step(last);
    let bench = Bench::with(Agent::Claude, [script]);
    let job = bench.job(&format!("[[script:work]] [[cwd={}]]", bench.work().display()));
    let bounded = |tokens| Job {
        limits: Limits { tokens: Some(tokens), ..job.limits.clone() },
        ..job.clone()
    };
    let mut person = Person::default();
    let end = bench.run(&bounded(200), &mut person);
    assert!(matches!(end, End::Failed { kind: Trouble::Budget, .. }), "{end:?}");
    assert_eq!(person.used().tokens(), 240, "what it used is told all the same");
    bench.llm.let_go("last");
    let end = bench.run(&bounded(300), &mut Person::default());
    assert_eq!(done(&end), "finished");
}
