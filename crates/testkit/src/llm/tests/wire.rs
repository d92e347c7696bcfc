//! Each protocol reads the same conversation and says the same reply, whole and as a stream.

use super::*;

fn script() -> Script {
    let long = "Säge ".repeat(30);
    let step = Step { text: long, ..Step::sh("ls") };
    let step = step.usage(TokenCounts { input: 30, output: 7, cache_read: 12 });
    Script::new("s")
        .step(step)
        .step(Step::write("d/f", "x\n"))
        .step(Step::ask("Which?", &["a", "b"]))
}

/// What an answer says: its text, the calls as name and input, and the tokens in, cached and out.
type ParsedReply = (String, Vec<(String, Value)>, [u64; 3]);

fn parsed(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

fn tokens<const N: usize>(usage: &Value, paths: [&str; N]) -> [u64; N] {
    paths.map(|path| usage.pointer(path).and_then(Value::as_u64).unwrap())
}

fn anthropic(message: &Value) -> ParsedReply {
    let mut reply: ParsedReply = ParsedReply::default();
    for block in message["content"].as_array().unwrap() {
        match block["text"].as_str() {
            Some(text) => reply.0 += text,
            None => {
                reply.1.push((block["name"].as_str().unwrap().to_owned(), block["input"].clone()));
            }
        }
    }
    let places = ["/input_tokens", "/cache_read_input_tokens", "/output_tokens"];
    reply.2 = tokens(&message["usage"], places);
    reply
}

/// Puts a stream together as a client does.
fn anthropic_stream(events: &[Value]) -> ParsedReply {
    let mut message = events[0]["message"].clone();
    let mut blocks: Vec<(Value, String)> = Vec::new();
    for event in &events[1..] {
        match event["type"].as_str().unwrap() {
            "content_block_start" => blocks.push((event["content_block"].clone(), String::new())),
            "content_block_delta" => {
                let delta = &event["delta"];
                let text = delta["text"].as_str().or(delta["partial_json"].as_str()).unwrap();
                blocks[event["index"].as_u64().unwrap() as usize].1 += text;
            }
            "message_delta" => message["usage"] = event["usage"].clone(),
            _ => {}
        }
    }
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    let blocks = blocks.into_iter().map(|(mut block, text)| {
        if block["type"] == "text" {
            block["text"] = json!(text);
        } else {
            block["input"] = serde_json::from_str(&text).unwrap();
        }
        block
    });
    message["content"] = blocks.collect();
    anthropic(&message)
}

#[test]
fn anthropic_whole_and_streamed() {
    let llm = ScriptedLlm::start([script()]);
    let mut body = prompt(&json!([user("[[script:s]]")]));
    let whole = anthropic(&post(&llm, "/v1/messages?beta=true", &body).json());
    let input = json!({ "command": "ls", "description": "scripted" });
    assert_eq!(whole.0, "Säge ".repeat(30));
    assert_eq!((whole.1.as_slice(), whole.2), (&[("Bash".to_owned(), input)][..], [30, 12, 7]));
    body["stream"] = json!(true);
    let answer = post(&llm, "/v1/messages?beta=true", &body);
    assert!(answer.is_whole && answer.body.contains("event: message_start\n"), "{answer:?}");
    assert_eq!(anthropic_stream(&answer.events()), whole);
    let seen = llm.requests();
    assert_eq!((seen[0].protocol, seen[0].model.as_str()), (Some(Protocol::Anthropic), "m"));
    assert_eq!((seen[0].system.as_str(), seen[0].user.as_str()), ("Be kind.", "[[script:s]]"));
    assert_eq!(seen[0].tools, ["Bash", "Write", "AskUserQuestion"]);
    assert!(seen[0].has_auth && seen[0].path == "/v1/messages?beta=true");
}

fn responses(response: &Value) -> ParsedReply {
    let mut reply: ParsedReply = ParsedReply::default();
    for item in response["output"].as_array().unwrap() {
        match item["content"][0]["text"].as_str() {
            Some(text) => reply.0 += text,
            None => {
                let input =
                    item.get("input").cloned().unwrap_or_else(|| parsed(&item["arguments"]));
                let space = item["namespace"].as_str().unwrap_or_default();
                reply.1.push((format!("{space}{}", item["name"].as_str().unwrap()), input));
            }
        }
    }
    let cached = "/input_tokens_details/cached_tokens";
    reply.2 = tokens(&response["usage"], ["/input_tokens", cached, "/output_tokens"]);
    reply
}

#[test]
fn responses_whole_and_streamed() {
    let llm = ScriptedLlm::start([
        script(),
        Script::new("mcp").step(Step::call("mcp__mow__report", json!({ "a": 1 }))),
    ]);
    let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": "input_text", "text": text }] });
    let group = json!({ "type": "namespace", "name": "mcp__mow__", "tools": [{ "type": "function", "name": "report" }] });
    let mut body = json!({
        "model": "gpt", "instructions": "Be brief.",
        "input": [message("developer", "Be kind."), message("user", "[[script:s]]")],
        "tools": [{ "type": "function", "name": "exec_command" }, { "type": "custom", "name": "apply_patch" },
            group, { "type": "web_search" }],
    });
    let whole = responses(&post(&llm, "/v1/responses", &body).json());
    assert_eq!(whole.1, [("exec_command".to_owned(), json!({ "cmd": "ls" }))]);
    assert_eq!(whole.2, [42, 12, 7]);
    body["stream"] = json!(true);
    let events = post(&llm, "/v1/responses", &body).events();
    assert_eq!(responses(&events.last().unwrap()["response"]), whole);
    let deltas = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    assert_eq!(deltas.map(|event| event["delta"].as_str().unwrap()).collect::<String>(), whole.0);
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    assert_eq!(done.count(), 2);
    // What it turn and what it called are one turn; the result is a turn of its own.
    let items = body["input"].as_array_mut().unwrap();
    items.push(message("assistant", "Säge"));
    items.push(json!({ "type": "function_call", "name": "exec_command", "arguments": "{}" }));
    items.push(json!({ "type": "function_call_output", "output": "listed" }));
    let events = post(&llm, "/v1/responses", &body).events();
    let patch = "*** Begin Patch\n*** Add File: d/f\n+x\n*** End Patch\n";
    let second = responses(&events.last().unwrap()["response"]);
    assert_eq!(second.1, [("apply_patch".to_owned(), json!(patch))]);
    let seen = llm.requests().pop().unwrap();
    assert_eq!((seen.protocol, seen.step), (Some(Protocol::Responses), 1));
    assert_eq!((seen.system.as_str(), seen.results[0].as_str()), ("Be brief.\nBe kind.", "listed"));
    assert_eq!(seen.tools, ["exec_command", "apply_patch", "mcp__mow__report"]);
    let tools = std::mem::take(&mut body["tools"]);
    let additional = json!({ "type": "additional_tools", "role": "developer", "tools": tools });
    body["input"] = json!([additional, message("user", "[[script:mcp]]")]);
    let events = post(&llm, "/v1/responses", &body).events();
    let called = responses(&events.last().unwrap()["response"]).1;
    assert_eq!(called, [("mcp__mow__report".to_owned(), json!({ "a": 1 }))]);
}

#[test]
fn chat_whole_and_streamed() {
    let llm = ScriptedLlm::start([script()]);
    let tool = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let mut body = json!({
        "model": "any", "tools": [tool("bash"), tool("write"), tool("question")],
        "messages": [{ "role": "system", "content": "Be kind." }, user("[[script:s]]")],
    });
    let whole = post(&llm, "/v1/chat/completions", &body).json();
    let message = &whole["choices"][0]["message"];
    let call =
        |call: &Value| (call["function"]["name"].clone(), parsed(&call["function"]["arguments"]));
    let expected = (json!("bash"), json!({ "command": "ls", "description": "scripted" }));
    assert_eq!(call(&message["tool_calls"][0]), expected);
    let cached = "/prompt_tokens_details/cached_tokens";
    let places = ["/prompt_tokens", cached, "/completion_tokens"];
    assert_eq!(tokens(&whole["usage"], places), [42, 12, 7]);
    body["stream"] = json!(true);
    let answer = post(&llm, "/v1/chat/completions", &body);
    assert!(answer.body.ends_with("data: [DONE]\n\n"), "{answer:?}");
    let events = answer.events();
    let deltas: Vec<&Value> = events.iter().map(|event| &event["choices"][0]["delta"]).collect();
    let text: String = deltas.iter().filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!(text, message["content"].as_str().unwrap());
    let called = deltas.iter().find_map(|delta| delta.get("tool_calls")).unwrap();
    assert_eq!(call(&called[0]), expected);
    let last = events.last().unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(last["usage"], whole["usage"]);
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({ "role": "assistant", "content": "" }));
    messages.push(json!({ "role": "tool", "content": "listed" }));
    body["stream"] = json!(false);
    let second = post(&llm, "/v1/chat/completions", &body).json();
    let expected = (json!("write"), json!({ "filePath": "d/f", "content": "x\n" }));
    assert_eq!(call(&second["choices"][0]["message"]["tool_calls"][0]), expected);
}

#[test]
fn gemini_whole_and_streamed() {
    let llm = ScriptedLlm::start([script()]);
    let turn = |role: &str, part: Value| json!({ "role": role, "parts": [part] });
    let mut body = json!({
        "systemInstruction": { "parts": [{ "text": "Be kind." }] },
        "contents": [turn("user", json!({ "text": "[[script:s]]" }))],
        "tools": [{ "functionDeclarations": [{ "name": "run_shell_command" }, { "name": "write_file" }] }],
    });
    let whole = post(&llm, "/v1beta/models/pro:generateContent", &body).json();
    let parts =
        |answer: &Value| answer["candidates"][0]["content"]["parts"].as_array().unwrap().clone();
    let call = parts(&whole).pop().unwrap()["functionCall"].clone();
    assert_eq!(call["name"], "run_shell_command");
    assert_eq!(call["args"], json!({ "command": "ls", "description": "scripted" }));
    let places = ["/promptTokenCount", "/cachedContentTokenCount", "/candidatesTokenCount"];
    assert_eq!(tokens(&whole["usageMetadata"], places), [42, 12, 7]);
    let events = post(&llm, "/v1beta/models/pro:streamGenerateContent?alt=sse", &body).events();
    let streamed: Vec<Value> = events.iter().flat_map(parts).collect();
    assert!(events.len() > 2 && streamed.len() == parts(&whole).len());
    let text: String = streamed.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(text, "Säge ".repeat(30));
    assert_eq!(streamed.last().unwrap()["functionCall"]["name"], "run_shell_command");
    assert_eq!(events.last().unwrap()["candidates"][0]["finishReason"], "STOP");
    let contents = body["contents"].as_array_mut().unwrap();
    contents.push(turn("model", json!({ "functionCall": {} })));
    let result = json!({ "functionResponse": { "response": { "output": "listed" } } });
    contents.push(turn("user", result));
    let second = post(&llm, "/v1beta/models/pro:generateContent", &body).json();
    let args = &parts(&second)[0]["functionCall"]["args"];
    assert_eq!(*args, json!({ "file_path": "d/f", "content": "x\n" }));
    let seen = llm.requests().pop().unwrap();
    assert_eq!((seen.model.as_str(), seen.results[0].as_str()), ("pro", "listed"));
    assert_eq!((seen.system.as_str(), seen.step), ("Be kind.", 1));
}

#[test]
fn questions_take_the_form_of_each_agent() {
    let ask = || Script::new("s").step(Step::ask("Which?", &["a", "b"]));
    let llm = ScriptedLlm::start([ask()]);
    let choices =
        json!([{ "label": "a", "description": "a" }, { "label": "b", "description": "b" }]);
    for (tool, more) in [
        ("AskUserQuestion", "multiSelect"),
        ("request_user_input", "id"),
        ("ask_user", "type"),
        ("question", "header"),
    ] {
        let mut body = prompt(&json!([user("[[script:s]]")]));
        body["tools"] = json!([{ "name": tool }]);
        let called = post(&llm, "/v1/messages", &body).json()["content"][0].clone();
        let asked = &called["input"]["questions"][0];
        assert_eq!((&called["name"], &asked["question"]), (&json!(tool), &json!("Which?")));
        assert_eq!(asked["options"], choices);
        assert!(asked.get(more).is_some(), "{called}");
    }
}

#[test]
fn files_are_written_by_the_shell_where_there_is_no_tool_for_it() {
    let llm = ScriptedLlm::start([Script::new("s").step(Step::write("a b/it's", "say 'hi'\n"))]);
    let dir = tempfile::tempdir().unwrap();
    let mut body = prompt(&json!([user("[[script:s]]")]));
    body["tools"] = json!([{ "name": "shell_command" }]);
    let called = post(&llm, "/v1/messages", &body).json()["content"][0].clone();
    let command = called["input"]["command"].as_str().unwrap();
    let ran = std::process::Command::new("sh").args(["-c", command]).current_dir(&dir).status();
    assert!(ran.unwrap().success());
    let written = std::fs::read_to_string(dir.path().join("a b/it's")).unwrap();
    assert_eq!(written, "say 'hi'\n");
}

#[test]
fn a_dropped_answer_ends_in_the_middle() {
    let llm = ScriptedLlm::start([Script::new("s").step(Step::text(&"x".repeat(500)).drops(3))]);
    let mut body = prompt(&json!([user("[[script:s]]")]));
    let whole = post(&llm, "/v1/messages", &body);
    assert!(!whole.is_whole && whole.body.contains("msg_"), "{whole:?}");
    body["stream"] = json!(true);
    let streamed = post(&llm, "/v1/messages", &body);
    assert!(!streamed.is_whole && streamed.body.contains("text_delta"), "{streamed:?}");
    assert!(!streamed.body.contains("message_stop"));
    let gemini = json!({
        "contents": [{ "parts": [{ "text": "[[script:s]]" }] }],
        "tools": [{ "functionDeclarations": [{ "name": "x" }] }],
    });
    let streamed = post(&llm, "/v1beta/models/pro:streamGenerateContent", &gemini);
    assert!(!streamed.is_whole && !streamed.body.contains("STOP"), "{streamed:?}");
    assert!(post(&llm, "/v1/messages", &body).is_whole, "the fourth time it is not cut");
}
