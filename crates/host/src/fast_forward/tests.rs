//! Fast-forwards that succeed, are refused, or were interrupted.

use super::*;
use crate::test_repository::Repository;

/// Returns a repository on `main` with a live planning file, and a commit ahead of `main`.
fn repository() -> (Repository, String) {
    let repository = Repository::new();
    repository.write("STATE.md", "old\n");
    repository.write("mine", "m\n");
    repository.commit("second");
    repository.run_git(&["checkout", "-q", "--detach"]);
    repository.write("STATE.md", "new\n");
    repository.write("code", "c\n");
    let ahead = repository.commit("ahead");
    repository.run_git(&["checkout", "-q", "main"]);
    (repository, ahead)
}

fn run(repository: &Repository, commit: &str) -> FastForwardOutcome {
    let live = ["STATE.md".to_owned(), "none.md".to_owned()];
    fast_forward_branch(&repository.root(), "main", commit, &live).unwrap()
}

#[test]
fn a_branch_that_is_checked_out_nowhere_is_moved() {
    let (repository, ahead) = repository();
    repository.run_git(&["checkout", "-q", "--detach"]);
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["rev-parse", "main"]), ahead);
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::UpToDate);
    assert_eq!(run(&repository, "main~1"), FastForwardOutcome::UpToDate);
}

#[test]
fn a_checkout_is_fast_forwarded_and_unrelated_work_stays() {
    let (repository, ahead) = repository();
    repository.write("mine", "changed\n");
    repository.write("untracked", "u\n");
    repository.hook("post-merge", "echo ran >hook-ran");
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.text("code"), "c\n");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), " M mine\n?? untracked");
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::UpToDate);
}

#[test]
fn an_uncommitted_live_file_equal_to_the_commit_does_not_block() {
    let (repository, ahead) = repository();
    repository.write("STATE.md", "new\n");
    // A crash after staging changes nothing.
    repository.run_git(&["add", "STATE.md"]);
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn a_new_live_file_equal_to_the_commit_does_not_block() {
    let (repository, _) = repository();
    repository.run_git(&["checkout", "-q", "--detach"]);
    repository.write("none.md", "n\n");
    let ahead = repository.commit("new file");
    repository.run_git(&["checkout", "-q", "main"]);
    repository.write("none.md", "n\n");
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn a_refusal_leaves_everything_as_it_was() {
    let (repository, ahead) = repository();
    repository.write("STATE.md", "new\n");
    repository.write("code", "in the way\n");
    let before = repository.run_git(&["status", "--porcelain"]);
    let FastForwardOutcome::Refused { reason, command_to_finish } = run(&repository, &ahead) else {
        panic!()
    };
    assert!(reason.contains("code"), "{reason}");
    assert!(command_to_finish.ends_with(&format!("merge --ff-only --no-overwrite-ignore {ahead}")));
    assert_eq!(repository.run_git(&["status", "--porcelain"]), before);
    assert_eq!(repository.text("code"), "in the way\n");
    fs::remove_file(repository.root().join("code")).unwrap();
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
}

#[test]
fn ignored_files_of_the_user_are_not_overwritten() {
    let (repository, _) = repository();
    repository.write(".gitignore", "local\nbuild\n");
    repository.commit("ignore");
    repository.run_git(&["checkout", "-q", "--detach"]);
    repository.write(".gitignore", "");
    repository.write("local", "theirs\n");
    repository.write("build", "theirs\n");
    let ahead = repository.commit("ahead");
    repository.run_git(&["checkout", "-q", "main"]);
    for (path, gone) in [("local", "build"), ("build/result", "local")] {
        repository.write(path, "mine\n");
        let FastForwardOutcome::Refused { reason, command_to_finish } = run(&repository, &ahead)
        else {
            panic!("it overwrote {path}");
        };
        assert!(reason.contains(path.split('/').next().unwrap()), "{reason}");
        assert!(!paste(&command_to_finish) && repository.text(path) == "mine\n", "{gone}");
        fs::remove_dir_all(repository.root().join(path))
            .or_else(|_| fs::remove_file(repository.root().join(path)))
            .unwrap();
    }
    fs::remove_dir(repository.root().join("build")).unwrap();
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
}

#[test]
fn the_users_merge_options_for_the_branch_are_overridden() {
    for options in ["--squash", "-s ours", "--no-ff", "--no-commit"] {
        let (repository, ahead) = repository();
        repository.run_git(&["config", "branch.main.mergeOptions", options]);
        assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated, "{options}");
        assert_eq!(repository.run_git(&["rev-parse", "main"]), ahead, "{options}");
        assert_eq!(repository.run_git(&["status", "--porcelain"]), "", "{options}");
    }
}

#[test]
fn a_checkout_with_a_separate_git_directory_is_fast_forwarded() {
    let (repository, ahead) = repository();
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = elsewhere.path().join("git");
    repository.run_git(&["init", "-q", &format!("--separate-git-dir={}", dir.display())]);
    repository.write("STATE.md", "new\n");
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn the_command_to_finish_names_files_that_could_not_be_staged() {
    let (repository, ahead) = repository();
    repository.write("STATE.md", "new\n");
    let lock = repository.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let FastForwardOutcome::Refused { command_to_finish, .. } = run(&repository, &ahead) else {
        panic!("the index is locked");
    };
    fs::remove_file(lock).unwrap();
    assert!(paste(&command_to_finish), "{command_to_finish}");
    assert_eq!(repository.run_git(&["rev-parse", "main"]), ahead);
}

#[test]
fn what_the_user_staged_stays_staged() {
    let (repository, ahead) = repository();
    repository.write("STATE.md", "of the user\n");
    repository.run_git(&["add", "STATE.md"]);
    repository.write("STATE.md", "new\n");
    assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }));
    assert_eq!(repository.run_git(&["show", ":STATE.md"]), "of the user");
}

#[test]
fn local_changes_are_never_stashed_away() {
    let (repository, ahead) = repository();
    repository.run_git(&["config", "merge.autoStash", "true"]);
    repository.write("STATE.md", "of the user\n");
    assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }));
    assert_eq!(repository.text("STATE.md"), "of the user\n");
    assert_eq!(repository.run_git(&["stash", "list"]), "");
}

#[test]
fn the_worktree_with_the_branch_is_fast_forwarded() {
    let (repository, ahead) = repository();
    repository.run_git(&["checkout", "-q", "--detach"]);
    repository.run_git(&["worktree", "add", "-q", "else where", "main"]);
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.text("else where/code"), "c\n");
    assert!(!repository.root().join("code").exists());
}

#[test]
fn a_branch_with_commits_of_its_own_is_left_to_the_user() {
    let (repository, ahead) = repository();
    repository.write("own", "o\n");
    let own = repository.commit("own");
    let FastForwardOutcome::Refused { command_to_finish, .. } = run(&repository, &ahead) else {
        panic!()
    };
    let wanted = format!("git -C {} merge {ahead}", repository.root().display());
    assert_eq!(command_to_finish, wanted);
    assert_eq!(repository.run_git(&["rev-parse", "main"]), own);
    let none = fast_forward_branch(&repository.root(), "no branch", &ahead, &[]).unwrap();
    let FastForwardOutcome::Refused { command_to_finish, .. } = none else { panic!() };
    assert_eq!(command_to_finish, format!("git branch 'no branch' {ahead}"));
}

#[test]
fn a_branch_in_the_middle_of_a_rebase_is_left_alone() {
    let (repository, ahead) = repository();
    let old = repository.run_git(&["rev-parse", "main"]);
    let stopped = repository.git.with_env("GIT_SEQUENCE_EDITOR", "sed -i 1s/pick/edit/");
    stopped.run(&["rebase", "-q", "-i", "HEAD~1"]).unwrap();
    assert_eq!(repository.git.current_branch().unwrap(), None);
    assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }));
    assert_eq!(repository.run_git(&["rev-parse", "main"]), old);
}

/// Runs a command as a person would paste it.
fn paste(command: &str) -> bool {
    let run = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
    run.status.success()
}

#[test]
fn the_command_to_finish_never_merges_into_another_branch() {
    let (repository, ahead) = repository();
    repository.write("own", "o\n");
    repository.commit("own");
    repository.run_git(&["checkout", "-q", "-b", "other"]);
    let FastForwardOutcome::Refused { command_to_finish, .. } = run(&repository, &ahead) else {
        panic!()
    };
    let other = repository.run_git(&["rev-parse", "other"]);
    repository.write("mine", "changed\n");
    assert!(paste(&command_to_finish), "{command_to_finish}");
    assert_eq!(repository.run_git(&["rev-parse", "other"]), other);
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::UpToDate);
    assert_eq!(repository.text("mine"), "changed\n");
}

#[test]
fn the_command_to_finish_fails_until_a_rebase_is_over() {
    let (repository, ahead) = repository();
    let stopped = repository.git.with_env("GIT_SEQUENCE_EDITOR", "sed -i 1s/pick/edit/");
    stopped.run(&["rebase", "-q", "-i", "HEAD~1"]).unwrap();
    let FastForwardOutcome::Refused { command_to_finish, .. } = run(&repository, &ahead) else {
        panic!()
    };
    let head = repository.run_git(&["rev-parse", "HEAD"]);
    assert!(!paste(&command_to_finish), "the rebase goes on");
    assert_eq!(repository.run_git(&["rev-parse", "HEAD"]), head);
    repository.run_git(&["rebase", "--continue"]);
    assert!(paste(&command_to_finish), "{command_to_finish}");
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::UpToDate);
}

#[test]
fn a_branch_that_is_checked_out_twice_is_left_alone() {
    let (repository, ahead) = repository();
    repository.run_git(&["worktree", "add", "-q", "--force", "second", "main"]);
    let FastForwardOutcome::Refused { reason, .. } = run(&repository, &ahead) else { panic!() };
    assert!(reason.contains("and also in"), "{reason}");
    assert_eq!(repository.run_git(&["-C", "second", "status", "--porcelain"]), "");
}

#[test]
fn a_sparse_checkout_is_fast_forwarded_and_stays_sparse() {
    let (repository, _) = repository();
    repository.write("in/file", "i\n");
    repository.write("out/file", "o\n");
    repository.commit("directories");
    repository.run_git(&["checkout", "-q", "--detach"]);
    repository.write("in/file", "more\n");
    repository.write("out/file", "more\n");
    repository.write("out/new", "new\n");
    let ahead = repository.commit("all of them");
    repository.run_git(&["checkout", "-q", "main"]);
    repository.run_git(&["sparse-checkout", "set", "in"]);
    assert!(!repository.root().join("out").exists());
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.text("in/file"), "more\n");
    assert!(!repository.root().join("out").exists(), "it is not filled");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

/// Returns a branch with the note of a fast-forward that adds, changes and deletes files.
fn started() -> (Repository, String) {
    let repository = Repository::new();
    repository.write("gone", "old\n");
    repository.write("other", "old\n");
    let from = repository.commit("second");
    repository.run_git(&["checkout", "-q", "--detach"]);
    for (path, text) in [("dir/a", "whole\n"), ("dir/b", "first\nsecond\n"), ("file", "one\ntwo\n")]
    {
        repository.write(path, text);
    }
    repository.write("other", "new\n");
    fs::remove_file(repository.root().join("gone")).unwrap();
    let ahead = repository.commit("ahead");
    repository.run_git(&["checkout", "-q", "main"]);
    crash_note::write_note(&repository.git, "main", (&from, &ahead)).unwrap();
    (repository, ahead)
}

/// Leaves the files as a git that was killed during a fast-forward does.
fn interrupt(repository: &Repository) {
    repository.write("dir/a", "whole\n");
    repository.write("dir/b", "first\nsec");
    repository.write("file", "");
    fs::remove_file(repository.root().join("gone")).unwrap();
    repository.write(".git/index.lock", "half");
}

#[test]
fn files_of_an_interrupted_fast_forward_are_completed() {
    let (repository, ahead) = started();
    interrupt(&repository);
    repository.write("mine", "untracked\n");
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["rev-parse", "main"]), ahead);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "?? mine");
    assert_eq!(read_note(&repository.git).unwrap(), None);
}

#[test]
fn files_that_the_user_wrote_after_the_interruption_stay() {
    let (repository, ahead) = started();
    interrupt(&repository);
    repository.write("dir/b", "mine\n");
    let FastForwardOutcome::Refused { reason, .. } = run(&repository, &ahead) else { panic!() };
    assert!(reason.contains("dir/b"), "{reason}");
    assert_eq!(repository.text("dir/b"), "mine\n");
    assert_eq!(
        repository.run_git(&["diff", "--cached", "--name-only"]),
        "",
        "nothing stays staged"
    );
    fs::remove_file(repository.root().join("dir/b")).unwrap();
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn a_fast_forward_interrupted_before_its_last_step_is_finished() {
    let (repository, ahead) = started();
    repository.run_git(&["read-tree", "-u", "-m", "HEAD", &ahead]);
    assert_eq!(run(&repository, &ahead), FastForwardOutcome::Updated);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn without_a_note_an_incomplete_file_belongs_to_the_user() {
    let (repository, ahead) = started();
    crash_note::remove_note(&repository.git).unwrap();
    repository.write("dir/b", "first\nsec");
    assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }));
    assert_eq!(repository.text("dir/b"), "first\nsec");
    assert_eq!(read_note(&repository.git).unwrap(), None, "git refused before it wrote anything");
    assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }));
    assert_eq!(repository.text("dir/b"), "first\nsec");
}

#[test]
fn an_interrupted_fast_forward_is_finished_only_on_its_own_branch() {
    let (repository, ahead) = started();
    repository.run_git(&["switch", "-q", "-c", "feature"]);
    assert_eq!(finish_interrupted(&repository.root(), &[]).unwrap(), None);
    assert_ne!(repository.run_git(&["rev-parse", "feature"]), ahead);
    repository.run_git(&["switch", "-q", "main"]);
    interrupt(&repository);
    assert_eq!(finish_interrupted(&repository.root(), &[]).unwrap().as_deref(), Some("main"));
    assert_eq!(repository.run_git(&["rev-parse", "main"]), ahead);
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
}

#[test]
fn files_that_git_did_not_write_stay_as_they_are_when_it_refuses() {
    let (repository, ahead) = started();
    repository.write("dir/a", "whole\n");
    repository.write("dir/b", "mine\n");
    assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }));
    // What the commit has there begins with this.
    assert_eq!(repository.text("file"), "one\n");
    assert_eq!(repository.run_git(&["diff", "--name-only"]), "");
}

#[test]
fn a_note_that_leads_elsewhere_says_nothing() {
    let (repository, ahead) = started();
    let head = repository.run_git(&["rev-parse", "HEAD"]);
    for to in ["1234567890123456789012345678901234567890", &head] {
        crash_note::write_note(&repository.git, "main", (&head, to)).unwrap();
        repository.write("dir/b", "first\nsec");
        assert!(matches!(run(&repository, &ahead), FastForwardOutcome::Refused { .. }), "{to}");
        assert_eq!(repository.text("dir/b"), "first\nsec", "{to}");
    }
}
