//! YAML frontmatter of Markdown files: read properly, edited key by key.
//!
//! A block is split into top-level entries by lines first: every line that opens with a key at
//! column 0 starts an entry, whatever stands above it. Each entry is then parsed on its own. So a
//! broken entry never spoils its neighbours, and an edit of one entry cannot change how another is
//! read (aliases of anchors aside; the editor refuses to orphan those).
//!
//! This room works on bytes in memory. It never touches the disk and never reformats what it was
//! not asked to change. Start at [`parse`] and [`set`].

mod block;
mod edit;
mod events;
mod lenient;
mod value;
mod write;

#[cfg(test)]
mod tests;

use std::ops::Range;

use block::{Block, is_key, rows, split};

pub use edit::{EditError, merge, remove, set};
pub use value::Value;

/// Deepest nesting that is read or written; beyond it an entry counts as broken.
const DEPTH_MAX: usize = 64;

/// The frontmatter block of one file.
#[derive(Debug, Clone)]
pub struct Frontmatter {
    /// Top-level keys with their values, in file order; of duplicate keys only the last.
    pub map: Vec<(String, Value)>,
    /// Bytes of the block: both fences and the line ending of the closing one.
    pub block: Range<usize>,
    /// What could not be read as YAML, in file order.
    pub problems: Vec<Problem>,
    /// Every top-level entry, duplicates included.
    entries: Vec<Entry>,
}

/// A place in the block that is not sound YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Line in the file, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

impl Problem {
    fn duplicate(line: usize, key: &str) -> Self {
        Self { line, message: format!("duplicate key `{key}`, the last one counts") }
    }
}

/// One top-level entry as it stands in the file.
#[derive(Debug, Clone)]
struct Entry {
    key: String,
    /// Line in the file of the key.
    line: usize,
    /// Bytes from the key to the last line of its value, line ending excluded.
    span: Range<usize>,
    /// Whether the value was read without guessing.
    clean: bool,
}

impl Frontmatter {
    /// Returns the value of a top-level key.
    pub fn entry(&self, key: &str) -> Option<&Value> {
        self.map.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value at a dotted path; a top-level key that holds the dots itself comes first.
    pub fn lookup(&self, path: &str) -> Option<&Value> {
        if let Some(value) = self.entry(path) {
            return Some(value);
        }
        let mut parts = path.split('.');
        let first = self.entry(parts.next()?)?;
        parts.try_fold(first, |value, part| value.entry(part))
    }

    /// Returns the bytes of the entry that gives `key` its value, last line ending excluded.
    pub fn span(&self, key: &str) -> Option<Range<usize>> {
        self.entries.iter().rfind(|entry| entry.key == key).map(|entry| entry.span.clone())
    }

    /// Returns where the text after the block begins.
    pub fn body_start(&self) -> usize {
        self.block.end
    }

    /// Returns the whole map as JSON, scalars as strings.
    pub fn to_json(&self) -> serde_json::Value {
        let fields = self.map.iter().map(|(key, value)| (key.clone(), value.to_json()));
        serde_json::Value::Object(fields.collect())
    }
}

/// Reads the frontmatter of a file; `None` when it has no closed block at its top.
pub fn parse(bytes: &[u8]) -> Option<Frontmatter> {
    let block = Block::find(bytes)?;
    let text = block.masked(bytes);
    let rows = rows(&text, block.inner.start);
    let mut problems = Vec::new();
    let segments = split(&rows, 0, is_key);
    let first = segments.first().map_or(rows.len(), |segment| segment.start);
    if let Some(row) = rows[..first].iter().find(|row| !row.is_filler(usize::MAX)) {
        problems.push(Problem { line: row.number, message: "not a `key: value` line".to_owned() });
    }
    let mut entries = Vec::new();
    let mut values = Vec::new();
    for segment in segments {
        let rows = &rows[segment];
        let flaws_before = problems.len();
        let Some((key, value)) = lenient::pair(rows, lenient::DEPTH_MAX, &mut problems) else {
            continue;
        };
        let span = rows[0].start..rows[rows.len() - 1].content_end();
        let clean = problems.len() == flaws_before;
        entries.push(Entry { key, line: rows[0].number, span, clean });
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

/// Reads the block as one document when entries failed that may refer to anchors of others.
fn resolve_shared_anchors(
    text: &str,
    entries: &mut [Entry],
    values: &mut [Value],
    problems: &mut Vec<Problem>,
) {
    if entries.iter().all(|entry| entry.clean) || !text.contains('*') || !text.contains('&') {
        return;
    }
    let Ok(reading) = events::read(text) else { return };
    let Value::Map(map) = reading.value else { return };
    let same_keys = map.iter().map(|(key, _)| key).eq(entries.iter().map(|entry| &entry.key));
    if !same_keys {
        return;
    }
    for ((entry, value), (_, whole)) in entries.iter_mut().zip(values).zip(map) {
        entry.clean = true;
        *value = whole;
    }
    // The opening fence is line 1 of the file.
    let duplicates = reading.duplicates.iter();
    *problems = duplicates.map(|(line, key)| Problem::duplicate(line + 1, key)).collect();
}
