//! Serves the tools of mow to Claude Code as an MCP server without a process or a port.

use serde_json::{Value, json};

use super::super::{Counterpart, ToolSpec};

/// The name of the server.
pub(super) const NAME: &str = "mow";

/// Returns the name that Claude Code gives to a tool of ours.
pub(super) fn full_name(tool: &str) -> String {
    format!("mcp__{NAME}__{tool}")
}

/// Answers one message of its MCP client.
pub(super) fn answer(
    tools: &[ToolSpec],
    counterpart: &mut dyn Counterpart,
    message: &Value,
) -> Value {
    let Some(id) = message.get("id").filter(|id| !id.is_null()) else {
        // A notification; yet the envelope wants something in it.
        return json!({ "jsonrpc": "2.0", "id": 0, "result": {} });
    };
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
                counterpart.called(name, &params["arguments"])
            } else {
                Err(format!("there is no tool {name}"))
            };
            let is_error = done.is_err();
            let text = done.unwrap_or_else(|error| error);
            json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
        }
        method => {
            let error = json!({ "code": -32601, "message": format!("{method} is not supported") });
            return json!({ "jsonrpc": "2.0", "id": id, "error": error });
        }
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
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
