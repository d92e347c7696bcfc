//! Reports whether the user has enabled the agent teams of Claude Code.

use mow_store::disk;
use serde_json::Value;

use crate::context::home;

const VARIABLE: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";

/// Reads the environment variable, then the user's Claude settings.
///
/// A settings file that cannot be read counts as disabled.
pub(crate) fn is_enabled() -> bool {
    if std::env::var(VARIABLE).is_ok_and(|value| is_truthy(&value)) {
        return true;
    }
    let path = home().map(|home| home.join(".claude/settings.json"));
    let bytes = path.and_then(|path| disk::read(&path).ok().flatten()).unwrap_or_default();
    let settings: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    match &settings["env"][VARIABLE] {
        Value::String(value) => is_truthy(value),
        value => is_truthy(&value.to_string()),
    }
}

fn is_truthy(value: &str) -> bool {
    value == "1" || value.eq_ignore_ascii_case("true")
}
