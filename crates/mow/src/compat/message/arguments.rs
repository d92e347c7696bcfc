//! Parses the free arguments of `message format`: every `--some-key value` is a field.
//!
//! A value is the next argument unless that is a flag itself. The first of two equal flags counts.
//! Arguments that belong to no flag are ignored.

#[cfg(test)]
mod tests;

use mow_core::message::Fields;
use serde_json::Value;

/// The parsed arguments.
#[derive(Debug, Default, PartialEq)]
pub(super) struct MessageArguments {
    /// The fields, in the order of the arguments.
    pub(super) fields: Fields,
    /// Whether to add a summary line for people.
    pub(super) summary: bool,
    /// The value of `--cwd`, which means the same as for other commands.
    pub(super) cwd: Option<String>,
    /// Flags without a value, which are left out of the message.
    pub(super) empty_flags: Vec<String>,
}

impl MessageArguments {
    pub(super) fn parse(arguments: &[String]) -> Self {
        let mut parsed = Self::default();
        let mut rest = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if !is_flag(word) || word == "--json" {
                continue;
            }
            if word == "--summary" {
                parsed.summary = true;
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (word, rest.next_if(|next| !is_flag(next))),
            };
            match value {
                Some(value) => parsed.add(flag, value),
                None => parsed.empty_flags.push(flag.to_owned()),
            }
        }
        parsed
    }

    fn add(&mut self, flag: &str, value: &str) {
        let key = flag.trim_start_matches("--").replace('-', "_");
        match key.as_str() {
            "cwd" => self.cwd = self.cwd.take().or_else(|| Some(value.to_owned())),
            _ if self.fields.contains_key(&key) => {}
            _ => drop(self.fields.insert(key, Value::String(value.to_owned()))),
        }
    }
}

/// Returns whether an argument is a flag: two dashes and a name, optionally with a value after `=`.
pub(super) fn is_flag(word: &str) -> bool {
    let Some(rest) = word.strip_prefix("--") else { return false };
    let name = rest.split_once('=').map_or(rest, |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
