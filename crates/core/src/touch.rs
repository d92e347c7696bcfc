//! Which files plans say they change, and whether two phases change the same ones.
//!
//! What people and agents write into `files_modified` is brought into one form first. Between phases
//! it only has to name all that may be changed: a pattern is cut back to the directory it is about.
//! Plans side by side are committed by it, so there only plain names will do. A directory covers all
//! below it.

mod owners;
#[cfg(test)]
mod tests;

pub use owners::Owners;

/// The directory that everything is below.
pub const EVERYTHING: &str = ".";

/// Brings what plans say into one form: sorted, each path once.
pub fn normalized<'a>(entries: impl IntoIterator<Item = &'a String>) -> Vec<String> {
    let mut all: Vec<_> = entries.into_iter().filter_map(|entry| normalize(entry)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the path that an entry means; `None` for none, and for planning files, which phases
/// never share.
fn normalize(entry: &str) -> Option<String> {
    let entry = entry.trim().trim_matches(['`', '"', '\'']);
    // A remark behind the path: `src/a.rs (new)`.
    let path = entry.split_once(" (").map_or(entry, |(path, _)| path).trim_end();
    let nothing = ["", "none", "n/a", "tbd", "-"];
    if nothing.iter().any(|word| path.eq_ignore_ascii_case(word)) {
        return None;
    }
    let path = path.replace('\\', "/");
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            // Brackets are left: they are part of the names of routes in many projects.
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

/// Finds a path that both change.
pub fn common<'a>(a: &'a [String], b: &'a [String]) -> Option<&'a str> {
    let below = |other: &'a [String], own: &'a [String]| {
        own.iter().find(|path| is_below(path, other)).map(String::as_str)
    };
    below(a, b).or_else(|| below(b, a))
}

/// Returns whether all paths are among some others, or below them.
pub fn covers(some: &[String], paths: &[String]) -> bool {
    paths.iter().all(|path| is_below(path, some))
}

/// Returns the plain names of a list, sorted, in one spelling; `None` when they are not all plain.
///
/// A pattern, a remark behind a name or a path that leads out of the project says nothing that can
/// be relied on. Planning files are the worker's own and left out.
pub fn plain(entries: &[String]) -> Option<Vec<String>> {
    let is_plain = |entry: &String| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "*?[]{}\\\"'`:".contains(c);
        let mut parts = entry.split('/').filter(|part| !matches!(*part, "" | "."));
        let is_inside = !entry.starts_with(['/', '~']) && entry.split('/').all(|part| part != "..");
        is_inside && !entry.contains(is_odd) && parts.next().is_some()
    };
    let all = entries.iter().all(is_plain).then(|| normalized(entries))?;
    (!all.is_empty()).then_some(all)
}

/// Returns whether a path, or a directory that it is in, is in a sorted list.
fn is_below(path: &str, list: &[String]) -> bool {
    let has = |path: &str| list.binary_search_by(|own| own.as_str().cmp(path)).is_ok();
    let parents = path.match_indices('/').map(|(at, _)| &path[..at]);
    has(path) || has(EVERYTHING) || parents.into_iter().any(has)
}
