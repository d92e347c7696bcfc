//! File names that are tests, and file names that only look like tests.

use super::*;

#[test]
fn test_files_are_recognised_by_name() {
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
        assert!(is_test_file(path), "{path}");
    }
    for path in ["src/a.rs", "latest.rs", "contest.py", "testing.md", "src/attest.ts", "README.md"]
    {
        assert!(!is_test_file(path), "{path}");
    }
}
