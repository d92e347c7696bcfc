//! Removing worktrees, and refusing to remove those with work.

use super::*;

fn removal(fixture: &Fixture, delete_branch: bool) -> RemovalOutcome {
    let job = WorktreeRemoval {
        path: fixture.job.path.clone(),
        branch: fixture.job.branch.clone(),
        delete_branch,
    };
    remove(&fixture.repository.root(), &job).unwrap()
}

#[test]
fn a_clean_worktree_is_removed_and_a_second_call_changes_nothing() {
    let fixture = Fixture::new();
    fixture.repository.write(".git/info/exclude", "ignored\n");
    fixture.prepare();
    fixture.write("ignored", "i\n");
    assert_eq!(removal(&fixture, false), RemovalOutcome::Gone);
    assert!(!fixture.job.path.exists());
    assert!(fixture.repository.git.branch_exists("phase-03").unwrap());
    assert_eq!(removal(&fixture, true), RemovalOutcome::Gone);
    assert!(!fixture.repository.git.branch_exists("phase-03").unwrap());
    assert_eq!(removal(&fixture, true), RemovalOutcome::Gone);
}

#[test]
fn uncommitted_work_stays() {
    let fixture = Fixture::new();
    fixture.prepare();
    for (path, content) in [("new", "n\n"), ("file", "two\n")] {
        let before = fs::read(fixture.job.path.join(path)).ok();
        fixture.write(path, content);
        assert_eq!(removal(&fixture, true), RemovalOutcome::Dirty, "{path}");
        assert_eq!(fixture.text(path), content);
        match before {
            Some(bytes) => fs::write(fixture.job.path.join(path), bytes).unwrap(),
            None => fs::remove_file(fixture.job.path.join(path)).unwrap(),
        }
    }
    assert_eq!(removal(&fixture, true), RemovalOutcome::Gone);
}

#[test]
fn a_worktree_with_unmerged_commits_stays() {
    let fixture = Fixture::new();
    fixture.prepare();
    fixture.write("done", "d\n");
    let head = commit(&fixture.worktree(), "done");
    assert_eq!(removal(&fixture, true), RemovalOutcome::Unmerged { commit: head.clone() });
    assert_eq!(fixture.text("done"), "d\n");
    fixture.repository.run_git(&["update-ref", "refs/mow/run/r1/target", &head]);
    assert_eq!(removal(&fixture, true), RemovalOutcome::Gone);
}

#[test]
fn an_interrupted_removal_is_finished() {
    let fixture = Fixture::new();
    fixture.prepare();
    fs::remove_file(fixture.job.path.join("file")).unwrap();
    fs::remove_file(fixture.job.path.join(".git")).unwrap();
    assert_eq!(removal(&fixture, false), RemovalOutcome::Gone);
    assert!(!fixture.job.path.exists());
    assert_eq!(fixture.repository.text("file"), "one\n");
    fixture.prepare();
    fs::remove_dir_all(&fixture.job.path).unwrap();
    assert_eq!(removal(&fixture, true), RemovalOutcome::Gone);
    assert_eq!(fixture.repository.run_git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_directory_that_is_not_a_worktree_stays() {
    let fixture = Fixture::new();
    fixture.write("theirs", "t\n");
    let job = WorktreeRemoval {
        path: fixture.job.path.clone(),
        branch: "phase-03".to_owned(),
        delete_branch: true,
    };
    let error = remove(&fixture.repository.root(), &job).unwrap_err();
    assert!(matches!(error, WorktreeError::PathOccupied { .. }), "{error}");
    assert_eq!(fixture.text("theirs"), "t\n");
}

#[test]
fn work_that_git_does_not_see_keeps_a_worktree() {
    let fixture = Fixture::new();
    fixture.prepare();
    let inner = fixture.job.path.join("ignored/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(fixture.repository.root().join(".git/info/exclude"), "/.worktrees/\nignored\n")
        .unwrap();
    Git::at_top(&inner).run(&["init", "-q"]).unwrap();
    let paths = vec!["ignored/inner".into()];
    assert_eq!(removal(&fixture, false), RemovalOutcome::Repositories { paths });
    assert!(inner.join(".git").exists());
    fs::remove_dir_all(&inner).unwrap();
    let git = Git::at_top(&fixture.job.path);
    git.run(&["update-index", "--assume-unchanged", "file"]).unwrap();
    fs::write(fixture.job.path.join("file"), "work\n").unwrap();
    assert_eq!(removal(&fixture, false), RemovalOutcome::Dirty);
    git.run(&["update-index", "--no-assume-unchanged", "file"]).unwrap();
    git.run(&["checkout", "-q", "file"]).unwrap();
    assert_eq!(removal(&fixture, false), RemovalOutcome::Gone);
}
