//! Trees built without the user's index.

use std::time::{Duration, SystemTime};

use super::*;
use crate::test_repository::Repository;

#[test]
fn a_tree_is_edited_without_the_user_s_index() {
    let repository = Repository::new();
    repository.write("deep/a", "a\n");
    repository.commit("second");
    let entries = tree_entries(&repository.git, "HEAD", &["deep"]).unwrap();
    assert_eq!(entries.len(), 1);
    let index = PrivateIndex::empty(&repository.git).unwrap();
    index.read_tree("HEAD").unwrap();
    let copy = IndexEntry { path: b"other/\xff b".to_vec(), ..entries[0].clone() };
    index.edit(&[b"deep/a".to_vec(), b"not there".to_vec()], &[copy]).unwrap();
    let tree = index.write_tree().unwrap();
    let paths: Vec<_> = tree_entries(&repository.git, &tree, &[])
        .unwrap()
        .into_iter()
        .map(|entry| entry.path)
        .collect();
    assert_eq!(paths, [b"file".to_vec(), b"other/\xff b".to_vec()]);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn index_files_of_killed_processes_are_removed() {
    let repository = Repository::new();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let gone = child.id();
    child.wait().unwrap();
    let left = repository.root().join(format!(".git/{PREFIX}{gone}.0"));
    let own = repository.root().join(format!(".git/{PREFIX}{}.999", std::process::id()));
    fs::write(&left, "").unwrap();
    fs::write(&own, "").unwrap();
    PrivateIndex::empty(&repository.git).unwrap();
    assert!(!left.exists());
    assert!(own.exists());
}

#[test]
fn a_change_right_after_the_index_was_written_is_seen() {
    let repository = Repository::new();
    repository.run_git(&["config", "core.trustctime", "false"]);
    // All files have the same mtime, some time ago.
    let time = SystemTime::now() - Duration::from_secs(100);
    repository.set_time("file", time);
    repository.run_git(&["update-index", "--refresh"]);
    repository.set_time(".git/index", time);
    repository.write("file", "two\n");
    repository.set_time("file", time);
    let private = PrivateIndex::of_worktree(&repository.git).unwrap();
    let changed = private.git().run(&["diff-files", "--name-only"]).unwrap().text();
    assert_eq!(changed, "file");
}
