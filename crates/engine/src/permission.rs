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

fn fits(rule: &str, (tool, what): (&str, &str), allows: bool) -> bool {
    let Some((name, rest)) = rule.split_once('(') else { return rule == tool };
    let pattern = rest.strip_suffix(')').unwrap_or(rest);
    let Some(stars) = stars(pattern, what).filter(|_| name == tool) else { return false };
    // `src/.*` is not `src/../..`: a part of the dots may be the rule's.
    let is_inside = leads_up(pattern) || !leads_up(what);
    !allows || is_inside && stars.into_iter().all(is_harmless)
}

/// Returns whether a text is nothing that a shell takes for another command, or for a file to write.
fn is_harmless(text: &str) -> bool {
    !text.contains([';', '&', '|', '<', '>', '`', '\n', '\r'])
        && !text.contains("$(")
        && !leads_up(text)
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

/// Returns what the stars of a pattern stand for in a text; `None` when it does not fit.
fn stars<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let parts = parts(pattern);
    let [first, middle @ .., last] = parts.as_slice() else {
        return parts.first().is_some_and(|only| only == text).then(Vec::new);
    };
    let (mut rest, mut stars) = (text.strip_prefix(first.as_str())?, Vec::new());
    for part in middle {
        let (star, behind) = rest.split_once(part.as_str())?;
        stars.push(star);
        rest = behind;
    }
    stars.push(rest.strip_suffix(last.as_str())?);
    Some(stars)
}
