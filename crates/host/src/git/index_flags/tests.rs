//! Index files of all versions, compared with real git.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::test_repository::Repository;

/// Creates a repository with names of many lengths, some of them flagged in the index.
fn repository() -> Repository {
    let repository = Repository::new();
    for n in 0..40 {
        repository.write(&format!("dir-{}/{}", n % 7, "f".repeat(n + 1)), "x\n");
    }
    repository.write("dir-3/\u{e4} b", "x\n");
    std::os::unix::fs::symlink("file", repository.root().join("link")).unwrap();
    repository.commit("files");
    let mark = |flag: &str, paths: &[&str]| {
        repository.run_git(&[&["update-index", flag, "--"], paths].concat());
    };
    mark("--assume-unchanged", &["file", "link", "dir-3/\u{e4} b"]);
    mark("--skip-worktree", &["dir-0/f", "file"]);
    repository
}

/// Lists the flagged files with git.
fn listed_by_git(git: &Git) -> Vec<FlaggedFile> {
    let listing = git.run(&["ls-files", "-v", "--stage", "-z"]).unwrap().stdout;
    listing.split(|byte| *byte == 0).filter_map(parse_line).collect()
}

fn index(repository: &Repository) -> PathBuf {
    repository.root().join(".git/index")
}

#[test]
fn flags_from_every_index_version_match_git() {
    let repository = repository();
    let expected = listed_by_git(&repository.git);
    assert_eq!(expected.len(), 4);
    for version in ["2", "3", "4"] {
        repository.run_git(&["update-index", "--index-version", version]);
        assert_eq!(
            read_flagged_files(&index(&repository)).as_ref(),
            Some(&expected),
            "version {version}"
        );
        assert_eq!(list_flagged_files(&repository.git).unwrap(), expected);
    }
    repository.write("new", "1\n");
    repository.commit("more");
    repository.run_git(&["status"]);
    assert_eq!(
        read_flagged_files(&index(&repository)),
        Some(expected),
        "with extensions after the entries"
    );
}

#[test]
fn split_and_truncated_indexes_are_left_to_git() {
    let repository = repository();
    let expected = listed_by_git(&repository.git);
    repository.run_git(&["update-index", "--split-index"]);
    repository.run_git(&["update-index", "--no-assume-unchanged", "file"]);
    repository.run_git(&["update-index", "--assume-unchanged", "file"]);
    assert_eq!(read_flagged_files(&index(&repository)), None);
    assert_eq!(list_flagged_files(&repository.git).unwrap(), expected);
    repository.run_git(&["update-index", "--no-split-index"]);
    let whole = fs::read(index(&repository)).unwrap();
    let cut = repository.root().join("cut");
    for length in 0..whole.len() / 2 {
        fs::write(&cut, &whole[..length]).unwrap();
        assert_eq!(read_flagged_files(&cut), None, "cut at {length}");
    }
    fs::write(&cut, b"DIRC\0\0\0\x05\0\0\0\0").unwrap();
    assert_eq!(read_flagged_files(&cut), None, "an unknown version");
}
