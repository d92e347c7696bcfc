//! Commits, each compared with the one that `git commit-tree` makes.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use crate::git::Git;
use crate::test_repository::Repository;

const MESSAGES: [&str; 7] = [
    "subject",
    "Merge phase 03\n\nMow-Phase: 03\nMow-Attempt: 1\n",
    "",
    "\n\n # kept as it is \r\n\n",
    "\u{e4}\u{1f600}\u{fffd}",
    "nul\0",
    "no characters: \u{fdd0} \u{ffff}",
];

#[test]
fn commits_match_git_commit_tree() {
    let repository = Repository::new();
    let git = &repository.git;
    let first = repository.run_git(&["rev-parse", "HEAD"]);
    let second = repository.commit("second");
    let tree = repository.run_git(&["rev-parse", "HEAD^{tree}"]);
    for (nth, message) in MESSAGES.iter().enumerate() {
        for parents in [&[][..], &[first.as_str()], &[&second, &first]] {
            let made = commit_tree(git, &tree, parents, message);
            assert_eq!(made.is_some(), nth < 5, "{message:?}");
            let Some(made) = made else { continue };
            let date = repository.run_git(&["log", "-1", "--format=%ad", "--date=raw", &made]);
            let git = git.with_env("GIT_AUTHOR_DATE", &date).with_env("GIT_COMMITTER_DATE", &date);
            let mut args = vec!["commit-tree", &tree, "-F", "-"];
            args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
            assert_eq!(git.run_with(&args, message.as_bytes()).unwrap().text(), made);
        }
    }
    repository.run_git(&["fsck", "--strict"]);
}

#[test]
fn unusual_input_is_left_to_git() {
    let repository = Repository::new();
    let git = &repository.git;
    let head = repository.run_git(&["rev-parse", "HEAD"]);
    let tree = repository.run_git(&["rev-parse", "HEAD^{tree}"]);
    let absent = "1".repeat(40);
    assert!(commit_tree(git, &tree, &[&head], "m").is_some());
    let twice = [head.as_str(), &head];
    for (tree, parents) in
        [(&tree, &twice[..]), (&head, &[]), (&tree, &[&tree]), (&absent, &[]), (&tree, &[&absent])]
    {
        assert_eq!(commit_tree(git, tree, parents, "m"), None);
    }
    assert_eq!(commit_tree(git, "HEAD^{tree}", &[&head], "m"), None);
    let other = git.with_env("GIT_AUTHOR_NAME", "other");
    assert_eq!(commit_tree(&other, &tree, &[&head], "m"), None);
    let top = Git::at_top(&repository.root()).plumbing();
    assert!(commit_tree(&top, &tree, &[&head], "m").is_some());
    repository.run_git(&["config", "user.name", "no \u{ffff} character"]);
    assert_eq!(commit_tree(git, &tree, &[&head], "m"), None);
}

#[test]
fn objects_appear_only_when_complete() {
    let repository = Repository::new();
    let repo = repository.git.in_process().unwrap();
    let head = repository.run_git(&["rev-parse", "HEAD"]);
    let tree = repository.run_git(&["rev-parse", "HEAD^{tree}"]);
    let made = repo.commit_tree(&tree, &[&head], "whole").unwrap();
    let objects = repository.root().join(".git/objects");
    let dir = objects.join(&made[..2]);
    let mode = fs::metadata(dir.join(&made[2..])).unwrap().permissions().mode();
    let gits = objects.join(&head[..2]).join(&head[2..]);
    assert_eq!(mode, fs::metadata(gits).unwrap().permissions().mode());
    assert!(!listed(&dir).iter().any(|name| name.starts_with("tmp_")), "{:?}", listed(&dir));

    // A directory blocks the final name, so the object cannot be stored.
    let object = gix::objs::Blob { data: b"in the way".to_vec() };
    let id = repository.git.run_with(&["hash-object", "--stdin"], &object.data).unwrap().text();
    let dir = objects.join(&id[..2]);
    fs::create_dir_all(dir.join(&id[2..]).join("x")).unwrap();
    // Other objects may lie there by chance.
    let before = listed(&dir);
    assert_eq!(repo.store(&object, Durability::Synced), None);
    assert_eq!(listed(&dir), before, "nothing is left behind");
}

fn commit_tree(git: &Git, tree: &str, parents: &[&str], message: &str) -> Option<String> {
    git.in_process().and_then(|repo| repo.commit_tree(tree, parents, message))
}

fn listed(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir).unwrap().map(|one| one.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}
