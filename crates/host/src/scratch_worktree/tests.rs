//! A scratch worktree that is used several times.

use std::fs;

use super::*;
use crate::test_repository::{Repository, write};

#[test]
fn each_checkout_is_clean_and_keeps_ignored_files() {
    let repository = Repository::new();
    repository.write(".gitignore", "/built\n");
    repository.commit("ignore");
    let path = repository.root().join(".worktrees/merge");
    let scratch = check_out(&repository.root(), &path, "main").unwrap();
    write(&path.join("file"), "changed\n");
    write(&path.join("new"), "n\n");
    write(&path.join("built"), "b\n");
    scratch.run(&["add", "new"]).unwrap();
    let main = repository.run_git(&["rev-parse", "main"]);
    let scratch = check_out(&repository.root(), &path, "main~1").unwrap();
    assert_eq!(scratch.run(&["status", "--porcelain"]).unwrap().text(), "?? built");
    assert_eq!(scratch.commit_of("HEAD").unwrap(), repository.git.commit_of("main~1").unwrap());
    assert_eq!(repository.run_git(&["rev-parse", "main"]), main);
    remove(&repository.root(), &path).unwrap();
    assert!(!path.exists());
    remove(&repository.root(), &path).unwrap();
}

#[test]
fn other_directories_and_worktrees_are_left_alone() {
    let repository = Repository::new();
    let path = repository.root().join(".worktrees/merge");
    write(&path.join("mine"), "m\n");
    let error = check_out(&repository.root(), &path, "main").unwrap_err();
    assert!(matches!(error, WorktreeError::PathOccupied { .. }), "{error}");
    fs::remove_dir_all(&path).unwrap();
    repository.run_git(&["worktree", "add", "-q", "-b", "mine", &path.to_string_lossy()]);
    write(&path.join("file"), "work\n");
    assert!(check_out(&repository.root(), &path, "main").is_err(), "somebody's branch is there");
    remove(&repository.root(), &path).unwrap();
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "work\n");
}
