//! Serves tools by the Model Context Protocol: what a message is answered with. Whoever has the line to
//! the client reads and writes it.

use serde_json::{Value, json};

use super::ToolSpec;

/// What agents know the server by.
pub const NAME: &str = "mow";

/// Returns the name that Claude Code gives to a tool of ours.
pub(super) fn full_name(tool: &str) -> String {
    format!("mcp__{NAME}__{tool}")
}

/// Answers one message of an MCP client; a notification gets no answer. An error of a tool goes back to
/// the agent, too.
pub fn answer(
    tools: &[ToolSpec],
    call: &mut dyn FnMut(&str, &Value) -> Result<String, String>,
    message: &Value,
) -> Option<Value> {
    let id = message.get("id").filter(|id| !id.is_null())?;
    let params = &message["params"];
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": NAME, "version": env!("CARGO_PKG_VERSION") },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools.iter().map(listed).collect::<Vec<_>>() }),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let done = if tools.iter().any(|tool| tool.name == name) {
                call(name, &params["arguments"])
            } else {
                Err(format!("there is no tool {name}"))
            };
            let is_error = done.is_err();
            let text = done.unwrap_or_else(|error| error);
            json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
        }
        method => {
            let error = json!({ "code": -32601, "message": format!("{method} is not supported") });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn listed(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        // Otherwise the model would have to search for it.
        "_meta": { "anthropic/alwaysLoad": true },
    })
}
