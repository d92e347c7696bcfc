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

#[test]
fn a_check_is_decided_by_what_it_runs() {
    for (command, path) in [
        ("sh check.sh", "check.sh"),
        ("./check.sh --all", "check.sh"),
        ("cd web && CI=1 bash -eu 'run/check.sh'; true", "run/check.sh"),
        ("if ! ./run/check.sh; then exit 1; fi", "run/check.sh"),
        ("diff out expected.txt", "expected.txt"),
        ("make test", "Makefile"),
        ("make -C web/ test", "web/GNUmakefile"),
        ("make -f build.mk", "build.mk"),
        ("just check", ".justfile"),
        ("npm test", "package.json"),
        ("cd web && pnpm run test", "web/package.json"),
    ] {
        assert!(decides_check(command, path), "{command}: {path}");
    }
    for (command, path) in [
        ("grep -q rye crop", "crop"),
        ("test -e crop && ! grep weeds crop", "crop"),
        ("cat crop | grep -q rye", "crop"),
        ("sh check.sh", "web/check.sh"),
        ("make test", "web/Makefile"),
        ("npm", "package.json"),
        ("cargo test", "Makefile"),
        ("", "crop"),
    ] {
        assert!(!decides_check(command, path), "{command}: {path}");
    }
}

#[test]
fn packages_that_are_asked_for_decide_no_check() {
    let package = |script: &str, packages: &str| {
        format!(r#"{{"scripts":{{"test":"{script}"}},"devDependencies":{{{packages}}}}}"#)
    };
    let before = package("vitest", "");
    assert!(differs_in_packages(&before, &package("vitest", r#""left-pad":"1""#)));
    assert!(!differs_in_packages(&before, &package("true", "")));
    assert!(!differs_in_packages(&before, "{"));
    assert!(!differs_in_packages("[]", "[]"));
}
