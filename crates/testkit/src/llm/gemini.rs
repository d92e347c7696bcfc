//! Parses and renders Google's Gemini API, complete and streamed, which Gemini CLI uses.

use serde_json::{Value, json};

use super::conversation::{
    Conversation, ModelReply, ResponseBody, Speaker, content_text, entries, list, pieces,
};

/// Parses a request; the path names the model and whether the answer is streamed.
pub(super) fn parse(path: &str, body: &Value) -> Result<Conversation, String> {
    let (model, method) =
        path.rsplit('/').next().and_then(|last| last.split_once(':')).unwrap_or_default();
    let mut conversation = Conversation {
        model: model.to_owned(),
        system: content_text(&body["systemInstruction"]),
        is_streamed: method.starts_with("stream"),
        ..Conversation::default()
    };
    for content in list(body, "contents")? {
        match content["role"].as_str() {
            Some("model") => conversation.add(Speaker::Assistant, content_text(content)),
            Some("user") | None => add_user(&mut conversation, content),
            role => return Err(format!("unknown role {role:?}")),
        }
    }
    for tool in entries(body, "tools") {
        entries(tool, "functionDeclarations")
            .for_each(|tool| conversation.add_tool(&tool["name"], false));
    }
    Ok(conversation)
}

/// Adds a user message; tool results are parts of user messages in this protocol.
fn add_user(conversation: &mut Conversation, content: &Value) {
    for part in entries(content, "parts") {
        match part.get("functionResponse") {
            Some(result) => {
                let response = &result["response"];
                let output = response.get("output").map(content_text);
                conversation.add(Speaker::Tool, output.unwrap_or_else(|| response.to_string()));
            }
            None => conversation.add(Speaker::User, content_text(part)),
        }
    }
}

pub(super) fn render(conversation: &Conversation, reply: &ModelReply) -> ResponseBody {
    let calls = reply.calls.iter().map(|call| {
        let id = format!("fc_{}", call.id);
        json!({ "functionCall": { "id": id, "name": call.name, "args": call.input } })
    });
    let texts = pieces(&reply.text).into_iter().map(|piece| json!({ "text": piece }));
    let parts: Vec<Value> = texts.chain(calls).collect();
    let whole = |parts: &[Value], is_end: bool| {
        let finish = if is_end { json!("STOP") } else { Value::Null };
        let content = json!({ "role": "model", "parts": parts });
        let mut whole = json!({
            "candidates": [{ "content": content, "finishReason": finish, "index": 0 }],
            "modelVersion": conversation.model, "responseId": reply.id,
        });
        if is_end {
            whole["usageMetadata"] = usage(reply);
        }
        whole
    };
    if !conversation.is_streamed {
        return ResponseBody::Whole(whole(&parts, true));
    }
    let (last, others) = parts
        .split_last()
        .map_or((&[][..], &[][..]), |(last, others)| (std::slice::from_ref(last), others));
    let mut events: Vec<_> =
        others.iter().map(|part| ("", whole(std::slice::from_ref(part), false))).collect();
    events.push(("", whole(last, true)));
    ResponseBody::Events(events)
}

fn usage(reply: &ModelReply) -> Value {
    let usage = &reply.usage;
    let input = usage.input + usage.cache_read;
    json!({
        "promptTokenCount": input,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": input + usage.output,
    })
}

pub(super) fn error(status: u16, code: Option<&str>, message: &str) -> Value {
    let usual = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": code.unwrap_or(usual) } })
}
