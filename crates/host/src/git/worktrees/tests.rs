//! Git's machine formats, and real repositories.

use std::fs;
use std::path::PathBuf;

use super::{GitWorktree, parse_names, parse_worktrees};
use crate::git::Git;

#[test]
fn worktree_list_is_parsed_with_unusual_paths() {
    let output = b"worktree /a b\nc\0HEAD 1234\0branch refs/heads/main\0\0\
        worktree /d\0HEAD 5678\0detached\0locked on a drive\0\0\
        worktree /e\0bare\0\0worktree /f\0HEAD 0000\0branch refs/heads/new\0prunable gone\0\0";
    let worktrees = parse_worktrees(output);
    assert_eq!(worktrees.len(), 4);
    assert_eq!(worktrees[0].path, PathBuf::from("/a b\nc"));
    assert_eq!(worktrees[0].branch_name(), Some("main"));
    assert_eq!(worktrees[1].branch_name(), None);
    assert!(worktrees[1].locked && !worktrees[0].locked);
    assert_eq!(worktrees[1].lock_reason, "on a drive");
    assert!(worktrees[2].bare);
    assert_eq!(worktrees[3].head, None, "a branch without commits has no head");
}

#[test]
fn malformed_output_lists_no_worktree() {
    assert_eq!(parse_worktrees(b""), Vec::<GitWorktree>::new());
    assert_eq!(parse_worktrees(b"branch refs/heads/x\0\0"), Vec::<GitWorktree>::new());
    assert_eq!(parse_names(b"a b\0\xff\0\0"), ["a b", "\u{fffd}"]);
}

/// A repository with one commit of one file.
fn repository() -> (tempfile::TempDir, Git) {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path());
    git.run(&["init", "-q", "-b", "main"]).unwrap();
    git.run(&["config", "user.name", "Tester"]).unwrap();
    git.run(&["config", "user.email", "tester@example.com"]).unwrap();
    fs::write(dir.path().join("file"), "one\n").unwrap();
    git.run(&["add", "."]).unwrap();
    git.run(&["-c", "commit.gpgsign=false", "commit", "-qm", "first"]).unwrap();
    (dir, git)
}

#[test]
fn branches_commits_and_files_are_found() {
    let (_dir, git) = repository();
    assert_eq!(git.current_branch().unwrap().as_deref(), Some("main"));
    assert!(git.branch_exists("main").unwrap());
    assert!(!git.branch_exists("mai").unwrap());
    assert_eq!(git.commit_of("nowhere").unwrap(), None);
    assert_eq!(git.commit_of("--all").unwrap(), None);
    let head = git.commit_of("HEAD").unwrap().unwrap();
    assert!(git.is_ancestor(&head, "main").unwrap());
    assert_eq!(git.file_in("main", "file".as_ref()).unwrap().as_deref(), Some(&b"one\n"[..]));
    assert_eq!(git.file_in("main", "other".as_ref()).unwrap(), None);
    git.run(&["checkout", "-q", "--detach"]).unwrap();
    assert_eq!(git.current_branch().unwrap(), None);
}

#[test]
fn a_stash_is_kept_and_dropped_by_its_commit() {
    let (dir, git) = repository();
    assert_eq!(git.stash_push("nothing").unwrap(), None);
    fs::write(dir.path().join("new"), "n").unwrap();
    assert!(!git.is_dirty(false).unwrap());
    assert!(git.is_dirty(true).unwrap());
    let first = git.stash_push("first").unwrap().unwrap();
    assert!(!git.is_dirty(true).unwrap());
    fs::write(dir.path().join("file"), "two\n").unwrap();
    let second = git.stash_push("second").unwrap().unwrap();
    assert_eq!(git.stash_named("first").unwrap().as_ref(), Some(&first));
    assert_eq!(git.stash_named("fir").unwrap(), None);
    git.stash_drop(&first).unwrap();
    git.stash_drop("0123").unwrap();
    assert_eq!(git.stashes().unwrap(), [second]);
}

#[test]
fn is_below_compares_whole_path_components() {
    let is_below = |path: &str, dir: &str| super::is_below(path.as_bytes(), dir.as_bytes());
    assert!(is_below("a/b", "a") && is_below("a/b", "a/") && is_below("a", "a"));
    assert!(!is_below("ab", "a") && !is_below("ab/c", "a/"));
}
