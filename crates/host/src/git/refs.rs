//! Lists the refs below given prefixes, from git's files if refs are stored in files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::git_dirs::{GitDirs, is_hash};
use super::{Git, GitError};

/// The deepest nesting of ref directories that is followed.
const DEPTH_MAX: usize = 32;

/// Object hashes by full ref name.
pub type Refs = BTreeMap<String, String>;

impl Git {
    /// Lists the refs below some prefixes such as `refs/heads`, or with exactly these names.
    pub fn refs(&self, below: &[&str]) -> Result<Refs, GitError> {
        if let Some(dirs) = self.git_dirs() {
            return Ok(read(&dirs, below));
        }
        let format = ["for-each-ref", "--format=%(objectname) %(refname)"];
        let listing = self.run(&[&format[..], below].concat())?.stdout;
        let mut refs = Refs::new();
        for line in listing.split(|byte| *byte == b'\n') {
            insert_ref(line, below, &mut refs);
        }
        Ok(refs)
    }

    /// Returns whether refs are stored in files, and not in a reftable.
    pub fn has_file_refs(&self) -> bool {
        self.git_dirs().is_some()
    }
}

/// Reads loose refs before packed ones: git packs a ref before it removes the loose file.
fn read(dirs: &GitDirs, below: &[&str]) -> Refs {
    let mut loose = Refs::new();
    for name in below {
        walk_loose_refs(&dirs.common_dir, name, DEPTH_MAX, &mut loose);
    }
    let packed = fs::read(dirs.common_dir.join("packed-refs")).unwrap_or_default();
    let mut refs = Refs::new();
    for line in packed.split(|byte| *byte == b'\n') {
        insert_ref(line, below, &mut refs);
    }
    refs.append(&mut loose);
    refs
}

fn walk_loose_refs(common: &Path, name: &str, depth: usize, refs: &mut Refs) {
    let path = common.join(name);
    if let Ok(text) = fs::read(&path) {
        let text = text.trim_ascii();
        if is_hash(text) && !name.ends_with(".lock") {
            refs.insert(name.to_owned(), String::from_utf8_lossy(text).into_owned());
        }
        return;
    }
    for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
        // Ref names are UTF-8 in nearly all repositories; other names cannot be represented here.
        if let (Some(part), true) = (entry.file_name().to_str(), depth > 0) {
            walk_loose_refs(common, &format!("{name}/{part}"), depth - 1, refs);
        }
    }
}

/// Parses `<object> <name>` and inserts the ref if it is below one of the prefixes.
fn insert_ref(line: &[u8], below: &[&str], refs: &mut Refs) {
    let Ok(line) = std::str::from_utf8(line) else { return };
    let Some((object, name)) = line.split_once(' ') else { return };
    let is_selected = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if is_hash(object.as_bytes()) && below.iter().any(is_selected) {
        refs.insert(name.to_owned(), object.to_owned());
    }
}

#[cfg(test)]
mod tests;
