//! Finds all failpoints in the source code, so that no list has to be maintained.
//!
//! For development only: the tests and `cargo xtask failpoints` use this module.

use std::fs;
use std::io;
use std::path::Path;

/// The source text of a failpoint up to its name.
const CALLS: [&str; 2] = ["failpoint::reach(\"", "failpoint::reach_torn(\""];

/// A failpoint and its place in the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failpoint {
    /// The name, such as `merge.ref.moved`.
    pub name: String,
    /// The path of the file, relative to the repository.
    pub file: String,
    /// The line number, counted from 1.
    pub line: usize,
}

/// Lists the failpoints of all crates of a repository, sorted by name. Files `tests.rs` are
/// skipped.
pub fn points(repository: &Path) -> io::Result<Vec<Failpoint>> {
    let mut all = Vec::new();
    let mut folders = Vec::new();
    for entry in fs::read_dir(repository.join("crates"))? {
        folders.push(entry?.path().join("src"));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && path.file_name().is_some_and(|name| name != "tests.rs")
            {
                let file = path.strip_prefix(repository).unwrap_or(&path);
                all.extend(points_in(&file.to_string_lossy(), &fs::read_to_string(&path)?));
            }
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// Lists the failpoints of one file; comment lines are skipped.
pub fn points_in(file: &str, text: &str) -> Vec<Failpoint> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let name = CALLS.iter().find_map(|call| line.split_once(call)?.1.split('"').next());
        found.extend(name.map(|name| Failpoint {
            name: name.to_owned(),
            file: file.to_owned(),
            line: at + 1,
        }));
    }
    found
}
