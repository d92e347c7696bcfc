//! Finds the points in the source, so that nobody keeps a list of them by hand.
//!
//! For development only: the tests and `cargo xtask failpoints` read it.

use std::fs;
use std::io;
use std::path::Path;

/// What a point looks like in the source, up to its name.
const CALLS: [&str; 2] = ["failpoint::reach(\"", "failpoint::reach_torn(\""];

/// A point and where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Its name.
    pub name: String,
    /// The file, relative to the repository.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

/// Lists all points of the crates of a repository, by name.
pub fn points(repository: &Path) -> io::Result<Vec<Point>> {
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

/// Lists the points of one file; comments have none.
pub fn points_in(file: &str, text: &str) -> Vec<Point> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        let name = CALLS.iter().find_map(|call| line.split_once(call)?.1.split('"').next());
        found.extend(name.map(|name| Point {
            name: name.to_owned(),
            file: file.to_owned(),
            line: at + 1,
        }));
    }
    found
}
