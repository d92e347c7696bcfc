//! Answers messages of the Model Context Protocol (MCP) for the tools that mow serves.
//!
//! This module does no I/O: the caller reads the messages and writes the answers.

use serde_json::{Value, json};

use super::ToolSpec;

/// The name of mow's MCP server.
pub const SERVER_NAME: &str = "mow";

/// Returns the name that Claude Code gives to a tool of mow.
pub(super) fn full_name(tool: &str) -> String {
    format!("mcp__{SERVER_NAME}__{tool}")
}

/// Returns the answer to one message of an MCP client; a notification gets none. An error of a tool is
/// part of the answer, so that the agent sees it.
pub fn answer_message(
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
            "serverInfo": { "name": SERVER_NAME, "version": env!("CARGO_PKG_VERSION") },
        }),
        "ping" => json!({}),
        "tools/list" => json!({ "tools": tools.iter().map(tool_json).collect::<Vec<_>>() }),
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            let result_text = if tools.iter().any(|tool| tool.name == name) {
                call(name, &params["arguments"])
            } else {
                Err(format!("there is no tool {name}"))
            };
            let is_error = result_text.is_err();
            let text = result_text.unwrap_or_else(|error| error);
            json!({ "content": [{ "type": "text", "text": text }], "isError": is_error })
        }
        method => {
            let error = json!({ "code": -32601, "message": format!("{method} is not supported") });
            return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
        }
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn tool_json(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        // Without this, the model has to search for the tool first.
        "_meta": { "anthropic/alwaysLoad": true },
    })
}
