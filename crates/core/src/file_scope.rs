//! The file scope of plans: which files they declare in `files_modified`, and whether scopes
//! overlap.
//!
//! Entries are written by people and agents, so they are normalised first. A directory covers all
//! files below it. For phases that run at the same time, the scope only has to include every file
//! that may change, so a pattern is shortened to its directory ([`normalized`]). The files of
//! parallel plans are committed by their scope, so there every entry must be a plain path
//! ([`plain_paths`]).

mod entries;
mod owners;
mod test_files;
#[cfg(test)]
mod tests;

pub use entries::DeclaredFiles;
pub use owners::FileOwners;
pub use test_files::{is_test_config, is_test_file};

/// The project root; a scope with this entry covers every file.
pub const EVERYTHING: &str = ".";

/// Normalises the `files_modified` entries of plans: sorted, each path once.
pub fn normalized<'a>(entries: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut all: Vec<_> = entries.into_iter().filter_map(|entry| normalize(entry)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the path that an entry means.
///
/// Returns `None` for an entry like `n/a`, and for planning files, which phases never share.
fn normalize(entry: &str) -> Option<String> {
    let entry = entry.trim().trim_matches(['`', '"', '\'']);
    // Plans add remarks after the path: `src/a.rs (new)`.
    let path = entry.split_once(" (").map_or(entry, |(path, _)| path).trim_end();
    let empty_words = ["", "none", "n/a", "tbd", "-"];
    if empty_words.iter().any(|word| path.eq_ignore_ascii_case(word)) {
        return None;
    }
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            // `[` does not start a pattern: route files of many projects have names like `[id]`.
            pattern if pattern.contains(['*', '?', '{']) => break,
            part => parts.push(part),
        }
    }
    match parts.first() {
        Some(&".planning") => None,
        Some(_) => Some(parts.join("/")),
        None => Some(EVERYTHING.to_owned()),
    }
}

/// Returns a path that two normalised scopes share, or `None` if they do not overlap.
pub fn common_path<'a>(a: &'a [String], b: &'a [String]) -> Option<&'a str> {
    let below = |other: &'a [String], own: &'a [String]| {
        own.iter().find(|path| is_below(path, other)).map(String::as_str)
    };
    below(a, b).or_else(|| below(b, a))
}

/// Returns whether a normalised scope covers every one of some paths.
pub fn covers_all(scope: &[String], paths: &[String]) -> bool {
    paths.iter().all(|path| is_below(path, scope))
}

/// Normalises entries that must all be plain paths; returns `None` when one is not, or none is
/// left.
///
/// A pattern, a remark after a path, or a path outside the project is not plain. Planning files are
/// left out, because they belong to the worker.
pub fn plain_paths(entries: &[String]) -> Option<Vec<String>> {
    let is_plain = |entry: &String| {
        let is_special =
            |c: char| c.is_whitespace() || c.is_control() || "*?[]{}\\\"'`:".contains(c);
        let mut parts = entry.split('/').filter(|part| !matches!(*part, "" | "."));
        let is_inside = !entry.starts_with(['/', '~']) && entry.split('/').all(|part| part != "..");
        is_inside && !entry.contains(is_special) && parts.next().is_some()
    };
    let all = entries.iter().all(is_plain).then(|| normalized(entries))?;
    (!all.is_empty()).then_some(all)
}

/// Returns whether a sorted scope has a path or one of its parent directories.
fn is_below(path: &str, scope: &[String]) -> bool {
    let has = |path: &str| scope.binary_search_by(|entry| entry.as_str().cmp(path)).is_ok();
    let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
    has(path) || has(EVERYTHING) || parents.into_iter().any(has)
}
