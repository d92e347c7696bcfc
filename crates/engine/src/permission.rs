//! Checks an agent's use of a tool against the project's `permissions.allow` and
//! `permissions.deny`.
//!
//! A rule is `Tool` or `Tool(pattern)`, where `*` matches any text. In an allow rule `*` never
//! matches text that starts another command or writes elsewhere: `cargo test*` does not allow
//! `cargo test; reboot`. A deny rule beats every allow rule.

#[cfg(test)]
mod tests;

use mow_store::config::Config;
use serde_json::Value;

/// The decision of the project's rules about the use of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Allowed,
    Denied,
    /// No rule matches: a person has to decide.
    Unknown,
}

/// Checks the use of a tool against the rules.
pub(crate) fn check_permission(config: &Config, tool: &str, input: &Value) -> Permission {
    let subject = subject(input);
    let any = |key: &str, is_allow_rule: bool| {
        let rules = config.value(key).and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(Value::as_str).any(|rule| matches(rule, (tool, &subject), is_allow_rule))
    };
    match () {
        () if any("permissions.deny", false) => Permission::Denied,
        () if any("permissions.allow", true) => Permission::Allowed,
        () => Permission::Unknown,
    }
}

/// Returns the rule that allows exactly this use of a tool.
pub(super) fn exact_rule(tool: &str, input: &Value) -> String {
    match subject(input) {
        subject if subject.is_empty() => tool.to_owned(),
        subject => format!("{tool}({})", subject.replace('*', "\\*")),
    }
}

/// Returns the subject of a tool call: its command, file, URL or pattern.
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

fn matches(rule: &str, (tool, subject): (&str, &str), is_allow_rule: bool) -> bool {
    let Some((name, rest)) = rule.split_once('(') else { return rule == tool };
    let pattern = rest.strip_suffix(')').unwrap_or(rest);
    let Some(stars) = wildcard_texts(pattern, subject).filter(|_| name == tool) else {
        return false;
    };
    // `src/.*` must not allow `src/../..`: one of the dots may belong to the pattern.
    let is_inside = leads_up(pattern) || !leads_up(subject);
    !is_allow_rule || is_inside && stars.into_iter().all(is_harmless)
}

/// Returns whether a text cannot start another shell command, redirect output, or lead upwards.
fn is_harmless(text: &str) -> bool {
    !text.contains([';', '&', '|', '<', '>', '`', '\n', '\r'])
        && !text.contains("$(")
        && !leads_up(text)
}

/// Returns whether a text contains a path with a `..` component.
fn leads_up(text: &str) -> bool {
    text.split(|c: char| c == '/' || c.is_whitespace() || "\"'=:".contains(c))
        .any(|part| part == "..")
}

/// Splits a pattern at its wildcards; `\*` is a literal star.
fn split_at_wildcards(pattern: &str) -> Vec<String> {
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

/// Returns the text that each wildcard of a pattern matches; `None` if the pattern does not match.
fn wildcard_texts<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let parts = split_at_wildcards(pattern);
    let [first, middle @ .., last] = parts.as_slice() else {
        return parts.first().is_some_and(|only| only == text).then(Vec::new);
    };
    let (mut rest, mut stars) = (text.strip_prefix(first.as_str())?, Vec::new());
    for part in middle {
        let (star, after) = rest.split_once(part.as_str())?;
        stars.push(star);
        rest = after;
    }
    stars.push(rest.strip_suffix(last.as_str())?);
    Some(stars)
}
