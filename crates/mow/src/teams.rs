//! Whether the user has turned agent teams on.

use mow_store::disk;
use serde_json::Value;

use crate::context::home;

const VARIABLE: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";

/// Looks in the environment, then in the settings of the user; what cannot be read says no.
pub(crate) fn enabled() -> bool {
    if std::env::var(VARIABLE).is_ok_and(|value| says_yes(&value)) {
        return true;
    }
    let path = home().map(|home| home.join(".claude/settings.json"));
    let bytes = path.and_then(|path| disk::read(&path).ok().flatten()).unwrap_or_default();
    let settings: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    match &settings["env"][VARIABLE] {
        Value::String(value) => says_yes(value),
        value => says_yes(&value.to_string()),
    }
}

fn says_yes(value: &str) -> bool {
    value == "1" || value.eq_ignore_ascii_case("true")
}
