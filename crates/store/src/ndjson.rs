//! Files with one JSON object per line: chat logs, and the lines under the dashboard's events.
//!
//! A line that cannot be read is skipped, never an error. Lines are made here and appended by the
//! caller in one write. Start with [`objects`] and [`chat_line`].

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// The most characters of a chat message that are kept.
pub const MESSAGE_CHARS_MAX: usize = 500;

/// Why two ids name no chat log.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{id}` is not a plain name")]
pub struct BadId {
    /// The id that was refused.
    pub id: String,
}

/// Reads all lines that are JSON objects, in order.
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

/// Returns the last lines of a file, blank ones left out.
pub fn keep_last(bytes: &[u8], count: usize) -> Vec<u8> {
    let skipped = line_count(bytes).saturating_sub(count);
    lines(bytes).skip(skipped).flatten().copied().collect()
}

/// Writes one chat entry as a line; a long message is cut.
pub fn chat_line(from: &str, to: &str, ts: &str, message: &str) -> String {
    let message = cut(message, MESSAGE_CHARS_MAX);
    format!("{}\n", json!({"from": from, "to": to, "ts": ts, "msg": message}))
}

/// Returns the first characters of a text.
pub fn cut(text: &str, chars_max: usize) -> &str {
    text.char_indices().nth(chars_max).map_or(text, |(at, _)| &text[..at])
}

/// Returns the name of the log two workers share: both ids in ascending order.
///
/// Ids are plain names, so that no log is written outside its folder.
pub fn chat_file_name(from: &str, to: &str) -> Result<String, BadId> {
    for id in [from, to] {
        let is_plain = !id.trim().is_empty()
            && !id.contains("..")
            && !id.starts_with(['.', '-'])
            && !id.contains(|c: char| matches!(c, '/' | '\\') || c.is_control());
        if !is_plain {
            return Err(BadId { id: id.to_owned() });
        }
    }
    Ok(format!("{}-to-{}.ndjson", from.min(to), from.max(to)))
}
