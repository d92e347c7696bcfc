//! References in all places they can be in, with real git.

use super::*;
use crate::test_repository::Repository;

const ALL: [&str; 3] = ["refs/heads", "refs/tags", "refs/stash"];

#[test]
fn files_say_what_git_says() {
    let repository = Repository::new();
    let first = repository.git.commit_of("HEAD").unwrap().unwrap();
    for name in ["packed", "deep/er/packed", "both"] {
        repository.say(&["branch", name]);
    }
    repository.say(&["tag", "-a", "-m", "Words", "noted"]);
    repository.say(&["pack-refs", "--all"]);
    repository.write("file", "two\n");
    repository.commit("second");
    repository.say(&["branch", "-f", "both"]);
    repository.say(&["branch", "deep/loose"]);
    repository.write("file", "three\n");
    repository.say(&["stash", "-q"]);
    repository.say(&["update-ref", "refs/headstrong/a", &first]);
    repository.write(".git/refs/heads/busy.lock", &format!("{first}\n"));
    let expected = repository.say(&[
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        "refs/heads",
        "refs/tags",
        "refs/stash",
    ]);
    let mut wanted = Refs::new();
    expected.lines().for_each(|line| note(line.as_bytes(), &ALL, &mut wanted));
    assert_eq!(wanted.len(), 7);
    assert_eq!(repository.git.refs(&ALL).unwrap(), wanted);
}

#[test]
fn where_there_are_no_such_files_git_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path().canonicalize().unwrap());
    git.run(&["init", "-q", "-b", "main", "--ref-format=reftable"]).unwrap();
    let tree = git.run(&["hash-object", "-w", "-t", "tree", "/dev/null"]).unwrap().text();
    let who = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    let make = [&who[..], &["commit-tree", &tree, "-m", "first"]].concat();
    let commit = git.run(&make).unwrap().text();
    git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
    git.run(&["update-ref", "refs/other/main", &commit]).unwrap();
    assert!(!git.has_plain_refs());
    assert_eq!(git.refs(&ALL).unwrap(), Refs::from([("refs/heads/main".to_owned(), commit)]));
}
