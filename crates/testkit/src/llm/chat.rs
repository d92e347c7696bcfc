//! Parses and renders OpenAI's Chat Completions API, complete and streamed, which OpenCode and others uses.

use serde_json::{Value, json};

use super::conversation::{
    Conversation, ModelReply, ResponseBody, Speaker, content_text, entries, list, pieces,
};

pub(super) fn parse(body: &Value) -> Result<Conversation, String> {
    let mut conversation = Conversation {
        model: content_text(&body["model"]),
        is_streamed: body["stream"] == true,
        ..Conversation::default()
    };
    for message in list(body, "messages")? {
        let text = content_text(&message["content"]);
        match message["role"].as_str() {
            Some("user") => conversation.add(Speaker::User, text),
            Some("assistant") => conversation.add(Speaker::Assistant, text),
            Some("tool") => conversation.add(Speaker::Tool, text),
            Some("system" | "developer") => conversation.add_system(&text),
            role => return Err(format!("unknown role {role:?}")),
        }
    }
    for tool in entries(body, "tools") {
        conversation.add_tool(&tool["function"]["name"], false);
    }
    Ok(conversation)
}

pub(super) fn render(conversation: &Conversation, reply: &ModelReply) -> ResponseBody {
    let calls = (0..).zip(&reply.calls).map(|(index, call): (usize, _)| {
        json!({
            "index": index, "id": format!("call_{}", call.id), "type": "function",
            "function": { "name": call.name, "arguments": call.input.to_string() },
        })
    });
    let calls: Vec<Value> = calls.collect();
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = &reply.usage;
    let input = usage.input + usage.cache_read;
    let usage = json!({
        "prompt_tokens": input,
        "completion_tokens": usage.output,
        "total_tokens": input + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read },
    });
    let head = json!({ "id": format!("chatcmpl-{}", reply.id), "created": 0, "model": conversation.model });
    if !conversation.is_streamed {
        let mut whole = head;
        let message = json!({ "role": "assistant", "content": reply.text, "tool_calls": calls });
        whole["object"] = json!("chat.completion");
        whole["choices"] = json!([{ "index": 0, "message": message, "finish_reason": finish }]);
        whole["usage"] = usage;
        return ResponseBody::Whole(whole);
    }
    let chunk = |delta: Value, finish: Option<&str>| {
        let mut chunk = head.clone();
        chunk["object"] = json!("chat.completion.chunk");
        chunk["choices"] = json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
        ("", chunk)
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    let texts = pieces(&reply.text).into_iter().map(|piece| json!({ "content": piece }));
    events.extend(texts.map(|delta| chunk(delta, None)));
    events.extend(calls.iter().map(|call| chunk(json!({ "tool_calls": [call] }), None)));
    let mut last = chunk(json!({}), Some(finish));
    last.1["usage"] = usage;
    events.push(last);
    events.push(("", json!("[DONE]")));
    ResponseBody::Events(events)
}

/// Returns an error in the format of both OpenAI protocols.
pub(super) fn error(status: u16, code: Option<&str>, message: &str) -> Value {
    let (kind, usual) = match status {
        401 => ("invalid_request_error", "invalid_api_key"),
        400..=428 => ("invalid_request_error", "bad_request"),
        429 => ("requests", "rate_limit_exceeded"),
        _ => ("server_error", "server_error"),
    };
    let code = code.unwrap_or(usual);
    json!({ "error": { "message": message, "type": kind, "code": code, "param": null } })
}
