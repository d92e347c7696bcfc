//! Which step answers follows from the request alone; failures and holds are done as they are said.

use std::thread;

use super::*;

fn three() -> Script {
    Script::new("s").says("one").says("two").says("three")
}

#[test]
fn the_step_is_the_number_of_assistant_turns_since_the_marker() {
    let llm = ScriptedLlm::start([three(), Script::new("other").says("else")]);
    let model = json!({ "role": "assistant", "content": "x" });
    // By what Claude Code goes on with after it was killed while it waited for an answer.
    let stand_in = json!({ "role": "assistant", "content": [{ "type": "text", "text": "No response requested." }] });
    let go = user("go [[script:s]]");
    let cases = [
        (json!([go]), "one"),
        (json!([go, model, user("on")]), "two"),
        (json!([go, model, model, user("on")]), "two"),
        (json!([go, model, user("on"), model, user("on")]), "three"),
        (json!([go, model, user("x"), stand_in, user("on")]), "two"),
        (json!([user("hi"), model, go]), "one"),
        (json!([go, model, user("[[script:s]] again")]), "one"),
        (json!([user("[[script:other]] or rather [[script:s]]")]), "one"),
        (json!([go, model, user("[[script:other]]")]), "else"),
        (json!([go, model, user(""), model, user(""), model, user("")]), "done"),
    ];
    // In any order, twice: nothing is remembered.
    for (messages, expected) in cases.iter().chain(cases.iter().rev()) {
        assert_eq!(say(&llm, messages), *expected, "{messages}");
    }
}

#[test]
fn only_what_the_user_says_names_a_script() {
    let llm = ScriptedLlm::start([three(), Script::new("other").says("else")]);
    let result = json!({ "type": "tool_result", "content": "[[script:other]] [[k=v]]" });
    let messages = json!([
        user("[[script:s]]"),
        { "role": "assistant", "content": "[[script:other]]" },
        { "role": "user", "content": [result] },
    ]);
    assert_eq!(say(&llm, &messages), "two");
    let request = llm.requests().pop().unwrap();
    assert_eq!(request.results, ["[[script:other]] [[k=v]]"]);
    assert_eq!((request.script.as_deref(), request.step), (Some("s"), 1));
}

#[test]
fn without_a_marker_the_first_script_whose_texts_are_there_answers() {
    let llm = ScriptedLlm::start([
        Script::new("unasked").says("never"),
        Script::new("planner 2").when("role: planner").when("phase 2").says("plan 2"),
        Script::new("planner").when("role: planner").says("plan"),
        Script::new("kind").when("Be kind").says("kind"),
    ]);
    assert_eq!(say(&llm, &json!([user("role: planner, phase 2")])), "plan 2");
    assert_eq!(say(&llm, &json!([user("role: planner"), user("phase 1")])), "plan");
    assert_eq!(say(&llm, &json!([user("whatever")])), "kind");
    // What comes later in the conversation does not change the script.
    let later = json!([user("x"), { "role": "assistant", "content": "" }, user("role: planner")]);
    assert_eq!(say(&llm, &later), "done");
    let names: Vec<_> = llm.requests().into_iter().map(|request| request.script.unwrap()).collect();
    assert_eq!(names, ["planner 2", "planner", "kind", "kind"]);
}

#[test]
fn scripts_of_one_name_are_told_apart_by_what_they_ask_for() {
    let llm = ScriptedLlm::start([
        Script::new("phase").when("role: checker").says("looks good"),
        Script::new("phase").says("did it"),
    ]);
    assert_eq!(say(&llm, &json!([user("role: checker [[script:phase]]")])), "looks good");
    assert_eq!(say(&llm, &json!([user("role: executor [[script:phase]]")])), "did it");
}

#[test]
fn settings_and_results_are_filled_in_and_other_variables_stay() {
    let llm = ScriptedLlm::start([Script::new("s")
        .step(Step::sh("cd ${dir} && echo ${HOME} ${dir}"))
        .says("it said ${last_tool_result}")]);
    let go = user("[[script:s]] [[dir=a b]] [[unused=${dir}]]");
    let first = post(&llm, "/v1/messages", &prompt(&json!([go]))).json();
    assert_eq!(first["content"][0]["input"]["command"], "cd a b && echo ${HOME} a b");
    let result =
        json!({ "type": "tool_result", "content": [{ "type": "text", "text": "${dir}" }] });
    let messages = json!([
        go,
        { "role": "assistant", "content": first["content"] },
        { "role": "user", "content": [result] },
    ]);
    assert_eq!(say(&llm, &messages), "it said ${dir}");
}

#[test]
fn a_failure_comes_as_often_as_it_is_said() {
    let step = Step { retry_after: Some(7), ..Step::text("at last").fails(529, 2) };
    let llm = ScriptedLlm::start([
        Script::new("s").step(step),
        Script::new("never")
            .step(Step { code: Some("gone".to_owned()), ..Step::default().fails(401, None) }),
    ]);
    let body = prompt(&json!([user("[[script:s]]")]));
    for _ in 0..2 {
        let answer = post(&llm, "/v1/messages", &body);
        assert_eq!(answer.status, 529);
        assert!(answer.head.contains("retry-after: 7\r\n"), "{answer:?}");
        assert_eq!(answer.json()["error"]["type"], "overloaded_error");
    }
    assert_eq!(say(&llm, &json!([user("[[script:s]]")])), "at last");
    for _ in 0..3 {
        let answer = post(&llm, "/v1/messages", &prompt(&json!([user("[[script:never]]")])));
        assert_eq!((answer.status, &answer.json()["error"]["type"]), (401, &json!("gone")));
    }
}

#[test]
fn what_is_held_is_noted_at_once_and_answered_when_let_go() {
    let llm = ScriptedLlm::start([Script::new("s").step(Step::text("now").hold("gate-${n}"))]);
    let mut streams: Vec<_> = ["1", "2"]
        .map(|n| {
            let mut stream = connect(&llm);
            let body = prompt(&json!([user(&format!("[[script:s]] [[n={n}]]"))]));
            stream.get_mut().write_all(&request("/v1/messages", &body)).unwrap();
            stream
        })
        .into();
    for n in ["1", "2"] {
        llm.wait_for(|request| request.user.contains(&format!("[[n={n}]]")), PATIENCE);
    }
    llm.release("gate-2");
    assert_eq!(read_answer(&mut streams[1]).status, 200);
    // The other one is still held: nothing came on its connection.
    streams[0].get_ref().set_nonblocking(true).unwrap();
    let silence = streams[0].fill_buf().map(<[u8]>::len).unwrap_err();
    assert_eq!(silence.kind(), std::io::ErrorKind::WouldBlock);
    streams[0].get_ref().set_nonblocking(false).unwrap();
    llm.release("gate-1");
    assert_eq!(read_answer(&mut streams[0]).json()["content"][0]["text"], "now");
    // Whoever was killed and asks again is not held again.
    assert_eq!(say(&llm, &json!([user("[[script:s]] [[n=1]]")])), "now");
}

#[test]
fn waiting_sees_what_comes_later_and_the_end_frees_whoever_is_held() {
    let llm = ScriptedLlm::start([Script::new("s").step(Step::default().hold("for ever"))]);
    let (mut held, mut idle) = (connect(&llm), connect(&llm));
    assert_eq!(send(&mut idle, b"GET / HTTP/1.1\r\n\r\n").status, 200);
    let body = request("/v1/messages", &prompt(&json!([user("[[script:s]]")])));
    let asking = thread::spawn(move || {
        held.get_mut().write_all(&body).unwrap();
        is_closed(&mut held)
    });
    let seen = llm.wait_for(|request| request.script.as_deref() == Some("s"), PATIENCE);
    assert!(seen.has_auth);
    drop(llm);
    assert!(asking.join().unwrap() && is_closed(&mut idle));
}

#[test]
fn scripts_can_be_read() {
    let text = r#"{"name": "s", "when": ["a"], "steps": [
        {"text": "t", "tools": [{"sh": {"cmd": "ls"}}, {"name": "Read", "input": {"p": 1}},
            {"names": ["A", "B"]}, {"write": {"path": "p", "content": "c"}}],
         "delay_ms": 3, "usage": {"input": 5}},
        {"status": 429, "times": 1, "retry_after": 2}, {"hold": "h", "drop": true}]}"#;
    let script = Script::parse_json(text).unwrap();
    assert_eq!(script.steps[0].usage, TokenCounts { input: 5, ..TokenCounts::default() });
    let ls = Tool::Portable(Portable::Sh { cmd: "ls".to_owned() });
    assert_eq!(script.steps[0].tools[0], ls);
    let names = vec!["A".to_owned(), "B".to_owned()];
    assert_eq!(script.steps[0].tools[2], Tool::FirstOf { names, input: Value::Null });
    assert_eq!(script.steps[1], Step { retry_after: Some(2), ..Step::default().fails(429, 1) });
    assert_eq!(script.steps[2], Step::default().hold("h").drops(None));
    assert!(Script::parse_json(r#"{"steps": [{"txet": ""}]}"#).is_err());
}
