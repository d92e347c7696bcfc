//! A repository with a submodule, and a phase worktree in which both are changed.

use super::*;
use crate::merge::{ConflictKind, MergeJob, MergeOutcome, merge};
use crate::phase_worktree::{RemovalOutcome, WorktreeRemoval, WorktreeSpec, prepare, remove};
use crate::test_repository::{Repository, commit, write};

/// Allows local submodule URLs, which git forbids by default.
const LOCAL: [&str; 2] = ["-c", "protocol.file.allow=always"];

/// Creates a repository with the submodule `parts/lib`, which has two commits, and a phase worktree
/// with the same submodule.
fn repository() -> (Repository, Repository, PathBuf) {
    let lib = Repository::new();
    lib.write("file", "two\n");
    lib.commit("second");
    let repository = Repository::new();
    let from = lib.root().to_string_lossy().into_owned();
    let add = ["submodule", "--quiet", "add", &from, "parts/lib"];
    repository.run_git(&[&LOCAL[..], &add].concat());
    repository.commit("with a library");
    let path = repository.root().join(".worktrees/p03");
    let job = WorktreeSpec {
        path: path.clone(),
        branch: "phase-03".into(),
        base: "main".into(),
        live_file: None,
    };
    prepare(&repository.root(), &job).unwrap();
    let worktree = Git::at_top(&path);
    worktree.run(&[&LOCAL[..], &["submodule", "--quiet", "update", "--init"]].concat()).unwrap();
    (lib, repository, path)
}

/// Commits in the submodule of the worktree and then around it; returns the inner commit.
fn commit_in_submodule(path: &Path) -> String {
    let inner = Git::at_top(&path.join("parts/lib"));
    for (key, value) in [("user.name", "Tester"), ("user.email", "t@example.com")] {
        inner.run(&["config", key, value]).unwrap();
    }
    write(&path.join("parts/lib/new"), "n\n");
    let made = commit(&inner, "only here");
    commit(&Git::at_top(path), "move the library");
    made
}

fn removal(path: &Path) -> WorktreeRemoval {
    WorktreeRemoval { path: path.to_path_buf(), branch: "phase-03".into(), delete_branch: false }
}

#[test]
fn commits_of_a_submodule_outlive_the_worktree_they_were_made_in() {
    let (_lib, repository, path) = repository();
    let made = commit_in_submodule(&path);
    assert_eq!(remove(&repository.root(), &removal(&path)).unwrap(), RemovalOutcome::Gone);
    assert!(!path.exists());
    let inner = Git::at_top(&repository.root().join("parts/lib"));
    let kept = inner.run(&["for-each-ref", "--contains", &made, "refs/mow/rescue/phase-03"]);
    assert!(kept.unwrap().text().contains(&made));
}

#[test]
fn a_submodule_that_the_main_worktree_does_not_have_is_not_removed() {
    let (_lib, repository, path) = repository();
    commit_in_submodule(&path);
    fs::rename(repository.root().join(".git/modules"), repository.root().join("away")).unwrap();
    let names = vec!["parts/lib".to_owned()];
    assert_eq!(
        remove(&repository.root(), &removal(&path)).unwrap(),
        RemovalOutcome::Submodules { names }
    );
    assert!(path.join("parts/lib/new").exists());
}

#[test]
fn changes_inside_a_submodule_make_the_worktree_dirty() {
    let (_lib, repository, path) = repository();
    repository.run_git(&["config", "diff.ignoreSubmodules", "all"]);
    write(&path.join("parts/lib/file"), "changed\n");
    assert_eq!(remove(&repository.root(), &removal(&path)).unwrap(), RemovalOutcome::Dirty);
}

#[test]
fn a_submodule_that_moved_forward_is_merged_and_one_that_moved_apart_conflicts() {
    let (lib, repository, path) = repository();
    let made = commit_in_submodule(&path);
    rescue_commits(&repository.git, &path, "phase-03").unwrap();
    repository.run_git(&["update-ref", "refs/mow/run/r/target", "main"]);
    let job = MergeJob {
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
    let link = repository.run_git(&["ls-tree", &commit, "parts/lib"]);
    assert!(link.starts_with(&format!("160000 commit {made}")), "{link}");
    repository.run_git(&["update-ref", "refs/mow/run/r/target", &apart]);
    let outcome = merge(&repository.git, &job).unwrap();
    let MergeOutcome::Conflict { files } = outcome else { panic!("{outcome:?}") };
    assert_eq!((files[0].path.as_str(), &files[0].kind), ("parts/lib", &ConflictKind::Submodule));
}
