//! A repository with a submodule, and a worktree in which both were changed.

use super::*;
use crate::merge::{Kind, Merge, MergeOutcome, merge};
use crate::phase_worktree::{Prepare, Remove, Removed, prepare, remove};
use crate::test_repository::{Repository, commit, write};

/// Allows what git forbids between repositories of one machine unless it is asked for.
const LOCAL: [&str; 2] = ["-c", "protocol.file.allow=always"];

/// A repository with the submodule `parts/lib`, which has a past of two commits, and the worktree of
/// a phase that has it too.
fn repository() -> (Repository, Repository, PathBuf) {
    let lib = Repository::new();
    lib.write("file", "two\n");
    lib.commit("second");
    let repository = Repository::new();
    let from = lib.root().to_string_lossy().into_owned();
    let add = ["submodule", "--quiet", "add", &from, "parts/lib"];
    repository.say(&[&LOCAL[..], &add].concat());
    repository.commit("with a library");
    let path = repository.root().join(".worktrees/p03");
    let job = Prepare { path: path.clone(), branch: "phase-03".into(), base: "main".into() };
    prepare(&repository.root(), &job).unwrap();
    let worktree = Git::at_top(&path);
    worktree.run(&[&LOCAL[..], &["submodule", "--quiet", "update", "--init"]].concat()).unwrap();
    (lib, repository, path)
}

/// Commits in the submodule of the worktree and then around it; returns the inner commit.
fn work(path: &Path) -> String {
    let inner = Git::at_top(&path.join("parts/lib"));
    for (key, value) in [("user.name", "Tester"), ("user.email", "t@example.com")] {
        inner.run(&["config", key, value]).unwrap();
    }
    write(&path.join("parts/lib/new"), "n\n");
    let made = commit(&inner, "only here");
    commit(&Git::at_top(path), "move the library");
    made
}

fn going(path: &Path) -> Remove {
    Remove { path: path.to_path_buf(), branch: "phase-03".into(), delete_branch: false }
}

#[test]
fn commits_of_a_submodule_outlive_the_worktree_they_were_made_in() {
    let (_lib, repository, path) = repository();
    let made = work(&path);
    assert_eq!(remove(&repository.root(), &going(&path)).unwrap(), Removed::Gone);
    assert!(!path.exists());
    let inner = Git::at_top(&repository.root().join("parts/lib"));
    let kept = inner.run(&["for-each-ref", "--contains", &made, "refs/mow/rescue/phase-03"]);
    assert!(kept.unwrap().text().contains(&made));
}

#[test]
fn a_submodule_that_the_main_worktree_does_not_have_is_not_removed() {
    let (_lib, repository, path) = repository();
    work(&path);
    fs::rename(repository.root().join(".git/modules"), repository.root().join("away")).unwrap();
    let names = vec!["parts/lib".to_owned()];
    assert_eq!(remove(&repository.root(), &going(&path)).unwrap(), Removed::Submodules { names });
    assert!(path.join("parts/lib/new").exists());
}

#[test]
fn changes_inside_a_submodule_are_work() {
    let (_lib, repository, path) = repository();
    repository.say(&["config", "diff.ignoreSubmodules", "all"]);
    write(&path.join("parts/lib/file"), "changed\n");
    assert_eq!(remove(&repository.root(), &going(&path)).unwrap(), Removed::Dirty);
}

#[test]
fn a_submodule_that_moved_forward_is_merged_and_one_that_moved_apart_conflicts() {
    let (lib, repository, path) = repository();
    let made = work(&path);
    keep(&repository.git, &path, "phase-03").unwrap();
    repository.say(&["update-ref", "refs/mow/run/r/target", "main"]);
    let job = Merge {
        run_ref: "refs/mow/run/r/target".to_owned(),
        branch_commit: "phase-03".to_owned(),
        message: "Merge phase 3\n\nMow-Phase: 3\n".to_owned(),
        keep_from_ours: Vec::new(),
        own: None,
        overlay: Vec::new(),
        join: None,
    };
    lib.write("other", "o\n");
    lib.commit("upstream");
    let inner = Git::at_top(&repository.root().join("parts/lib"));
    inner.run(&[&LOCAL[..], &["pull", "--quiet"]].concat()).unwrap();
    let apart = repository.commit("move it elsewhere");
    let outcome = merge(&repository.git, &job).unwrap();
    let MergeOutcome::Merged { commit, .. } = outcome else { panic!("{outcome:?}") };
    let link = repository.say(&["ls-tree", &commit, "parts/lib"]);
    assert!(link.starts_with(&format!("160000 commit {made}")), "{link}");
    repository.say(&["update-ref", "refs/mow/run/r/target", &apart]);
    let outcome = merge(&repository.git, &job).unwrap();
    let MergeOutcome::Conflict { files } = outcome else { panic!("{outcome:?}") };
    assert_eq!((files[0].path.as_str(), &files[0].kind), ("parts/lib", &Kind::Submodule));
}
