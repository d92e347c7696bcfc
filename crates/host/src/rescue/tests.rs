//! Saving uncommitted work from worktrees in every state, and finding it again.

use std::fs;

use super::*;
use crate::test_repository::Repository;

/// Returns the status and the index as the user sees them.
fn status_and_index(repository: &Repository) -> String {
    repository.run_git(&["status", "--porcelain", "--untracked-files=all"])
        + &repository.run_git(&["ls-files", "--stage"])
}

/// Returns a repository with a staged and changed, a changed, a removed, a new and an ignored file.
fn dirty_repository() -> Repository {
    let repository = Repository::new();
    for name in ["changed", "removed"] {
        repository.write(name, "one\n");
    }
    repository.write(".gitignore", "ignored\n");
    repository.commit("second");
    repository.write("file", "staged\n");
    repository.run_git(&["add", "file"]);
    repository.write("file", "after\n");
    repository.write("changed", "two\n");
    repository.write("deep/new ä\n.txt", "new\n");
    repository.write("ignored", "i\n");
    fs::remove_file(repository.root().join("removed")).unwrap();
    repository
}

#[test]
fn everything_uncommitted_is_kept_and_nothing_is_touched() {
    let repository = dirty_repository();
    let before = status_and_index(&repository);
    let rescued = rescue_uncommitted(&repository.git, "03/1").unwrap().unwrap();
    assert_eq!(rescued.name, "refs/mow/rescue/03/1/1");
    assert_eq!(status_and_index(&repository), before);
    let file = |path: &str| {
        let content = repository.git.file_in(&rescued.name, path.as_ref()).unwrap();
        content.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    assert_eq!(file("file").as_deref(), Some("after\n"));
    assert_eq!(file("changed").as_deref(), Some("two\n"));
    assert_eq!(file("deep/new ä\n.txt").as_deref(), Some("new\n"));
    assert_eq!(file("removed"), None);
    assert_eq!(file("ignored"), None);
    let staged = repository.run_git(&["show", &format!("{}^2:file", rescued.commit)]);
    assert_eq!(staged, "staged");
    assert_eq!(
        repository.run_git(&["rev-parse", &format!("{}^1", rescued.commit)]),
        repository.run_git(&["rev-parse", "HEAD"])
    );
    let left: Vec<_> = fs::read_dir(repository.root().join(".git")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("mow-")));
}

#[test]
fn the_same_work_finds_its_rescue_ref_and_other_work_gets_a_new_number() {
    let repository = dirty_repository();
    let first = rescue_uncommitted(&repository.git, "03/1").unwrap().unwrap();
    assert_eq!(rescue_uncommitted(&repository.git, "03/1").unwrap().unwrap(), first);
    repository.write("more", "m\n");
    let second = rescue_uncommitted(&repository.git, "03/1").unwrap().unwrap();
    assert_eq!(second.name, "refs/mow/rescue/03/1/2");
    assert_eq!(keep_commit(&repository.git, "03/1", &first.commit).unwrap(), first);
    assert_eq!(
        keep_commit(&repository.git, "04/1", &first.commit).unwrap().name,
        "refs/mow/rescue/04/1/1"
    );
}

#[test]
fn a_clean_worktree_needs_no_rescue() {
    let repository = Repository::new();
    assert_eq!(rescue_uncommitted(&repository.git, "x").unwrap(), None);
    let empty = Repository::empty();
    assert_eq!(rescue_uncommitted(&empty.git, "x").unwrap(), None);
    empty.write("first", "f\n");
    assert!(rescue_uncommitted(&empty.git, "x").unwrap().is_some());
}

#[test]
fn a_broken_or_missing_index_does_not_lose_work() {
    let repository = dirty_repository();
    let index = repository.root().join(".git/index");
    for broken in [Some("rubbish"), None] {
        match broken {
            Some(text) => fs::write(&index, text).unwrap(),
            None => fs::remove_file(&index).unwrap(),
        }
        let rescued = rescue_uncommitted(&repository.git, "x").unwrap().unwrap();
        let content = repository.git.file_in(&rescued.commit, "changed".as_ref()).unwrap();
        assert_eq!(content.as_deref(), Some(&b"two\n"[..]));
    }
}

#[test]
fn work_in_the_middle_of_a_merge_is_kept() {
    let repository = Repository::new();
    repository.run_git(&["checkout", "-q", "-b", "side"]);
    repository.write("file", "side\n");
    repository.commit("side");
    repository.run_git(&["checkout", "-q", "main"]);
    repository.write("file", "main\n");
    repository.commit("main");
    assert!(!repository.git.ask(&["merge", "side"]).unwrap().success);
    let rescued = rescue_uncommitted(&repository.git, "x").unwrap().unwrap();
    assert!(repository.run_git(&["show", &format!("{}:file", rescued.commit)]).contains("<<<<<<<"));
    reset_to(&repository.git, "x", "HEAD").unwrap();
    assert_eq!(repository.text("file"), "main\n");
    assert!(!repository.root().join(".git/MERGE_HEAD").exists());
}

#[test]
fn files_staged_during_a_conflict_are_kept() {
    let repository = Repository::new();
    repository.write("other", "one\n");
    repository.commit("second");
    repository.run_git(&["checkout", "-q", "-b", "theirs"]);
    repository.write("file", "theirs\n");
    repository.commit("theirs");
    repository.run_git(&["checkout", "-q", "main"]);
    repository.write("file", "ours\n");
    repository.commit("ours");
    assert!(!repository.git.ask(&["merge", "theirs"]).unwrap().success);
    repository.write("other", "staged\n");
    repository.run_git(&["add", "other"]);
    repository.write("other", "after\n");
    let kept = rescue_uncommitted(&repository.git, "01").unwrap().unwrap();
    assert_eq!(repository.run_git(&["show", &format!("{}^2:other", kept.commit)]), "staged");
    assert_eq!(repository.run_git(&["show", &format!("{}^2:file", kept.commit)]), "ours");
    assert_eq!(repository.run_git(&["show", &format!("{}:other", kept.commit)]), "after");
    assert!(repository.run_git(&["show", &format!("{}:file", kept.commit)]).contains("<<<<"));
    assert_eq!(
        rescue_uncommitted(&repository.git, "01").unwrap().unwrap(),
        kept,
        "the second call finds it"
    );
}

#[test]
fn ignored_files_that_a_commit_would_overwrite_are_kept() {
    let repository = Repository::new();
    for name in ["data", "swap", "dir/inner"] {
        repository.write(name, "old\n");
    }
    repository.commit("second");
    repository.run_git(&["checkout", "-q", "--detach"]);
    repository.write("new", "theirs\n");
    let target = repository.commit("third");
    repository.run_git(&["checkout", "-q", "main"]);
    // A file that is no longer tracked, one that became a directory, and a directory that became a
    // file.
    repository.write(".gitignore", "data\nswap\n*.log\ndir\nnew\nelse\n");
    repository.run_git(&["rm", "-q", "--cached", "data", "swap", "dir/inner"]);
    repository.commit("ignore them");
    repository.write("data", "work\n");
    fs::remove_file(repository.root().join("swap")).unwrap();
    repository.write("swap/a.log", "work\n");
    fs::remove_dir_all(repository.root().join("dir")).unwrap();
    repository.write("dir", "work\n");
    repository.write("new", "work\n");
    repository.write("else", "stays\n");
    let kept = reset_to(&repository.git, "01", &target).unwrap();
    for path in ["data", "swap/a.log", "dir", "new"] {
        let there = repository.run_git(&["show", &format!("{}:{path}", kept[0].commit)]);
        assert_eq!(there, "work", "{path}");
    }
    assert_eq!(repository.text("new"), "theirs\n");
    assert_eq!(repository.text("else"), "stays\n");
    let other = repository.git.ask(&["cat-file", "-e", &format!("{}:else", kept[0].commit)]);
    assert!(!other.unwrap().success, "a file that is not overwritten is not kept");
}

#[test]
fn a_reset_over_a_nested_repository_is_refused_and_leaves_it_alone() {
    for (path, ignore) in
        [("lib", ""), ("lib/inner", ""), ("lib/inner", "lib/inner\n"), ("lib", "lib\n")]
    {
        let repository = Repository::new();
        repository.write(".gitignore", ignore);
        repository.commit("second");
        repository.run_git(&["checkout", "-q", "--detach"]);
        // A file in place of the directory with the repository, or a file inside the repository.
        let there = if path == "lib" { "lib/file" } else { "lib" };
        repository.write(there, "theirs\n");
        repository.run_git(&["add", "--force", "lib"]);
        repository.run_git(&["commit", "-q", "-m", "third"]);
        let target = repository.run_git(&["rev-parse", "HEAD"]);
        repository.run_git(&["checkout", "-q", "main"]);
        repository.run_git(&["init", "-q", path]);
        repository.write(&format!("{path}/file"), "precious\n");
        repository.run_git(&["-C", path, "add", "file"]);
        repository.run_git(&[
            "-C",
            path,
            "-c",
            "user.name=a",
            "-c",
            "user.email=a",
            "commit",
            "-qm",
            "x",
        ]);
        let error = reset_to(&repository.git, "01", &target).unwrap_err();
        assert!(matches!(error, RescueError::NestedRepositories { .. }), "{path}: {error}");
        assert!(error.to_string().contains(path), "{error}");
        assert!(rescue_before_checkout(&repository.git, "01", &target).is_err(), "{path}");
        assert_eq!(repository.text(&format!("{path}/file")), "precious\n");
        assert!(repository.root().join(path).join(".git").exists());
        reset_to(&repository.git, "01", "HEAD").expect("HEAD overwrites nothing");
        assert_eq!(repository.text(&format!("{path}/file")), "precious\n");
    }
}

#[test]
fn only_ignored_files_are_reported_as_overwritten() {
    let repository = Repository::new();
    repository.write(".gitignore", "*.log\nbuild\n");
    repository.commit("second");
    repository.run_git(&["checkout", "-q", "--detach"]);
    for name in ["new", "some/a.log", "build/x", "else.log"] {
        repository.write(name, "theirs\n");
    }
    repository.run_git(&["add", "--force", "--all"]);
    repository.run_git(&["commit", "-q", "-m", "third"]);
    let target = repository.run_git(&["rev-parse", "HEAD"]);
    repository.run_git(&["checkout", "-q", "main"]);
    for name in ["new", "some/a.log", "build/x", "other.log"] {
        repository.write(name, "mine\n");
    }
    assert_eq!(
        ignored_files_overwritten_by(&repository.git, &target).unwrap(),
        ["build/x", "some/a.log"]
    );
    let objects = repository.run_git(&["count-objects"]);
    assert_eq!(ignored_files_overwritten_by(&repository.git, "HEAD").unwrap(), [""; 0]);
    assert_eq!(repository.run_git(&["count-objects"]), objects, "the query writes no objects");
}

#[test]
fn a_reset_saves_everything_before_removing_it() {
    let repository = dirty_repository();
    let first = repository.run_git(&["rev-parse", "HEAD~1"]);
    let head = repository.run_git(&["rev-parse", "HEAD"]);
    // The locks that a killed git leaves.
    fs::write(repository.root().join(".git/index.lock"), "").unwrap();
    fs::write(repository.root().join(".git/refs/heads/main.lock"), "").unwrap();
    let kept = reset_to(&repository.git, "x", "HEAD~1").unwrap();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1].commit, head, "the branch went back behind this commit");
    assert_eq!(repository.run_git(&["rev-parse", "main"]), first);
    assert_eq!(repository.text("file"), "one\n");
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "?? ignored", "no longer ignored");
}

#[test]
fn a_reset_leaves_ignored_files_and_other_repositories_alone() {
    let repository = dirty_repository();
    repository.write("inner/code", "c\n");
    Git::new(repository.root().join("inner")).run(&["init", "-q"]).unwrap();
    let kept = reset_to(&repository.git, "x", "HEAD").unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(repository.text("ignored"), "i\n");
    assert_eq!(repository.text("inner/code"), "c\n");
    assert!(!repository.root().join("deep").exists());
    assert_eq!(reset_to(&repository.git, "x", "HEAD").unwrap(), [], "again changes nothing");
    let error = reset_to(&repository.git, "x", "nowhere").unwrap_err();
    assert!(matches!(error, RescueError::NoCommit { .. }));
}

#[test]
fn a_rescue_needs_no_git_identity() {
    let repository = Repository::new();
    repository.run_git(&["config", "user.useConfigOnly", "true"]);
    repository.run_git(&["config", "user.name", ""]);
    repository.write("file", "two\n");
    assert!(rescue_uncommitted(&repository.git, "x").unwrap().is_some());
}

#[test]
fn a_branch_is_restored_and_everything_is_kept() {
    let repository = Repository::new();
    repository.write("planning/plan", "one\n");
    let good = repository.commit("good");
    repository.run_git(&["checkout", "-q", "-b", "phase"]);
    repository.write("file", "astray\n");
    let astray = repository.commit("astray");
    repository.run_git(&["reset", "-q", "--hard", "HEAD~2"]);
    repository.run_git(&["checkout", "-q", "-b", "elsewhere"]);
    repository.run_git(&["branch", "-q", "-f", "phase", &astray]);
    repository.write("elsewhere", "committed\n");
    let elsewhere = repository.commit("elsewhere");
    repository.write("new", "dirty\n");
    repository.write("planning/plan", "two\n");
    let kept = restore_branch(&repository.git, "01/x", ["phase", &good], "planning").unwrap();
    let holds = |path: &str, text: &str| {
        let file = |one: &RescueRef| repository.git.file_in(&one.commit, path.as_ref()).unwrap();
        assert!(kept.iter().any(|one| file(one) == Some(text.into())), "{path}");
    };
    holds("new", "dirty\n");
    holds("elsewhere", "committed\n");
    holds("file", "astray\n");
    assert_eq!(repository.run_git(&["branch", "--show-current"]), "phase");
    assert_eq!(repository.run_git(&["rev-parse", "HEAD"]), good);
    assert_eq!(
        repository.run_git(&["status", "--porcelain"]),
        " M planning/plan",
        "it is left alone"
    );
    assert_eq!(repository.text("planning/plan"), "two\n");
    assert_eq!(repository.run_git(&["rev-parse", "elsewhere"]), elsewhere);
    let again = restore_branch(&repository.git, "01/x", ["phase", &good], "planning").unwrap();
    assert!(again.iter().all(|one| one.name.starts_with("refs/mow/rescue/01/x/")));
}

#[test]
fn files_outside_a_sparse_checkout_are_kept_too() {
    let repository = Repository::new();
    repository.write("in/file", "i\n");
    repository.write("out/file", "o\n");
    repository.commit("directories");
    repository.run_git(&["sparse-checkout", "set", "in"]);
    repository.write("out/new", "new\n");
    repository.write("in/file", "changed\n");
    let kept = reset_to(&repository.git, "sparse", "HEAD").unwrap();
    let show = |path: &str| repository.run_git(&["show", &format!("{}:{path}", kept[0].commit)]);
    assert_eq!((show("out/new"), show("in/file")), ("new".into(), "changed".into()));
    assert_eq!(show("out/file"), "o", "what is not checked out is not deleted");
    assert!(!repository.root().join("out/new").exists());
}

#[test]
fn untracked_files_are_kept_byte_for_byte() {
    let repository = Repository::new();
    repository.write(".gitattributes", "* text=auto\n");
    let files = [("notes/a".to_owned(), b"a\r\n\xff".to_vec())];
    let kept = keep_files(&repository.git, "planning", &files).unwrap().unwrap();
    let shown = repository.git.file_in(&kept.commit, "notes/a".as_ref()).unwrap();
    assert_eq!(shown.as_deref(), Some(&b"a\r\n\xff"[..]));
    let again = keep_files(&repository.git, "planning", &files).unwrap();
    assert_eq!(again, Some(kept), "the second call finds it");
    assert_eq!(keep_files(&repository.git, "planning", &[]).unwrap(), None);
}
