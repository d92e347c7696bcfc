//! Edits one entry of a frontmatter block and leaves every other byte unchanged.
//!
//! Each edit is verified by parsing the result: the entry must have the new value and all others
//! their old ones. Otherwise the edit is refused with an [`EditError`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::Value as Json;

use super::block::{
    BlockLine, FrontmatterBlock, after_bom, block_lines, eol_of, is_key, split_items,
};
use super::{Frontmatter, Value, parse, recovery, yaml_reader, yaml_writer};

/// The longest written key in bytes. YAML allows 1024 characters.
const KEY_BYTES_MAX: usize = 1000;

/// Why an edit was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EditError {
    /// The key is empty, or too long for YAML.
    #[error("`{key}` cannot be a frontmatter key")]
    BadKey {
        /// The requested key.
        key: String,
    },
    /// A dotted path leads through something that is not a block map.
    #[error("`{key}` is not a block map, its entries cannot be edited one by one")]
    NotAMap {
        /// The key whose value is not a block map.
        key: String,
    },
    /// The new value has too many levels.
    #[error("the value of `{key}` is nested too deeply")]
    TooDeep {
        /// The requested key.
        key: String,
    },
    /// Another entry refers to an anchor in the edited entry and would change its value.
    #[error("the edit would change what `{key}` means")]
    ChangesOtherKey {
        /// The other entry's key.
        key: String,
    },
}

/// Sets a key, or a nested key by its dotted path, in the frontmatter of a file.
///
/// Null removes the key. A file without frontmatter gets a new block at its top.
pub fn set(bytes: &[u8], key: &str, value: &Json) -> Result<Vec<u8>, EditError> {
    let before = parse(bytes);
    let literal = before.as_ref().is_some_and(|front| front.entry(key).is_some());
    let path: Vec<&str> = if literal { vec![key] } else { key.split('.').collect() };
    apply(bytes, before.as_ref(), &path, value)
}

/// Sets several top-level keys; dots in a key are part of the key.
pub fn merge(bytes: &[u8], fields: &serde_json::Map<String, Json>) -> Result<Vec<u8>, EditError> {
    fields.iter().try_fold(bytes.to_vec(), |bytes, (key, value)| {
        apply(&bytes, parse(&bytes).as_ref(), &[key], value)
    })
}

/// Removes a key, or a nested key by its dotted path. A file without the key stays unchanged.
pub fn remove(bytes: &[u8], key: &str) -> Result<Vec<u8>, EditError> {
    set(bytes, key, &Json::Null)
}

fn apply(
    bytes: &[u8],
    before: Option<&Frontmatter>,
    path: &[&str],
    value: &Json,
) -> Result<Vec<u8>, EditError> {
    let key = || path.join(".");
    let value = Value::from_json(value).ok_or_else(|| EditError::TooDeep { key: key() })?;
    check_keys(path, &value)?;
    let edited = match FrontmatterBlock::find(bytes) {
        Some(block) => edited_block(bytes, &block, path, &value)?,
        None if value == Value::Null => bytes.to_vec(),
        None => with_new_block(bytes, path, &value),
    };
    check_result(before, parse(&edited).as_ref(), path, value)?;
    Ok(edited)
}

/// Refuses keys that YAML cannot represent.
fn check_keys(path: &[&str], value: &Value) -> Result<(), EditError> {
    let refused = |key: &str| Err(EditError::BadKey { key: key.to_owned() });
    if let Some(key) = path.iter().find(|key| key.is_empty() || is_too_long(key)) {
        return refused(key);
    }
    long_key(value).map_or(Ok(()), refused)
}

fn is_too_long(key: &str) -> bool {
    yaml_writer::key(key).len() > KEY_BYTES_MAX
}

fn long_key(value: &Value) -> Option<&str> {
    match value {
        Value::Null | Value::Scalar(_) => None,
        Value::List(items) => items.iter().find_map(long_key),
        Value::Map(entries) => entries
            .iter()
            .find_map(|(key, value)| is_too_long(key).then_some(&**key).or(long_key(value))),
    }
}

fn with_new_block(bytes: &[u8], path: &[&str], value: &Value) -> Vec<u8> {
    let (bom, body) = bytes.split_at(after_bom(bytes));
    let eol = eol_of(body);
    let entry = new_entry(path, value, 0, eol);
    let gap = if body.is_empty() { "" } else { eol };
    let block = format!("---{eol}{entry}---{eol}{gap}");
    [bom, block.as_bytes(), body].concat()
}

/// A byte range of the file and its replacement.
type EntrySplice = (Range<usize>, String);

fn edited_block(
    bytes: &[u8],
    block: &FrontmatterBlock,
    path: &[&str],
    value: &Value,
) -> Result<Vec<u8>, EditError> {
    let text = block.masked(bytes);
    let rows = block_lines(&text, block.inner.start);
    let scope = MapScope { rows: &rows, indent: 0, end: block.inner.end, eol: block.eol };
    let mut edited = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for (range, new) in scope.splices(path, value)? {
        edited.extend_from_slice(&bytes[at..range.start]);
        edited.extend_from_slice(new.as_bytes());
        at = range.end;
    }
    edited.extend_from_slice(&bytes[at..]);
    Ok(edited)
}

/// The lines of one block map, in which an entry is edited.
struct MapScope<'a> {
    rows: &'a [BlockLine<'a>],
    indent: usize,
    /// Offset in the file at which a new entry is inserted.
    end: usize,
    eol: &'static str,
}

impl MapScope<'_> {
    /// Returns the splices that set the value at a path, in file order.
    fn splices(&self, path: &[&str], value: &Value) -> Result<Vec<EntrySplice>, EditError> {
        let Some((key, rest)) = path.split_first() else { return Ok(Vec::new()) };
        let of_key =
            |range: &Range<usize>| self.rows[range.start].key().is_some_and(|k| k.0 == *key);
        let found: Vec<Range<usize>> =
            split_items(self.rows, self.indent, is_key).into_iter().filter(of_key).collect();
        let removes = *value == Value::Null;
        let Some(last) = found.last() else {
            let new = if removes { String::new() } else { self.new_entry(path, value) };
            return Ok(vec![(self.end..self.end, new)]);
        };
        let rows = &self.rows[last.clone()];
        if !rest.is_empty() {
            return self.nested_splices(rows, key, rest, value);
        }
        if removes {
            let whole =
                |range: Range<usize>| self.rows[range.start].start..self.rows[range.end - 1].end;
            return Ok(found.into_iter().map(|range| (whole(range), String::new())).collect());
        }
        Ok(self.replacement(rows, value))
    }

    fn new_entry(&self, path: &[&str], value: &Value) -> String {
        new_entry(path, value, self.indent, self.eol)
    }

    /// Returns the splices that replace an entry's value and keep its key and the comment on its line.
    fn replacement(&self, rows: &[BlockLine], value: &Value) -> Vec<EntrySplice> {
        let (first, last) = (&rows[0], &rows[rows.len() - 1]);
        let after_colon = first.key().map_or(first.raw.len(), |(_, after_colon)| after_colon);
        let comment = comment_start(rows, after_colon).unwrap_or(first.raw.len());
        let (inline, below) = match yaml_writer::inline(value) {
            Some(text) => (format!(" {text}"), Vec::new()),
            None => (String::new(), yaml_writer::lines(value, self.indent + 2)),
        };
        let below: String = below.iter().flat_map(|line| [self.eol, line]).collect();
        vec![
            (first.start + after_colon..first.start + comment, inline),
            (first.content_end()..last.content_end(), below),
        ]
    }

    fn nested_splices(
        &self,
        rows: &[BlockLine],
        key: &str,
        path: &[&str],
        value: &Value,
    ) -> Result<Vec<EntrySplice>, EditError> {
        let not_a_map = || EditError::NotAMap { key: key.to_owned() };
        let current = recovery::parse_entry(rows, 0, &mut Vec::new()).map(|(_, value)| value);
        let entries = match current {
            Some(Value::Null) if *value == Value::Null => return Ok(Vec::new()),
            Some(Value::Null) => return Ok(self.replacement(rows, &nested(path, value))),
            Some(Value::Map(entries)) => entries,
            _ => return Err(not_a_map()),
        };
        let rows = &rows[1..];
        let first =
            rows.iter().find(|row| !row.is_blank_or_comment(usize::MAX)).ok_or_else(not_a_map)?;
        let segments = split_items(rows, first.indent, is_key);
        let keys = segments.iter().filter_map(|range| rows[range.start].key());
        // Flow maps and invalid maps do not have one line per key.
        if !keys.map(|(key, _)| key).eq(entries.into_iter().map(|(key, _)| key)) {
            return Err(not_a_map());
        }
        let last = segments.last().ok_or_else(not_a_map)?;
        let end = rows[last.end - 1].end;
        MapScope { rows, indent: first.indent, end, eol: self.eol }.splices(path, value)
    }
}

/// Returns the offset in the key's line of the blanks before its comment.
fn comment_start(rows: &[BlockLine], after_colon: usize) -> Option<usize> {
    let line = &rows[0].raw;
    let value_end = yaml_reader::parse_yaml(&recovery::join_lines(rows))
        .map_or(after_colon, |reading| reading.end);
    let from = if value_end > line.len() { after_colon } else { value_end.max(after_colon) };
    let tail = line.get(from..)?;
    // The YAML parser ends a comment at a lone carriage return.
    let is_comment = tail.starts_with([' ', '\t'])
        && tail.trim_start_matches([' ', '\t']).starts_with('#')
        && !tail.contains('\r');
    is_comment.then_some(from)
}

fn new_entry(path: &[&str], value: &Value, indent: usize, eol: &str) -> String {
    let Some((key, rest)) = path.split_first() else { return String::new() };
    let lines = yaml_writer::entry_lines(key, &nested(rest, value), indent);
    lines.iter().flat_map(|line| [line, eol]).collect()
}

/// Wraps a value in one map per key of a path.
fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, key| Value::Map(vec![((*key).to_owned(), value)]))
}

/// Refuses an edit if the key does not have the new value afterwards, or another key changed.
fn check_result(
    before: Option<&Frontmatter>,
    after: Option<&Frontmatter>,
    path: &[&str],
    value: Value,
) -> Result<(), EditError> {
    let refuse = |key: &str| Err(EditError::ChangesOtherKey { key: key.to_owned() });
    let Some((key, rest)) = path.split_first() else { return Ok(()) };
    let read = |front: Option<&Frontmatter>, key: &str| front.and_then(|f| f.entry(key)).cloned();
    if read(after, key) != value_after_set(read(before, key), rest, value) {
        return refuse(key);
    }
    let Some(before) = before else { return Ok(()) };
    let map = after.map_or(&[][..], |front| &front.map);
    let after: HashMap<&String, &Value> = map.iter().map(|(key, value)| (key, value)).collect();
    let broken = before.entries.iter().filter(|entry| !entry.is_valid).map(|entry| &entry.key);
    let broken: HashSet<&String> = broken.collect();
    let mut others = before.map.iter().filter(|(name, _)| name != key && !broken.contains(name));
    others
        .find(|(name, value)| after.get(name) != Some(&value))
        .map_or(Ok(()), |(name, _)| refuse(name))
}

/// Returns the value after the nested value at a path is set; `None` if it is removed.
fn value_after_set(old: Option<Value>, path: &[&str], value: Value) -> Option<Value> {
    let Some((key, rest)) = path.split_first() else {
        return (value != Value::Null).then_some(value);
    };
    let mut entries = match old {
        Some(Value::Map(entries)) => entries,
        _ if value == Value::Null => return old,
        _ => return Some(nested(path, &value)),
    };
    let index = entries.iter().position(|(name, _)| name == key);
    let current = index.map(|index| entries[index].1.clone());
    match (index, value_after_set(current, rest, value)) {
        (Some(index), Some(value)) => entries[index].1 = value,
        (Some(index), None) => drop(entries.remove(index)),
        (None, Some(value)) => entries.push(((*key).to_owned(), value)),
        (None, None) => {}
    }
    Some(if entries.is_empty() { Value::Null } else { Value::Map(entries) })
}
