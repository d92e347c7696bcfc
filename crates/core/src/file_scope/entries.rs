//! Matches single paths against the `files_modified` entries of a plan.
//!
//! The functions compare names only; they never look at the file system.

#[cfg(test)]
mod tests;

/// Returns whether an entry of `files_modified` covers a path.
///
/// An entry is the file itself, a directory above it, or a pattern with `*` (within a name) and
/// `**` (across directories).
pub fn entry_covers(entry: &str, path: &str) -> bool {
    let entry = entry.trim().trim_start_matches("./");
    // Plans add remarks, as in `src/a.rs (new)`. An exact match wins, for names like `a (old).rs`.
    let is_exact = entry == path;
    let entry = entry.split_once(" (").map_or(entry, |(name, _)| name).trim_end_matches('/');
    if is_exact || entry == path {
        return true;
    }
    if entry.contains('*') {
        return matches_glob(entry.as_bytes(), path.as_bytes());
    }
    !entry.is_empty() && path.strip_prefix(entry).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns whether any entry covers a path.
pub fn is_declared(entries: &[String], path: &str) -> bool {
    entries.iter().any(|entry| entry_covers(entry, path))
}

/// Matches a glob pattern; the time is at most the product of the lengths.
fn matches_glob(pattern: &[u8], path: &[u8]) -> bool {
    let (mut at, mut n) = (0, 0);
    // The last star: the pattern position after it, the path position to retry from, and whether it
    // crosses directories.
    let mut star: Option<(usize, usize, bool)> = None;
    while n < path.len() {
        if pattern.get(at) == Some(&b'*') {
            let deep = pattern.get(at + 1) == Some(&b'*');
            at += 1 + usize::from(deep);
            // `a/**/b` also matches `a/b`.
            if deep && pattern.get(at) == Some(&b'/') {
                at += 1;
            }
            star = Some((at, n, deep));
        } else if pattern.get(at) == Some(&path[n]) {
            (at, n) = (at + 1, n + 1);
        } else {
            match star {
                Some((after, from, deep)) if deep || path[from] != b'/' => {
                    (at, n) = (after, from + 1);
                    star = Some((after, from + 1, deep));
                }
                _ => return false,
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}
