//! What is malformed is refused with a sentence, and the server goes on.

use super::*;

/// Tells whether the server still answers.
fn lives(llm: &ScriptedLlm) -> bool {
    post(llm, "/v1/messages", &prompt(&json!([user("[[script:s]]")]))).status == 200
}

fn server() -> ScriptedLlm {
    ScriptedLlm::start([Script::new("s").says("hi")])
}

#[test]
fn malformed_requests_are_refused() {
    let llm = server();
    let chunked = "POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n";
    let cases: Vec<(Vec<u8>, u16)> = vec![
        (b"\r\n".to_vec(), 400),
        (b"GET / HTTP/1.1 x\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/2.0\r\n\r\n".to_vec(), 400),
        (b"\xff\xfe / HTTP/1.1\r\n\r\n".to_vec(), 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n".to_vec(), 400),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: -1\r\n\r\n".to_vec(), 400),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n".to_vec(), 413),
        (format!("{chunked}xyz\r\n").into(), 400),
        (format!("{chunked}ffffffffffffffff\r\n").into(), 413),
        (format!("{chunked}2\r\n[]\r\nfffffffffffffff\r\n").into(), 413),
        (format!("GET / HTTP/1.1\r\nx: {}\r\n", "y".repeat(70_000)).into(), 431),
    ];
    for (bytes, status) in cases {
        let mut stream = connect(&llm);
        // What is refused early may not be read to its end.
        stream.get_mut().write_all(&bytes).ok();
        let mut answer = String::new();
        stream.read_line(&mut answer).ok();
        let about = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{about:?}: {answer:?}");
    }
    assert!(lives(&llm));
}

#[test]
fn bodies_that_are_no_prompts_are_refused() {
    let llm = server();
    let paths = ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/m:generateContent"];
    for path in paths {
        for body in
            ["", "{", "[]", "3", "\"x\"", "{}", "{\"messages\":{},\"input\":{},\"contents\":1}"]
        {
            let length = body.len();
            let text = format!("POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}");
            let answer = send(&mut connect(&llm), text.as_bytes());
            assert_eq!(answer.status, 400, "{path} {body}");
            let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
            assert_eq!(llm.requests().pop().unwrap().refused, Some(message));
        }
    }
    assert!(lives(&llm));
}

#[test]
fn odd_prompts_are_no_trouble() {
    let llm = server();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let length = deep.len();
    let text = format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{deep}");
    assert_eq!(send(&mut connect(&llm), text.as_bytes()).status, 400);
    let odd = [
        json!({ "messages": [3, null, "x"] }),
        json!({ "messages": [{ "role": "emperor" }] }),
        json!({ "messages": [{ "role": "user", "content": [3, { "type": "tool_result" }] }], "tools": 3 }),
        json!({ "messages": [], "tools": [{}, null], "model": 3, "system": [[{}]] }),
    ];
    let statuses = odd.map(|body| post(&llm, "/v1/messages", &body).status);
    assert_eq!(statuses, [400, 400, 200, 200]);
    let items =
        json!([null, {}, { "type": 3 }, { "type": "function_call_output" }, { "type": "message" }]);
    let body = json!({ "input": items, "tools": [{ "type": "namespace" }, 3] });
    assert_eq!(post(&llm, "/responses", &body).status, 200);
    let body = json!({ "contents": [{ "parts": 3 }, { "role": "user", "parts": [null] }] });
    assert_eq!(post(&llm, "http://other:80/x:generateContent", &body).status, 404);
    assert_eq!(post(&llm, "/x:generateContent", &body).status, 200);
    assert!(lives(&llm));
}

#[test]
fn scripts_that_do_not_fit_are_refused_with_what_is_wrong() {
    let llm = server();
    let absent = vec!["Nothing".to_owned(), "None".to_owned()];
    let step = Step::default().tool(Tool::FirstOf { names: absent, input: Value::Null });
    llm.add(Script::new("tool").step(step.hold("never")));
    for (name, complaint) in [("absent", "no script is called \"absent\""), ("tool", "\"None\"")] {
        let body = prompt(&json!([user(&format!("[[script:{name}]]"))]));
        let answer = post(&llm, "/v1/messages", &body);
        assert_eq!(answer.status, 400);
        let refused = llm.requests().pop().unwrap().refused.unwrap();
        assert!(
            refused.contains(complaint) && answer.body.contains("invalid_request"),
            "{refused}"
        );
    }
}

#[test]
fn what_agents_ask_on_the_side_is_answered() {
    let llm = server();
    let side = json!({ "messages": [user("a title for [[script:s]], please")] });
    let title = post(&llm, "/v1/messages", &side).json();
    assert_eq!(title["content"][0]["text"], "ok");
    assert_eq!(llm.requests()[0].script, None);
    llm.add(Script { toolless: true, ..Script::new("bare").says("bare") });
    let bare = json!({ "messages": [user("[[script:bare]]")] });
    assert_eq!(post(&llm, "/v1/messages", &bare).json()["content"][0]["text"], "bare");
    assert!(post(&llm, "/v1/messages/count_tokens", &side).json()["input_tokens"].is_u64());
    // All on one connection, as agents do.
    let mut stream = connect(&llm);
    let models = send(&mut stream, b"GET /v1/models?limit=1 HTTP/1.1\r\n\r\n");
    assert_eq!(models.json()["data"][0]["id"], "scripted");
    assert_eq!(send(&mut stream, b"HEAD / HTTP/1.1\r\n\r\n").body, "");
    assert_eq!(send(&mut stream, b"GET /v2/secrets HTTP/1.1\r\n\r\n").status, 404);
    assert_eq!(send(&mut stream, b"CONNECT far.away:443 HTTP/1.1\r\n\r\n").status, 404);
    let chunked = "transfer-encoding: chunked\r\nconnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
    let last = format!("POST /v1/messages/count_tokens HTTP/1.1\r\n{chunked}");
    assert_eq!(send(&mut stream, last.as_bytes()).json()["input_tokens"], 1);
    assert!(is_closed(&mut stream));
    let paths: Vec<_> = llm.requests().into_iter().skip(3).map(|request| request.path).collect();
    let expected =
        ["/v1/models?limit=1", "/", "/v2/secrets", "far.away:443", "/v1/messages/count_tokens"];
    assert_eq!(paths, expected);
}

#[test]
fn one_connection_too_many_is_closed_and_the_others_are_served() {
    let llm = server();
    let mut streams: Vec<_> = (0..256).map(|_| connect(&llm)).collect();
    // Each of them is known once it was answered.
    for stream in &mut streams {
        assert_eq!(send(stream, b"GET / HTTP/1.1\r\n\r\n").status, 200);
    }
    let mut one_more = connect(&llm);
    one_more.get_mut().write_all(b"GET / HTTP/1.1\r\n\r\n").ok();
    assert!(is_closed(&mut one_more));
    assert_eq!(send(&mut streams[0], b"GET / HTTP/1.1\r\n\r\n").status, 200);
}
