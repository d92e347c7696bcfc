//! Entries and paths, tests and no tests.

use super::*;

#[test]
fn entries_cover_files_directories_and_patterns() {
    for (entry, path, wanted) in [
        ("src/a.rs", "src/a.rs", true),
        ("./src/a.rs", "src/a.rs", true),
        ("src/a.rs (new)", "src/a.rs", true),
        ("src/a (old).rs", "src/a (old).rs", true),
        ("src", "src/a.rs", true),
        ("src/", "src/deep/a.rs", true),
        ("src/a", "src/a.rs", false),
        ("", "src/a.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**", "src/deep/a.rs", true),
        ("src/**/a.rs", "src/deep/er/a.rs", true),
        ("src/**/a.rs", "src/a.rs", true),
        ("*", "a/b", false),
        ("**", "a/b", true),
        ("src/*/mod.rs", "src/deep/mod.rs", true),
        ("src/*/mod.rs", "src/deep/er/mod.rs", false),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "aXbY", false),
    ] {
        assert_eq!(covers(entry, path), wanted, "{entry} {path}");
    }
}

#[test]
fn a_pattern_takes_no_endless_time() {
    let (pattern, path) = ("*a".repeat(200) + "b", "a".repeat(20_000));
    assert!(!covers(&pattern, &path));
}

#[test]
fn tests_are_known_by_their_names() {
    for path in [
        "tests/a.rs",
        "src/foo/tests.rs",
        "a_test.go",
        "test_a.py",
        "a.test.ts",
        "A.Spec.JS",
        "pkg/__tests__/x.js",
        "conftest.py",
        "test.sh",
        "check-test.sh",
        "spec/a_spec.rb",
    ] {
        assert!(is_test(path), "{path}");
    }
    for path in ["src/a.rs", "latest.rs", "contest.py", "testing.md", "src/attest.ts", "README.md"]
    {
        assert!(!is_test(path), "{path}");
    }
}
