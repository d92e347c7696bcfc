//! Worktrees that may go, and those that may not.

use super::*;

fn removal(place: &Place, delete_branch: bool) -> Removed {
    let job =
        Remove { path: place.job.path.clone(), branch: place.job.branch.clone(), delete_branch };
    remove(&place.repository.root(), &job).unwrap()
}

#[test]
fn a_clean_worktree_goes_and_again_changes_nothing() {
    let place = Place::new();
    place.repository.write(".git/info/exclude", "ignored\n");
    place.prepare();
    place.write("ignored", "i\n");
    assert_eq!(removal(&place, false), Removed::Gone);
    assert!(!place.job.path.exists());
    assert!(place.repository.git.branch_exists("phase-03").unwrap());
    assert_eq!(removal(&place, true), Removed::Gone);
    assert!(!place.repository.git.branch_exists("phase-03").unwrap());
    assert_eq!(removal(&place, true), Removed::Gone);
}

#[test]
fn uncommitted_work_stays() {
    let place = Place::new();
    place.prepare();
    for (path, content) in [("new", "n\n"), ("file", "two\n")] {
        let before = fs::read(place.job.path.join(path)).ok();
        place.write(path, content);
        assert_eq!(removal(&place, true), Removed::Dirty, "{path}");
        assert_eq!(place.text(path), content);
        match before {
            Some(bytes) => fs::write(place.job.path.join(path), bytes).unwrap(),
            None => fs::remove_file(place.job.path.join(path)).unwrap(),
        }
    }
    assert_eq!(removal(&place, true), Removed::Gone);
}

#[test]
fn commits_that_nothing_else_holds_stay() {
    let place = Place::new();
    place.prepare();
    place.write("done", "d\n");
    let head = commit(&place.worktree(), "done");
    assert_eq!(removal(&place, true), Removed::Unmerged { commit: head.clone() });
    assert_eq!(place.text("done"), "d\n");
    place.repository.say(&["update-ref", "refs/mow/run/r1/target", &head]);
    assert_eq!(removal(&place, true), Removed::Gone);
}

#[test]
fn a_removal_that_was_cut_short_is_finished() {
    let place = Place::new();
    place.prepare();
    fs::remove_file(place.job.path.join("file")).unwrap();
    fs::remove_file(place.job.path.join(".git")).unwrap();
    assert_eq!(removal(&place, false), Removed::Gone);
    assert!(!place.job.path.exists());
    assert_eq!(place.repository.text("file"), "one\n");
    place.prepare();
    fs::remove_dir_all(&place.job.path).unwrap();
    assert_eq!(removal(&place, true), Removed::Gone);
    assert_eq!(place.repository.say(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_is_no_worktree_of_ours_stays() {
    let place = Place::new();
    place.write("theirs", "t\n");
    let job =
        Remove { path: place.job.path.clone(), branch: "phase-03".to_owned(), delete_branch: true };
    let error = remove(&place.repository.root(), &job).unwrap_err();
    assert!(matches!(error, WorktreeError::InTheWay { .. }), "{error}");
    assert_eq!(place.text("theirs"), "t\n");
}

#[test]
fn what_git_does_not_see_keeps_a_worktree() {
    let place = Place::new();
    place.prepare();
    let inner = place.job.path.join("ignored/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(place.repository.root().join(".git/info/exclude"), "/.worktrees/\nignored\n")
        .unwrap();
    Git::at_top(&inner).run(&["init", "-q"]).unwrap();
    let paths = vec!["ignored/inner".into()];
    assert_eq!(removal(&place, false), Removed::Repositories { paths });
    assert!(inner.join(".git").exists());
    fs::remove_dir_all(&inner).unwrap();
    let git = Git::at_top(&place.job.path);
    git.run(&["update-index", "--assume-unchanged", "file"]).unwrap();
    fs::write(place.job.path.join("file"), "work\n").unwrap();
    assert_eq!(removal(&place, false), Removed::Dirty);
    git.run(&["update-index", "--no-assume-unchanged", "file"]).unwrap();
    git.run(&["checkout", "-q", "file"]).unwrap();
    assert_eq!(removal(&place, false), Removed::Gone);
}
