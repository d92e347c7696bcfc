//! All references of a kind, read from git's files where these are plain.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::layout::{Layout, is_hash};
use super::{Git, GitError};

/// How deep directories of references are followed.
const DEPTH_MAX: usize = 32;

/// What references stand for, by their full names.
pub type Refs = BTreeMap<String, String>;

impl Git {
    /// Lists the references below some names, as `refs/heads`, or of exactly these names.
    pub fn refs(&self, below: &[&str]) -> Result<Refs, GitError> {
        if let Some(layout) = self.layout() {
            return Ok(read(&layout, below));
        }
        let format = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let listing = self.run(&[&format[..], below].concat())?.stdout;
        let mut refs = Refs::new();
        for line in listing.split(|byte| *byte == b'\n') {
            note(line, below, &mut refs);
        }
        Ok(refs)
    }

    /// Returns whether references are stored in plain files.
    pub fn has_plain_refs(&self) -> bool {
        self.layout().is_some()
    }
}

/// Reads the loose ones first: git packs them before it removes them.
fn read(layout: &Layout, below: &[&str]) -> Refs {
    let mut loose = Refs::new();
    for name in below {
        walk(&layout.common, name, DEPTH_MAX, &mut loose);
    }
    let packed = fs::read(layout.common.join("packed-refs")).unwrap_or_default();
    let mut refs = Refs::new();
    for line in packed.split(|byte| *byte == b'\n') {
        note(line, below, &mut refs);
    }
    refs.append(&mut loose);
    refs
}

fn walk(common: &Path, name: &str, depth: usize, refs: &mut Refs) {
    let path = common.join(name);
    if let Ok(text) = fs::read(&path) {
        let text = text.trim_ascii();
        if is_hash(text) && !name.ends_with(".lock") {
            refs.insert(name.to_owned(), String::from_utf8_lossy(text).into_owned());
        }
        return;
    }
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        // Git's own names are text in nearly all repositories; others cannot be told of anyway.
        if let (Some(part), true) = (entry.file_name().to_str(), depth > 0) {
            walk(common, &format!("{name}/{part}"), depth - 1, refs);
        }
    }
}

/// Reads `<object> <name>`.
fn note(line: &[u8], below: &[&str], refs: &mut Refs) {
    let Ok(line) = std::str::from_utf8(line) else { return };
    let Some((object, name)) = line.split_once(' ') else { return };
    let is_meant = |of: &&str| {
        name.strip_prefix(*of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if is_hash(object.as_bytes()) && below.iter().any(is_meant) {
        refs.insert(name.to_owned(), object.to_owned());
    }
}

#[cfg(test)]
mod tests;
