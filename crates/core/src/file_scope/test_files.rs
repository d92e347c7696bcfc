//! Recognises test files and test configuration by their names.

#[cfg(test)]
mod tests;

/// Directories whose files all count as tests.
const TEST_DIRS: [&str; 7] = ["test", "tests", "__tests__", "spec", "specs", "e2e", "testdata"];

/// Returns whether a file is a test or a configuration of tests, judged by its path.
pub fn is_test_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (dirs, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if dirs.split('/').any(|dir| TEST_DIRS.contains(&dir)) || is_test_config(&path) {
        return true;
    }
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_word = |word: &str| matches!(word, "test" | "tests" | "spec");
    let middle = name.split('.').skip(1);
    stem.split(['_', '-']).next().is_some_and(|word| word == "test")
        || stem.rsplit(['_', '-']).next().is_some_and(is_word)
        || middle.into_iter().any(is_word)
}

/// Returns whether a file configures which tests run; even a new one changes existing tests.
pub fn is_test_config(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(name, "conftest.py" | "pytest.ini" | ".mocharc.json" | ".mocharc.yml")
}
