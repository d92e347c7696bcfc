//! What a plan says it changes, and which files are tests: names only, nothing is looked up.

#[cfg(test)]
mod tests;

/// Directories whose files are tests.
const TEST_DIRS: [&str; 7] = ["test", "tests", "__tests__", "spec", "specs", "e2e", "testdata"];

/// Returns whether a path is meant by an entry of `files_modified`: the file itself, a directory
/// above it, or a pattern with `*` (within a name) and `**` (across directories).
pub fn covers(entry: &str, path: &str) -> bool {
    let entry = entry.trim().trim_start_matches("./");
    // Plans add remarks, as in `src/a.rs (new)`; no entry is meant to be of two words otherwise.
    let is_whole = entry == path;
    let entry = entry.split_once(" (").map_or(entry, |(name, _)| name).trim_end_matches('/');
    if is_whole || entry == path {
        return true;
    }
    if entry.contains('*') {
        return fits(entry.as_bytes(), path.as_bytes());
    }
    !entry.is_empty() && path.strip_prefix(entry).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns whether any entry means a path.
pub fn is_declared(entries: &[String], path: &str) -> bool {
    entries.iter().any(|entry| covers(entry, path))
}

/// Matches a pattern in time that is at most the product of the lengths.
fn fits(pattern: &[u8], path: &[u8]) -> bool {
    let (mut at, mut n) = (0, 0);
    // Where to go on after the last star, and whether it crosses directories.
    let mut star: Option<(usize, usize, bool)> = None;
    while n < path.len() {
        if pattern.get(at) == Some(&b'*') {
            let deep = pattern.get(at + 1) == Some(&b'*');
            at += 1 + usize::from(deep);
            // `a/**/b` means `a/b` too.
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

/// Returns whether a file is a test, or decides which tests are run.
pub fn is_test(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if dirs.split('/').any(|dir| TEST_DIRS.contains(&dir)) || decides_tests(&path) {
        return true;
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_word = |word: &str| matches!(word, "test" | "tests" | "spec");
    let middle = name.split('.').skip(1);
    stem.split(['_', '-']).next().is_some_and(|word| word == "test")
        || stem.rsplit(['_', '-']).next().is_some_and(is_word)
        || middle.into_iter().any(is_word)
}

/// Returns whether a file decides which tests are run, so that a new one changes what they say.
pub fn decides_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "conftest.py" | "pytest.ini" | ".mocharc.json" | ".mocharc.yml")
}
