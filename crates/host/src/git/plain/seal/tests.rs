//! Commits, each compared with the one that git makes of the same.

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
fn commits_are_those_of_git() {
    let repository = Repository::new();
    let git = &repository.git;
    let first = repository.say(&["rev-parse", "HEAD"]);
    let second = repository.commit("second");
    let tree = repository.say(&["rev-parse", "HEAD^{tree}"]);
    for (nth, message) in MESSAGES.iter().enumerate() {
        for parents in [&[][..], &[first.as_str()], &[&second, &first]] {
            let made = seal(git, &tree, parents, message);
            assert_eq!(made.is_some(), nth < 5, "{message:?}");
            let Some(made) = made else { continue };
            let date = repository.say(&["log", "-1", "--format=%ad", "--date=raw", &made]);
            let git = git.with_env("GIT_AUTHOR_DATE", &date).with_env("GIT_COMMITTER_DATE", &date);
            let mut args = vec!["commit-tree", &tree, "-F", "-"];
            args.extend(parents.iter().flat_map(|parent| ["-p", parent]));
            assert_eq!(git.run_with(&args, message.as_bytes()).unwrap().text(), made);
        }
    }
    repository.say(&["fsck", "--strict"]);
}

#[test]
fn what_is_unusual_is_left_to_git() {
    let repository = Repository::new();
    let git = &repository.git;
    let head = repository.say(&["rev-parse", "HEAD"]);
    let tree = repository.say(&["rev-parse", "HEAD^{tree}"]);
    let absent = "1".repeat(40);
    assert!(seal(git, &tree, &[&head], "m").is_some());
    let twice = [head.as_str(), &head];
    for (tree, parents) in
        [(&tree, &twice[..]), (&head, &[]), (&tree, &[&tree]), (&absent, &[]), (&tree, &[&absent])]
    {
        assert_eq!(seal(git, tree, parents, "m"), None);
    }
    assert_eq!(seal(git, "HEAD^{tree}", &[&head], "m"), None);
    let other = git.with_env("GIT_AUTHOR_NAME", "other");
    assert_eq!(seal(&other, &tree, &[&head], "m"), None);
    let top = Git::at_top(&repository.root()).plumbing();
    assert!(seal(&top, &tree, &[&head], "m").is_some());
    repository.say(&["config", "user.name", "no \u{ffff} character"]);
    assert_eq!(seal(git, &tree, &[&head], "m"), None);
}

#[test]
fn an_object_has_its_name_only_as_a_whole() {
    let repository = Repository::new();
    let plain = repository.git.plain().unwrap();
    let head = repository.say(&["rev-parse", "HEAD"]);
    let tree = repository.say(&["rev-parse", "HEAD^{tree}"]);
    let made = plain.seal(&tree, &[&head], "whole").unwrap();
    let objects = repository.root().join(".git/objects");
    let dir = objects.join(&made[..2]);
    let mode = fs::metadata(dir.join(&made[2..])).unwrap().permissions().mode();
    let gits = objects.join(&head[..2]).join(&head[2..]);
    assert_eq!(mode, fs::metadata(gits).unwrap().permissions().mode());
    assert!(!listed(&dir).iter().any(|name| name.starts_with("tmp_")), "{:?}", listed(&dir));

    // A directory in its place, and no new name for what was written.
    let object = gix::objs::Blob { data: b"in the way".to_vec() };
    let id = repository.git.run_with(&["hash-object", "--stdin"], &object.data).unwrap().text();
    let dir = objects.join(&id[..2]);
    fs::create_dir_all(dir.join(&id[2..]).join("x")).unwrap();
    // Other objects may lie there by chance.
    let before = listed(&dir);
    assert_eq!(plain.store(&object, Lasting::Now), None);
    assert_eq!(listed(&dir), before, "nothing is left behind");
}

fn seal(git: &Git, tree: &str, parents: &[&str], message: &str) -> Option<String> {
    git.plain().and_then(|plain| plain.seal(tree, parents, message))
}

fn listed(dir: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(dir).unwrap().map(|one| one.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}
