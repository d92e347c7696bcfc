//! The free arguments of `message format`: every `--some-key value` is a field.
//!
//! A value is the next argument unless that is a flag itself. The first of two equal flags counts.
//! What belongs to no flag is ignored.

#[cfg(test)]
mod tests;

use mow_core::message::Fields;
use serde_json::Value;

/// What the arguments say.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Words {
    /// The fields, in the order of the arguments.
    pub(super) fields: Fields,
    /// Whether the line for people is wanted.
    pub(super) summary: bool,
    /// Where to work, as everywhere else.
    pub(super) cwd: Option<String>,
    /// Flags without a value.
    pub(super) empty: Vec<String>,
}

impl Words {
    pub(super) fn parse(arguments: &[String]) -> Self {
        let mut words = Self::default();
        let mut rest = arguments.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            if !is_flag(word) || word == "--json" {
                continue;
            }
            if word == "--summary" {
                words.summary = true;
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value)),
                None => (word, rest.next_if(|next| !is_flag(next))),
            };
            match value {
                Some(value) => words.add(flag, value),
                None => words.empty.push(flag.to_owned()),
            }
        }
        words
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

/// Returns whether an argument is a flag: two dashes and a name, perhaps with a value behind `=`.
pub(super) fn is_flag(word: &str) -> bool {
    let Some(rest) = word.strip_prefix("--") else { return false };
    let name = rest.split_once('=').map_or(rest, |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}
