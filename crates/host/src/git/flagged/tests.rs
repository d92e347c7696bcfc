//! Indexes of all versions, with real git.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::test_repository::Repository;

/// A repository with files of many lengths, some of which git was told not to look at.
fn repository() -> Repository {
    let repository = Repository::new();
    for n in 0..40 {
        repository.write(&format!("dir-{}/{}", n % 7, "f".repeat(n + 1)), "x\n");
    }
    repository.write("dir-3/\u{e4} b", "x\n");
    std::os::unix::fs::symlink("file", repository.root().join("link")).unwrap();
    repository.commit("files");
    let mark = |flag: &str, paths: &[&str]| {
        repository.say(&[&["update-index", flag, "--"], paths].concat());
    };
    mark("--assume-unchanged", &["file", "link", "dir-3/\u{e4} b"]);
    mark("--skip-worktree", &["dir-0/f", "file"]);
    repository
}

/// What git itself says.
fn listed(git: &Git) -> Vec<Flagged> {
    let listing = git.run(&["ls-files", "-v", "--stage", "-z"]).unwrap().stdout;
    listing.split(|byte| *byte == 0).filter_map(parse_line).collect()
}

fn index(repository: &Repository) -> PathBuf {
    repository.root().join(".git/index")
}

#[test]
fn an_index_of_each_version_says_what_git_says() {
    let repository = repository();
    let expected = listed(&repository.git);
    assert_eq!(expected.len(), 4);
    for version in ["2", "3", "4"] {
        repository.say(&["update-index", "--index-version", version]);
        assert_eq!(read(&index(&repository)).as_ref(), Some(&expected), "version {version}");
        assert_eq!(flagged(&repository.git).unwrap(), expected);
    }
    repository.write("new", "1\n");
    repository.commit("more");
    repository.say(&["status"]);
    assert_eq!(read(&index(&repository)), Some(expected), "with git's notes behind the entries");
}

#[test]
fn an_index_that_does_not_list_all_is_left_to_git() {
    let repository = repository();
    let expected = listed(&repository.git);
    repository.say(&["update-index", "--split-index"]);
    repository.say(&["update-index", "--no-assume-unchanged", "file"]);
    repository.say(&["update-index", "--assume-unchanged", "file"]);
    assert_eq!(read(&index(&repository)), None);
    assert_eq!(flagged(&repository.git).unwrap(), expected);
    repository.say(&["update-index", "--no-split-index"]);
    let whole = fs::read(index(&repository)).unwrap();
    let cut = repository.root().join("cut");
    for length in 0..whole.len() / 2 {
        fs::write(&cut, &whole[..length]).unwrap();
        assert_eq!(read(&cut), None, "cut at {length}");
    }
    fs::write(&cut, b"DIRC\0\0\0\x05\0\0\0\0").unwrap();
    assert_eq!(read(&cut), None, "a version of later");
}
