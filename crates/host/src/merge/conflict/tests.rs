//! Every kind of conflict, produced by real git.

use super::*;
use crate::test_repository::Repository;

const LINES: &str = "1\n2\n3\n4\n5\n6\n7\n8\n";

/// Runs a script on each side, merges the sides, and returns the conflicts as `path: description`.
fn check(begin: &[(&str, &str)], ours: &str, theirs: &str) -> Vec<String> {
    let repository = Repository::new();
    for (path, content) in begin {
        repository.write(path, content);
    }
    repository.commit("begin");
    for (branch, script) in [("theirs", theirs), ("ours", ours)] {
        repository.run_git(&["checkout", "-q", "-b", branch, "main"]);
        let alias = format!("alias.do=!set -e; {script}");
        repository.run_git(&["-c", &alias, "do"]);
        repository.commit(branch);
    }
    repository.run_git(&["checkout", "-q", "main"]);
    let merged = merge_tree(&repository.git.plumbing(), "ours", "theirs").unwrap();
    let words = |found: &ConflictVersions| {
        assert!(!found.conflict.kind.remedy().is_empty());
        format!("{}: {}", found.conflict.path, found.conflict.kind.description())
    };
    merged.conflicts.iter().map(words).collect()
}

#[test]
fn both_changed() {
    assert_eq!(check(&[("a", LINES)], "echo o >> a", "echo t >> a"), ["a: both changed"]);
    assert_eq!(check(&[("a", LINES)], "sed -i 1s/1/o/ a", "echo t >> a"), [""; 0]);
}

#[test]
fn both_added() {
    assert_eq!(check(&[], "echo o > new", "echo t > new"), ["new: both added"]);
    assert_eq!(check(&[], "echo same > new", "echo same > new"), [""; 0]);
}

#[test]
fn changed_and_deleted() {
    let begin = [("a", LINES)];
    let deleted = check(&begin, "rm a", "echo t >> a");
    assert_eq!(deleted, ["a: deleted in the target, changed in the branch"]);
    let deleted = check(&begin, "echo o >> a", "rm a");
    assert_eq!(deleted, ["a: changed in the target, deleted in the branch"]);
}

#[test]
fn renamed() {
    let begin = [("a", LINES)];
    let twice = check(&begin, "git mv a b", "git mv a c");
    assert_eq!(twice, ["a: renamed", "b: renamed", "c: renamed"]);
    assert_eq!(check(&begin, "git mv a b", "git rm -q a"), ["b: renamed"]);
    assert_eq!(check(&begin, "git mv a b", "echo t >> a"), [""; 0], "git merges this");
}

#[test]
fn binary() {
    let begin = [("a", "\0one")];
    let both = check(&begin, "printf '\\000o' > a", "printf '\\000t' > a");
    assert_eq!(both, ["a: binary, both changed"]);
    assert_eq!(check(&begin, "printf '\\000o' > a", "echo t > b"), [""; 0]);
}

#[test]
fn mode() {
    let link = check(&[("a", LINES)], "ln -sf x a", "chmod +x a");
    assert!(link.contains(&"a: mode, both changed".to_owned()), "{link:?}");
    let begin = [("b", LINES)];
    let both = check(&begin, "cp b a; chmod +x a", "cp b a");
    assert_eq!(both, ["a: mode, both changed"], "the same text, but only one may be executed");
}

#[test]
fn file_against_directory() {
    let both = check(&[], "mkdir a; echo o > a/b", "echo t > a");
    assert_eq!(both.len(), 1);
    assert!(both[0].ends_with(": file against directory"), "{both:?}");
}

#[test]
fn attributes_come_from_the_target_and_not_from_what_is_checked_out() {
    let begin = [("log", "1\n"), ("lock", "1\n")];
    let ours =
        "printf 'log merge=union\\nlock -merge\\n' > .gitattributes; echo o >> log; echo o > lock";
    let both = check(&begin, ours, "echo t >> log; echo t > lock");
    assert_eq!(both, ["lock: binary, both changed"], "the log is united");
}
