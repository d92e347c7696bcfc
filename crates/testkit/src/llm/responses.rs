//! Parses and renders OpenAI's Responses API, complete and streamed, which Codex uses.

use serde_json::{Value, json};

use super::conversation::{
    Conversation, ModelReply, ResponseBody, Speaker, ToolCall, content_text, entries, pieces,
};

pub(super) fn parse(body: &Value) -> Result<Conversation, String> {
    let mut conversation = Conversation {
        model: content_text(&body["model"]),
        system: content_text(&body["instructions"]),
        is_streamed: body["stream"] == true,
        ..Conversation::default()
    };
    match &body["input"] {
        Value::String(text) => conversation.add(Speaker::User, text.clone()),
        Value::Array(items) => items.iter().for_each(|item| add_item(&mut conversation, item)),
        _ => return Err("`input` must be a text or a list".to_owned()),
    }
    add_offers(&mut conversation, body);
    Ok(conversation)
}

fn add_offers(conversation: &mut Conversation, holder: &Value) {
    for tool in entries(holder, "tools") {
        match tool["name"].as_str().filter(|_| tool["type"] == "namespace") {
            Some(space) => entries(tool, "tools")
                .for_each(|tool| conversation.add_namespaced_tool(space, tool)),
            None => conversation.add_tool(&tool["name"], tool["type"] == "custom"),
        }
    }
}

fn add_item(conversation: &mut Conversation, item: &Value) {
    let text = content_text(&item["content"]);
    match (item["type"].as_str().unwrap_or("message"), item["role"].as_str()) {
        ("message", Some("user")) => conversation.add(Speaker::User, text),
        ("message", Some("assistant")) => conversation.add(Speaker::Assistant, text),
        ("message", _) => conversation.add_system(&text),
        // Some models get their tools as part of the conversation.
        ("additional_tools", _) => add_offers(conversation, item),
        (kind, _) if kind.ends_with("_call") => conversation.add(Speaker::Assistant, String::new()),
        (kind, _) if kind.ends_with("_output") => {
            conversation.add(Speaker::Tool, content_text(&item["output"]));
        }
        _ => {}
    }
}

pub(super) fn render(conversation: &Conversation, reply: &ModelReply) -> ResponseBody {
    let items = items(reply);
    let usage = &reply.usage;
    let input = usage.input + usage.cache_read;
    let mut response = json!({
        "id": format!("resp_{}", reply.id), "object": "response", "created_at": 0,
        "model": conversation.model, "status": "completed", "output": items,
        "usage": {
            "input_tokens": input,
            "input_tokens_details": { "cached_tokens": usage.cache_read },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + usage.output,
        },
    });
    if !conversation.is_streamed {
        return ResponseBody::Whole(response);
    }
    let completed = json!({ "type": "response.completed", "response": response });
    response["status"] = json!("in_progress");
    response["output"] = json!([]);
    response["usage"] = Value::Null;
    let mut events =
        vec![("response.created", json!({ "type": "response.created", "response": response }))];
    for (index, item) in items.iter().enumerate() {
        add_events(&mut events, index, item);
    }
    events.push(("response.completed", completed));
    ResponseBody::Events(events)
}

fn items(reply: &ModelReply) -> Vec<Value> {
    let mut items = Vec::new();
    if !reply.text.is_empty() {
        let part = json!({ "type": "output_text", "text": reply.text, "annotations": [] });
        items.push(json!({
            "type": "message", "id": format!("msg_{}", reply.id), "role": "assistant",
            "status": "completed", "content": [part],
        }));
    }
    items.extend(reply.calls.iter().map(item_of_call));
    items
}

fn item_of_call(call: &ToolCall) -> Value {
    let mut item = json!({
        "type": "function_call", "id": format!("fc_{}", call.id),
        "call_id": format!("call_{}", call.id), "name": call.name, "status": "completed",
    });
    if let Some(space) = &call.space {
        item["namespace"] = json!(space);
    }
    match call.input.as_str() {
        Some(text) => {
            item["type"] = json!("custom_tool_call");
            item["input"] = json!(text);
        }
        None => item["arguments"] = json!(call.input.to_string()),
    }
    item
}

fn add_events(events: &mut Vec<(&'static str, Value)>, index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    if item["type"] == "message" {
        begun["content"] = json!([]);
    }
    let mut add = |name: &'static str, mut event: Value| {
        event["type"] = json!(name);
        event["output_index"] = json!(index);
        events.push((name, event));
    };
    add("response.output_item.added", json!({ "item": begun }));
    let id = &item["id"];
    if let Some(text) = item["content"][0]["text"].as_str() {
        let part = json!({ "type": "output_text", "text": "", "annotations": [] });
        let place = json!({ "item_id": id, "content_index": 0 });
        let with = |key: &str, value: Value| {
            let mut event = place.clone();
            event[key] = value;
            event
        };
        add("response.content_part.added", with("part", part));
        for piece in pieces(text) {
            add("response.output_text.delta", with("delta", json!(piece)));
        }
        add("response.output_text.done", with("text", json!(text)));
    } else if let Some(arguments) = item["arguments"].as_str() {
        let event = json!({ "item_id": id, "arguments": arguments });
        add("response.function_call_arguments.done", event);
    }
    add("response.output_item.done", json!({ "item": item }));
}
