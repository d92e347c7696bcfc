//! What agents may do without asking, by rules of the project: `permissions.allow` and `.deny`.
//!
//! A rule is `Tool` or `Tool(pattern)`, where `*` stands for anything; where something is allowed, it
//! does not stand for what makes another command of it, or writes elsewhere: `cargo test*` is not
//! `cargo test; reboot`. Who is denied is denied, whatever else is allowed.

#[cfg(test)]
mod tests;

use mow_store::config::Config;
use serde_json::Value;

/// What rules say about something that an agent wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Allowed,
    Denied,
    /// A person has to say.
    Unknown,
}

/// Asks the rules about the use of a tool.
pub(crate) fn rule(config: &Config, tool: &str, input: &Value) -> Rule {
    let what = subject(input);
    let any = |key: &str, allows: bool| {
        let rules = config.value(key).and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(Value::as_str).any(|rule| fits(rule, (tool, &what), allows))
    };
    match () {
        () if any("permissions.deny", false) => Rule::Denied,
        () if any("permissions.allow", true) => Rule::Allowed,
        () => Rule::Unknown,
    }
}

/// Returns the rule that allows just this, for ever.
pub(super) fn exact(tool: &str, input: &Value) -> String {
    match subject(input) {
        what if what.is_empty() => tool.to_owned(),
        what => format!("{tool}({})", what.replace('*', "\\*")),
    }
}

/// Returns what a tool is used on: the command, the file, the address.
fn subject(input: &Value) -> String {
    let keys = ["command", "cmd", "file_path", "path", "url", "pattern"];
    let found = keys.iter().find_map(|key| input.get(key));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(words)) => {
            words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

/// Says whether a star may stand for a text.
type Star = fn(&str) -> bool;

/// Returns whether a text is nothing that a shell takes for another command, or for a file to write.
fn is_harmless(text: &str) -> bool {
    !text.contains([';', '&', '|', '<', '>', '`', '\n', '\r'])
        && !text.contains("$(")
        && !leads_up(text)
}

fn fits(rule: &str, (tool, what): (&str, &str), allows: bool) -> bool {
    match rule.split_once('(') {
        None => rule == tool,
        Some((name, rest)) => {
            let pattern = rest.strip_suffix(')').unwrap_or(rest);
            let star: Star = if allows { is_harmless } else { |_| true };
            // `src/.*` is not `src/../..`: a part of the dots may be the rule's.
            let is_inside = !allows || leads_up(pattern) || !leads_up(what);
            name == tool && is_inside && matches(&parts(pattern), what, star)
        }
    }
}

/// Returns whether a path in a text leads out of where it seems to be.
fn leads_up(text: &str) -> bool {
    text.split(|c: char| c == '/' || c.is_whitespace() || "\"'=:".contains(c))
        .any(|part| part == "..")
}

/// Splits a pattern at its stars; a star behind a backslash is one to be found.
fn parts(pattern: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let last = parts.last_mut().expect("there is always one");
        match c {
            '\\' if chars.peek() == Some(&'*') => last.extend(chars.next()),
            '*' => parts.push(String::new()),
            c => last.push(c),
        }
    }
    parts
}

fn matches(parts: &[String], text: &str, star: Star) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only == text);
    };
    let Some(mut rest) = text.strip_prefix(first.as_str()) else { return false };
    for part in middle {
        let Some(at) = rest.find(part.as_str()).filter(|at| star(&rest[..*at])) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.strip_suffix(last.as_str()).is_some_and(star)
}
