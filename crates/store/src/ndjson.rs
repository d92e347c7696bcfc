//! Files with one JSON object per line: chat logs and the dashboard's events.
//!
//! An invalid line is skipped; it is never an error. This module only renders and parses lines; the
//! caller appends them in one write. Start with [`objects`] and [`chat_line`].

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// The maximum length of a stored chat message, in characters.
pub const MESSAGE_CHARS_MAX: usize = 500;

/// A worker id that cannot be part of a chat log's file name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{id}` is not a plain name")]
pub struct InvalidChatId {
    /// The refused id.
    pub id: String,
}

/// Parses all lines that are JSON objects, in order.
pub fn objects(bytes: &[u8]) -> Vec<Map<String, Value>> {
    let lines = lines(bytes);
    lines.filter_map(|line| serde_json::from_slice(line.trim_ascii()).ok()).collect()
}

/// Returns the lines that are not blank, each with its line ending.
fn lines(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// Returns the number of lines that are not blank.
pub fn line_count(bytes: &[u8]) -> usize {
    lines(bytes).count()
}

/// Returns the last `count` lines of a file. Blank lines do not count and are left out.
pub fn keep_last(bytes: &[u8], count: usize) -> Vec<u8> {
    let skipped = line_count(bytes).saturating_sub(count);
    lines(bytes).skip(skipped).flatten().copied().collect()
}

/// Renders one chat entry as a line; a long message is truncated.
pub fn chat_line(from: &str, to: &str, ts: &str, message: &str) -> String {
    let message = truncate_chars(message, MESSAGE_CHARS_MAX);
    format!("{}\n", json!({"from": from, "to": to, "ts": ts, "msg": message}))
}

/// Returns the first `chars_max` characters of a text.
pub fn truncate_chars(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}

/// Returns the file name of the log that two workers share: both ids in ascending order.
///
/// An id must be a plain name, so that no log is written outside its directory.
pub fn chat_file_name(from: &str, to: &str) -> Result<String, InvalidChatId> {
    for id in [from, to] {
        let is_plain = !id.trim().is_empty()
            && !id.contains("..")
            && !id.starts_with(['.', '-'])
            && !id.contains(|c: char| matches!(c, '/' | '\\') || c.is_control());
        if !is_plain {
            return Err(InvalidChatId { id: id.to_owned() });
        }
    }
    Ok(format!("{}-to-{}.ndjson", from.min(to), from.max(to)))
}
