//! Parses and renders Anthropic's Messages API, complete and streamed, which Claude Code uses.

use serde_json::{Value, json};

use super::conversation::{
    Conversation, ModelReply, ResponseBody, Speaker, content_text, entries, list, pieces,
};

/// The placeholder that Claude Code inserts for an answer that it was killed before. No model wrote it.
const INTERRUPTED_PLACEHOLDER: &str = "No response requested.";

pub(super) fn parse(body: &Value) -> Result<Conversation, String> {
    let mut conversation = Conversation {
        model: content_text(&body["model"]),
        system: content_text(&body["system"]),
        is_streamed: body["stream"] == true,
        ..Conversation::default()
    };
    for message in list(body, "messages")? {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("assistant") if content_text(content) == INTERRUPTED_PLACEHOLDER => {}
            Some("assistant") => conversation.add(Speaker::Assistant, content_text(content)),
            Some("system") => conversation.add_system(&content_text(content)),
            Some("user") => add_user(&mut conversation, content),
            role => return Err(format!("unknown role {role:?}")),
        }
    }
    for tool in entries(body, "tools") {
        conversation.add_tool(&tool["name"], false);
    }
    Ok(conversation)
}

/// Adds a user message; tool results are parts of user messages in this protocol.
fn add_user(conversation: &mut Conversation, content: &Value) {
    let Some(parts) = content.as_array() else {
        return conversation.add(Speaker::User, content_text(content));
    };
    for part in parts {
        let is_result = part["type"] == "tool_result";
        conversation.add(if is_result { Speaker::Tool } else { Speaker::User }, content_text(part));
    }
}

pub(super) fn render(conversation: &Conversation, reply: &ModelReply) -> ResponseBody {
    let content = blocks(reply);
    let stop = if reply.calls.is_empty() { "end_turn" } else { "tool_use" };
    let usage = json!({
        "input_tokens": reply.usage.input,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": reply.usage.cache_read,
        "output_tokens": reply.usage.output,
    });
    let mut message = json!({
        "id": format!("msg_{}", reply.id), "type": "message", "role": "assistant",
        "model": conversation.model, "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": usage,
    });
    if !conversation.is_streamed {
        return ResponseBody::Whole(message);
    }
    message["content"] = json!([]);
    message["stop_reason"] = Value::Null;
    message["usage"]["output_tokens"] = json!(1);
    let mut events =
        vec![("message_start", json!({ "type": "message_start", "message": message }))];
    for (index, block) in content.iter().enumerate() {
        add_block(&mut events, index, block);
    }
    let end = json!({ "stop_reason": stop, "stop_sequence": null });
    events
        .push(("message_delta", json!({ "type": "message_delta", "delta": end, "usage": usage })));
    events.push(("message_stop", json!({ "type": "message_stop" })));
    ResponseBody::Events(events)
}

fn blocks(reply: &ModelReply) -> Vec<Value> {
    let mut blocks = Vec::new();
    if !reply.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": reply.text }));
    }
    for call in &reply.calls {
        blocks.push(json!({
            "type": "tool_use", "id": format!("toolu_{}", call.id), "name": call.name,
            "input": call.input,
        }));
    }
    blocks
}

fn add_block(events: &mut Vec<(&'static str, Value)>, index: usize, block: &Value) {
    let mut empty = block.clone();
    let deltas: Vec<Value> = match block["text"].as_str() {
        Some(text) => {
            empty["text"] = json!("");
            let delta = |piece| json!({ "type": "text_delta", "text": piece });
            pieces(text).into_iter().map(delta).collect()
        }
        None => {
            empty["input"] = json!({});
            let input = block["input"].to_string();
            let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
            pieces(&input).into_iter().map(delta).collect()
        }
    };
    events.push((
        "content_block_start",
        json!({ "type": "content_block_start", "index": index, "content_block": empty }),
    ));
    for delta in deltas {
        events.push((
            "content_block_delta",
            json!({ "type": "content_block_delta", "index": index, "delta": delta }),
        ));
    }
    events.push(("content_block_stop", json!({ "type": "content_block_stop", "index": index })));
}

pub(super) fn error(status: u16, code: Option<&str>, message: &str) -> Value {
    let usual = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    json!({ "type": "error", "error": { "type": code.unwrap_or(usual), "message": message } })
}
