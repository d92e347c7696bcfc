//! Google's Gemini, whole and as a stream: what Gemini CLI speaks.

use serde_json::{Value, json};

use super::conversation::{Conversation, Reply, Who, Wire, entries, list, pieces, text_of};

/// Reads a request; the path says which model is meant and how the answer is to come.
pub(super) fn parse(path: &str, body: &Value) -> Result<Conversation, String> {
    let (model, method) =
        path.rsplit('/').next().and_then(|last| last.split_once(':')).unwrap_or_default();
    let mut talk = Conversation {
        model: model.to_owned(),
        system: text_of(&body["systemInstruction"]),
        is_streamed: method.starts_with("stream"),
        ..Conversation::default()
    };
    for content in list(body, "contents")? {
        match content["role"].as_str() {
            Some("model") => talk.add(Who::Assistant, text_of(content)),
            Some("user") | None => add_user(&mut talk, content),
            role => return Err(format!("nobody knows the role {role:?}")),
        }
    }
    for tool in entries(body, "tools") {
        entries(tool, "functionDeclarations").for_each(|tool| talk.offer(&tool["name"], false));
    }
    Ok(talk)
}

/// Results of tools come as parts of what the user says.
fn add_user(talk: &mut Conversation, content: &Value) {
    for part in entries(content, "parts") {
        match part.get("functionResponse") {
            Some(result) => {
                let response = &result["response"];
                let output = response.get("output").map(text_of);
                talk.add(Who::Tool, output.unwrap_or_else(|| response.to_string()));
            }
            None => talk.add(Who::User, text_of(part)),
        }
    }
}

pub(super) fn render(talk: &Conversation, reply: &Reply) -> Wire {
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
            "modelVersion": talk.model, "responseId": reply.id,
        });
        if is_end {
            whole["usageMetadata"] = usage(reply);
        }
        whole
    };
    if !talk.is_streamed {
        return Wire::Whole(whole(&parts, true));
    }
    let (last, others) = parts
        .split_last()
        .map_or((&[][..], &[][..]), |(last, others)| (std::slice::from_ref(last), others));
    let mut events: Vec<_> =
        others.iter().map(|part| ("", whole(std::slice::from_ref(part), false))).collect();
    events.push(("", whole(last, true)));
    Wire::Events(events)
}

fn usage(reply: &Reply) -> Value {
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
