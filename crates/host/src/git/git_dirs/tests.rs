//! Answers read from git's files must match git's own.

use std::fs;
use std::path::Path;

use super::{GitDirs, parse_head};
use crate::git::{Git, parse_worktrees};
use crate::test_repository::Repository;

/// Asks git itself, even if the answer could be read from files.
fn commit_from_git(git: &Git, name: &str) -> Option<String> {
    let wanted = format!("{name}^{{commit}}");
    let answer = git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
    Some(answer.unwrap()).filter(|answer| answer.success).map(|answer| answer.text())
}

fn git_dirs(dir: &Path) -> GitDirs {
    GitDirs::find(dir, false).unwrap()
}

#[test]
fn references_are_read_as_git_reads_them() {
    let repository = Repository::new();
    repository.run_git(&["branch", "loose/deep"]);
    repository.run_git(&["branch", "packed"]);
    repository.run_git(&["update-ref", "refs/mow/run/x/target", "HEAD"]);
    repository.run_git(&["pack-refs", "--all"]);
    repository.write("file", "two\n");
    repository.commit("second");
    repository.run_git(&["branch", "-f", "loose/deep"]);
    let dirs = git_dirs(&repository.root());
    let names = ["HEAD", "refs/heads/main", "refs/heads/loose/deep", "refs/heads/packed"];
    for name in names.iter().chain(&["refs/mow/run/x/target", "refs/heads/no", "refs/heads/loose"])
    {
        assert_eq!(dirs.resolve_ref(name), Some(commit_from_git(&repository.git, name)), "{name}");
    }
    assert_ne!(dirs.resolve_ref("refs/heads/packed"), dirs.resolve_ref("HEAD"));
}

#[test]
fn revision_expressions_are_left_to_git() {
    let repository = Repository::new();
    let dirs = git_dirs(&repository.root());
    for name in [
        "main",
        "HEAD~1",
        "refs/heads/main~1",
        "refs/heads/../../config",
        "refs/heads//main",
        "refs/tags/v1",
        "refs/heads/main@{1}",
        "0123456789012345678901234567890123456789",
    ] {
        assert_eq!(dirs.resolve_ref(name), None, "{name}");
    }
}

#[test]
fn worktrees_are_listed_as_git_lists_them() {
    let repository = Repository::new();
    for (path, rest) in [("b wt", ["-b", "b"]), ("a", ["-b", "a/x"]), ("c", ["--detach", "HEAD"])] {
        let path = repository.root().join(".worktrees").join(path);
        let path = path.to_str().unwrap();
        let all = [&["worktree", "add", "--quiet"], &rest[..1], &[], &[]].concat();
        let all = match rest {
            ["-b", branch] => [&all[..], &[branch, path]].concat(),
            _ => [&all[..], &[path]].concat(),
        };
        repository.run_git(&all);
    }
    repository.run_git(&["worktree", "lock", "--reason", "on a drive", ".worktrees/a"]);
    fs::remove_dir_all(repository.root().join(".worktrees/c")).unwrap();
    let listed = repository.git.run(&["worktree", "list", "--porcelain", "-z"]).unwrap();
    let listed = parse_worktrees(&listed.stdout);
    assert_eq!(listed.len(), 4);
    assert_eq!(git_dirs(&repository.root()).worktrees(), Some(listed.clone()));
    let inside = git_dirs(&repository.root().join(".worktrees/a"));
    assert_eq!(inside.worktrees(), Some(listed));
    assert_eq!(inside.common_dir, repository.root().join(".git"));
    let own = Git::at_top(&repository.root().join(".worktrees/a"));
    let output = own.run(&["rev-parse", "--absolute-git-dir"]).unwrap().text();
    assert_eq!(inside.git_dir.to_str(), Some(output.as_str()));
}

#[test]
fn with_top_only_no_directory_above_is_searched() {
    let repository = Repository::new();
    repository.write("below/file", "x");
    let below = repository.root().join("below");
    assert_eq!(git_dirs(&below), git_dirs(&repository.root()));
    assert_eq!(GitDirs::find(&below, true), None);
}

#[test]
fn an_unusual_repository_is_left_to_git() {
    let repository = Repository::new();
    let root = repository.root();
    let bare = root.join("bare.git");
    repository.run_git(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert_eq!(GitDirs::find(&bare, false), None);
    fs::create_dir(root.join("broken")).unwrap();
    fs::write(root.join("broken/.git"), "gitdir: nowhere\n").unwrap();
    assert_eq!(GitDirs::find(&root.join("broken"), false), None);
    repository.run_git(&["config", "core.worktree", root.to_str().unwrap()]);
    assert_eq!(git_dirs(&root).worktrees(), None);
}

#[test]
fn reftables_are_left_to_git() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path());
    if git.ask(&["init", "-q", "--ref-format=reftable"]).unwrap().success {
        assert_eq!(GitDirs::find(dir.path(), false), None);
    }
}

#[test]
fn an_unborn_branch_has_no_commit() {
    let repository = Repository::empty();
    assert_eq!(git_dirs(&repository.root()).resolve_ref("HEAD"), Some(None));
    assert_eq!(repository.git.current_branch().unwrap().as_deref(), Some("main"));
}

#[test]
fn a_malformed_head_is_left_to_git() {
    for bytes in [&b""[..], b"\n", b"ref: refs/tags/x\n", b"1234\n", b"ref: refs/heads/a\nb\n"] {
        assert_eq!(parse_head(bytes), None, "{:?}", String::from_utf8_lossy(bytes));
    }
}
