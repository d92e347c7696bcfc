//! Loose refs, packed refs and reftables, with real git.

use super::*;
use crate::test_repository::Repository;

const ALL: [&str; 3] = ["refs/heads", "refs/tags", "refs/stash"];

#[test]
fn refs_from_files_match_git() {
    let repository = Repository::new();
    let first = repository.git.commit_of("HEAD").unwrap().unwrap();
    for name in ["packed", "deep/er/packed", "both"] {
        repository.run_git(&["branch", name]);
    }
    repository.run_git(&["tag", "-a", "-m", "Words", "noted"]);
    repository.run_git(&["pack-refs", "--all"]);
    repository.write("file", "two\n");
    repository.commit("second");
    repository.run_git(&["branch", "-f", "both"]);
    repository.run_git(&["branch", "deep/loose"]);
    repository.write("file", "three\n");
    repository.run_git(&["stash", "-q"]);
    repository.run_git(&["update-ref", "refs/headstrong/a", &first]);
    repository.write(".git/refs/heads/busy.lock", &format!("{first}\n"));
    let expected = repository.run_git(&[
        "for-each-ref",
        "--format=%(objectname) %(refname)",
        "refs/heads",
        "refs/tags",
        "refs/stash",
    ]);
    let mut wanted = Refs::new();
    expected.lines().for_each(|line| insert_ref(line.as_bytes(), &ALL, &mut wanted));
    assert_eq!(wanted.len(), 7);
    assert_eq!(repository.git.refs(&ALL).unwrap(), wanted);
}

#[test]
fn refs_in_a_reftable_are_read_with_git() {
    let dir = tempfile::tempdir().unwrap();
    let git = Git::new(dir.path().canonicalize().unwrap());
    git.run(&["init", "-q", "-b", "main", "--ref-format=reftable"]).unwrap();
    let tree = git.run(&["hash-object", "-w", "-t", "tree", "/dev/null"]).unwrap().text();
    let identity = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    let make = [&identity[..], &["commit-tree", &tree, "-m", "first"]].concat();
    let commit = git.run(&make).unwrap().text();
    git.run(&["update-ref", "refs/heads/main", &commit]).unwrap();
    git.run(&["update-ref", "refs/other/main", &commit]).unwrap();
    assert!(!git.has_file_refs());
    assert_eq!(git.refs(&ALL).unwrap(), Refs::from([("refs/heads/main".to_owned(), commit)]));
}
