//! Reads the YAML frontmatter of Markdown files and edits it key by key.
//!
//! A block is first split into top-level entries by lines: every line with a key at column 0 starts
//! an entry. Each entry is then parsed alone. An invalid entry therefore does not affect its
//! neighbours, and an edit of one entry cannot change how another one reads. Aliases of anchors are
//! the exception; the editor refuses an edit that would orphan an alias.
//!
//! This module works on bytes in memory. It must not touch the disk or reformat bytes outside of the
//! edited entry. Start at [`parse`] and [`set`].

mod block;
mod edit;
mod recovery;
mod value;
mod yaml_reader;
mod yaml_writer;

#[cfg(test)]
mod tests;

use std::ops::Range;

use block::{FrontmatterBlock, block_lines, is_key, split_items};

pub use edit::{EditError, merge, remove, set};
pub use value::Value;

/// The deepest nesting that is read or written; a deeper entry counts as invalid.
const DEPTH_MAX: usize = 64;

/// The frontmatter block of one file.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    /// Top-level keys with their values in file order. The last of duplicate keys counts.
    pub map: Vec<(String, Value)>,
    /// Byte range of the block, from the opening fence to the line ending of the closing fence.
    pub block: Range<usize>,
    /// Parts that are not valid YAML, in file order.
    pub problems: Vec<Problem>,
    /// All top-level entries, including duplicates.
    entries: Vec<FrontmatterEntry>,
}

/// A line of the block that is not valid YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Description of the error, for people.
    pub message: String,
}

impl Problem {
    fn duplicate(line: usize, key: &str) -> Self {
        Self { line, message: format!("duplicate key `{key}`, the last one counts") }
    }
}

/// The position of one top-level entry in the file.
#[derive(Debug, Clone)]
struct FrontmatterEntry {
    key: String,
    /// Line of the key in the file, counted from 1.
    line: usize,
    /// Byte range from the key to the end of its value, without the last line ending.
    span: Range<usize>,
    /// Whether the whole entry is valid YAML, so that no part of its value was guessed.
    is_valid: bool,
}

impl Frontmatter {
    /// Returns the value of a top-level key.
    pub fn entry(&self, key: &str) -> Option<&Value> {
        self.map.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value at a dotted path. A top-level key that contains the dots takes precedence.
    pub fn lookup(&self, path: &str) -> Option<&Value> {
        if let Some(value) = self.entry(path) {
            return Some(value);
        }
        let mut parts = path.split('.');
        let first = self.entry(parts.next()?)?;
        parts.try_fold(first, |value, part| value.entry(part))
    }

    /// Returns the byte range of the entry that defines `key`, without the last line ending.
    pub fn span(&self, key: &str) -> Option<Range<usize>> {
        self.entries.iter().rfind(|entry| entry.key == key).map(|entry| entry.span.clone())
    }

    /// Returns the offset of the text after the block.
    pub fn body_start(&self) -> usize {
        self.block.end
    }

    /// Returns the whole map as JSON; scalars become strings.
    pub fn to_json(&self) -> serde_json::Value {
        let fields = self.map.iter().map(|(key, value)| (key.clone(), value.to_json()));
        serde_json::Value::Object(fields.collect())
    }
}

/// Reads the frontmatter of a file; `None` if the file does not start with a closed block.
pub fn parse(bytes: &[u8]) -> Option<Frontmatter> {
    let block = FrontmatterBlock::find(bytes)?;
    let text = block.masked(bytes);
    let rows = block_lines(&text, block.inner.start);
    let mut problems = Vec::new();
    let segments = split_items(&rows, 0, is_key);
    let first = segments.first().map_or(rows.len(), |segment| segment.start);
    if let Some(row) = rows[..first].iter().find(|row| !row.is_blank_or_comment(usize::MAX)) {
        problems.push(Problem { line: row.number, message: "not a `key: value` line".to_owned() });
    }
    let mut entries = Vec::new();
    let mut values = Vec::new();
    for segment in segments {
        let rows = &rows[segment];
        let problems_before = problems.len();
        let Some((key, value)) =
            recovery::parse_entry(rows, recovery::RECOVERY_DEPTH_MAX, &mut problems)
        else {
            continue;
        };
        let span = rows[0].start..rows[rows.len() - 1].content_end();
        let is_valid = problems.len() == problems_before;
        entries.push(FrontmatterEntry { key, line: rows[0].number, span, is_valid });
        values.push(value);
    }
    resolve_shared_anchors(&text, &mut entries, &mut values, &mut problems);
    let mut map = value::MapBuilder::default();
    for (entry, value) in entries.iter().zip(values) {
        if map.put(entry.key.clone(), value) {
            problems.push(Problem::duplicate(entry.line, &entry.key));
        }
    }
    problems.sort_by_key(|problem| problem.line);
    Some(Frontmatter { map: map.entries, block: block.range, problems, entries })
}

/// Parses the block as one document if an invalid entry may refer to another entry's anchor.
fn resolve_shared_anchors(
    text: &str,
    entries: &mut [FrontmatterEntry],
    values: &mut [Value],
    problems: &mut Vec<Problem>,
) {
    if entries.iter().all(|entry| entry.is_valid) || !text.contains('*') || !text.contains('&') {
        return;
    }
    let Ok(reading) = yaml_reader::parse_yaml(text) else { return };
    let Value::Map(map) = reading.value else { return };
    let same_keys = map.iter().map(|(key, _)| key).eq(entries.iter().map(|entry| &entry.key));
    if !same_keys {
        return;
    }
    for ((entry, value), (_, whole)) in entries.iter_mut().zip(values).zip(map) {
        entry.is_valid = true;
        *value = whole;
    }
    // The opening fence is line 1 of the file.
    let duplicates = reading.duplicates.iter();
    *problems = duplicates.map(|(line, key)| Problem::duplicate(line + 1, key)).collect();
}
