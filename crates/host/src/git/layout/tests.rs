//! What is read from files must be what git says.

use std::fs;
use std::path::Path;

use super::{Layout, parse_head};
use crate::git::{Git, parse_worktrees};
use crate::test_repository::Repository;

/// Asks git itself, whatever can be read from files.
fn git_says(git: &Git, name: &str) -> Option<String> {
    let wanted = format!("{name}^{{commit}}");
    let answer = git.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
    Some(answer.unwrap()).filter(|answer| answer.success).map(|answer| answer.text())
}

fn layout(dir: &Path) -> Layout {
    Layout::find(dir, false).unwrap()
}

#[test]
fn references_are_read_as_git_reads_them() {
    let repository = Repository::new();
    repository.say(&["branch", "loose/deep"]);
    repository.say(&["branch", "packed"]);
    repository.say(&["update-ref", "refs/mow/run/x/target", "HEAD"]);
    repository.say(&["pack-refs", "--all"]);
    repository.write("file", "two\n");
    repository.commit("second");
    repository.say(&["branch", "-f", "loose/deep"]);
    let layout = layout(&repository.root());
    let names = ["HEAD", "refs/heads/main", "refs/heads/loose/deep", "refs/heads/packed"];
    for name in names.iter().chain(&["refs/mow/run/x/target", "refs/heads/no", "refs/heads/loose"])
    {
        assert_eq!(layout.commit(name), Some(git_says(&repository.git, name)), "{name}");
    }
    assert_ne!(layout.commit("refs/heads/packed"), layout.commit("HEAD"));
}

#[test]
fn names_that_mean_more_than_a_file_are_left_to_git() {
    let repository = Repository::new();
    let layout = layout(&repository.root());
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
        assert_eq!(layout.commit(name), None, "{name}");
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
        repository.say(&all);
    }
    repository.say(&["worktree", "lock", "--reason", "on a drive", ".worktrees/a"]);
    fs::remove_dir_all(repository.root().join(".worktrees/c")).unwrap();
    let listed = repository.git.run(&["worktree", "list", "--porcelain", "-z"]).unwrap();
    let listed = parse_worktrees(&listed.stdout);
    assert_eq!(listed.len(), 4);
    assert_eq!(layout(&repository.root()).worktrees(), Some(listed.clone()));
    let inside = layout(&repository.root().join(".worktrees/a"));
    assert_eq!(inside.worktrees(), Some(listed));
    assert_eq!(inside.common, repository.root().join(".git"));
    let own = Git::at_top(&repository.root().join(".worktrees/a"));
    let said = own.run(&["rev-parse", "--absolute-git-dir"]).unwrap().text();
    assert_eq!(inside.own.to_str(), Some(said.as_str()));
}

#[test]
fn only_the_top_counts_where_that_is_asked() {
    let repository = Repository::new();
    repository.write("below/file", "x");
    let below = repository.root().join("below");
    assert_eq!(layout(&below), layout(&repository.root()));
    assert_eq!(Layout::find(&below, true), None);
}

#[test]
fn an_unusual_repository_is_left_to_git() {
    let repository = Repository::new();
    let root = repository.root();
    let bare = root.join("bare.git");
    repository.say(&["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
    assert_eq!(Layout::find(&bare, false), None);
    fs::create_dir(root.join("broken")).unwrap();
    fs::write(root.join("broken/.git"), "gitdir: nowhere\n").unwrap();
    assert_eq!(Layout::find(&root.join("broken"), false), None);
    repository.say(&["config", "core.worktree", root.to_str().unwrap()]);
    assert_eq!(layout(&root).worktrees(), None);
}

#[test]
fn another_store_of_references_is_left_to_git() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path());
    if git.ask(&["init", "-q", "--ref-format=reftable"]).unwrap().success {
        assert_eq!(Layout::find(dir.path(), false), None);
    }
}

#[test]
fn an_unborn_branch_has_no_commit() {
    let repository = Repository::empty();
    assert_eq!(layout(&repository.root()).commit("HEAD"), Some(None));
    assert_eq!(repository.git.current_branch().unwrap().as_deref(), Some("main"));
}

#[test]
fn a_torn_head_is_left_to_git() {
    for bytes in [&b""[..], b"\n", b"ref: refs/tags/x\n", b"1234\n", b"ref: refs/heads/a\nb\n"] {
        assert_eq!(parse_head(bytes), None, "{:?}", String::from_utf8_lossy(bytes));
    }
}
