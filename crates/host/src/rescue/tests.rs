//! Work in all states a worktree can be in, kept and found again.

use std::fs;

use super::*;
use crate::test_repository::Repository;

/// What the user sees of the index and the files.
fn picture(repository: &Repository) -> String {
    repository.say(&["status", "--porcelain", "--untracked-files=all"])
        + &repository.say(&["ls-files", "--stage"])
}

/// A repository with a staged and changed, a changed, a removed, a new and an ignored file.
fn busy() -> Repository {
    let repository = Repository::new();
    for name in ["changed", "removed"] {
        repository.write(name, "one\n");
    }
    repository.write(".gitignore", "ignored\n");
    repository.commit("second");
    repository.write("file", "staged\n");
    repository.say(&["add", "file"]);
    repository.write("file", "after\n");
    repository.write("changed", "two\n");
    repository.write("deep/new ä\n.txt", "new\n");
    repository.write("ignored", "i\n");
    fs::remove_file(repository.root().join("removed")).unwrap();
    repository
}

#[test]
fn everything_uncommitted_is_kept_and_nothing_is_touched() {
    let repository = busy();
    let before = picture(&repository);
    let rescued = rescue(&repository.git, "03/1").unwrap().unwrap();
    assert_eq!(rescued.name, "refs/mow/rescue/03/1/1");
    assert_eq!(picture(&repository), before);
    let file = |path: &str| {
        let content = repository.git.file_in(&rescued.name, path.as_ref()).unwrap();
        content.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    assert_eq!(file("file").as_deref(), Some("after\n"));
    assert_eq!(file("changed").as_deref(), Some("two\n"));
    assert_eq!(file("deep/new ä\n.txt").as_deref(), Some("new\n"));
    assert_eq!(file("removed"), None);
    assert_eq!(file("ignored"), None);
    let staged = repository.say(&["show", &format!("{}^2:file", rescued.commit)]);
    assert_eq!(staged, "staged");
    assert_eq!(
        repository.say(&["rev-parse", &format!("{}^1", rescued.commit)]),
        repository.say(&["rev-parse", "HEAD"])
    );
    let left: Vec<_> = fs::read_dir(repository.root().join(".git")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("mow-")));
}

#[test]
fn again_finds_the_same_and_other_work_gets_a_number_of_its_own() {
    let repository = busy();
    let first = rescue(&repository.git, "03/1").unwrap().unwrap();
    assert_eq!(rescue(&repository.git, "03/1").unwrap().unwrap(), first);
    repository.write("more", "m\n");
    let second = rescue(&repository.git, "03/1").unwrap().unwrap();
    assert_eq!(second.name, "refs/mow/rescue/03/1/2");
    assert_eq!(keep(&repository.git, "03/1", &first.commit).unwrap(), first);
    assert_eq!(
        keep(&repository.git, "04/1", &first.commit).unwrap().name,
        "refs/mow/rescue/04/1/1"
    );
}

#[test]
fn a_clean_worktree_needs_no_rescue() {
    let repository = Repository::new();
    assert_eq!(rescue(&repository.git, "x").unwrap(), None);
    let empty = Repository::empty();
    assert_eq!(rescue(&empty.git, "x").unwrap(), None);
    empty.write("first", "f\n");
    assert!(rescue(&empty.git, "x").unwrap().is_some());
}

#[test]
fn a_broken_or_missing_index_does_not_lose_work() {
    let repository = busy();
    let index = repository.root().join(".git/index");
    for broken in [Some("rubbish"), None] {
        match broken {
            Some(text) => fs::write(&index, text).unwrap(),
            None => fs::remove_file(&index).unwrap(),
        }
        let rescued = rescue(&repository.git, "x").unwrap().unwrap();
        let content = repository.git.file_in(&rescued.commit, "changed".as_ref()).unwrap();
        assert_eq!(content.as_deref(), Some(&b"two\n"[..]));
    }
}

#[test]
fn work_in_the_middle_of_a_merge_is_kept() {
    let repository = Repository::new();
    repository.say(&["checkout", "-q", "-b", "side"]);
    repository.write("file", "side\n");
    repository.commit("side");
    repository.say(&["checkout", "-q", "main"]);
    repository.write("file", "main\n");
    repository.commit("main");
    assert!(!repository.git.ask(&["merge", "side"]).unwrap().success);
    let rescued = rescue(&repository.git, "x").unwrap().unwrap();
    assert!(repository.say(&["show", &format!("{}:file", rescued.commit)]).contains("<<<<<<<"));
    reset_to(&repository.git, "x", "HEAD").unwrap();
    assert_eq!(repository.text("file"), "main\n");
    assert!(!repository.root().join(".git/MERGE_HEAD").exists());
}

#[test]
fn what_is_staged_beside_a_conflict_is_kept() {
    let repository = Repository::new();
    repository.write("other", "one\n");
    repository.commit("second");
    repository.say(&["checkout", "-q", "-b", "theirs"]);
    repository.write("file", "theirs\n");
    repository.commit("theirs");
    repository.say(&["checkout", "-q", "main"]);
    repository.write("file", "ours\n");
    repository.commit("ours");
    assert!(!repository.git.ask(&["merge", "theirs"]).unwrap().success);
    repository.write("other", "staged\n");
    repository.say(&["add", "other"]);
    repository.write("other", "after\n");
    let kept = rescue(&repository.git, "01").unwrap().unwrap();
    assert_eq!(repository.say(&["show", &format!("{}^2:other", kept.commit)]), "staged");
    assert_eq!(repository.say(&["show", &format!("{}^2:file", kept.commit)]), "ours");
    assert_eq!(repository.say(&["show", &format!("{}:other", kept.commit)]), "after");
    assert!(repository.say(&["show", &format!("{}:file", kept.commit)]).contains("<<<<"));
    assert_eq!(rescue(&repository.git, "01").unwrap().unwrap(), kept, "once is enough");
}

#[test]
fn ignored_files_that_a_commit_would_write_over_are_kept() {
    let repository = Repository::new();
    for name in ["data", "swap", "dir/inner"] {
        repository.write(name, "old\n");
    }
    repository.commit("second");
    repository.say(&["checkout", "-q", "--detach"]);
    repository.write("new", "theirs\n");
    let target = repository.commit("third");
    repository.say(&["checkout", "-q", "main"]);
    // A file that is no longer tracked, one that became a folder, and a folder that became a file.
    repository.write(".gitignore", "data\nswap\n*.log\ndir\nnew\nelse\n");
    repository.say(&["rm", "-q", "--cached", "data", "swap", "dir/inner"]);
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
        let there = repository.say(&["show", &format!("{}:{path}", kept[0].commit)]);
        assert_eq!(there, "work", "{path}");
    }
    assert_eq!(repository.text("new"), "theirs\n");
    assert_eq!(repository.text("else"), "stays\n");
    let other = repository.git.ask(&["cat-file", "-e", &format!("{}:else", kept[0].commit)]);
    assert!(!other.unwrap().success, "what is in nobody's way is not kept");
}

#[test]
fn repositories_in_the_way_are_refused_and_left_alone() {
    for (path, ignore) in
        [("lib", ""), ("lib/inner", ""), ("lib/inner", "lib/inner\n"), ("lib", "lib\n")]
    {
        let repository = Repository::new();
        repository.write(".gitignore", ignore);
        repository.commit("second");
        repository.say(&["checkout", "-q", "--detach"]);
        // A file where a folder with the repository is, or one in the repository.
        let there = if path == "lib" { "lib/file" } else { "lib" };
        repository.write(there, "theirs\n");
        repository.say(&["add", "--force", "lib"]);
        repository.say(&["commit", "-q", "-m", "third"]);
        let target = repository.say(&["rev-parse", "HEAD"]);
        repository.say(&["checkout", "-q", "main"]);
        repository.say(&["init", "-q", path]);
        repository.write(&format!("{path}/file"), "precious\n");
        repository.say(&["-C", path, "add", "file"]);
        repository.say(&[
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
        assert!(matches!(error, RescueError::Repositories { .. }), "{path}: {error}");
        assert!(error.to_string().contains(path), "{error}");
        assert!(keep_ignored(&repository.git, "01", &target).is_err(), "{path}");
        assert_eq!(repository.text(&format!("{path}/file")), "precious\n");
        assert!(repository.root().join(path).join(".git").exists());
        reset_to(&repository.git, "01", "HEAD").expect("it is in nobody's way here");
        assert_eq!(repository.text(&format!("{path}/file")), "precious\n");
    }
}

#[test]
fn only_ignored_files_are_asked_for() {
    let repository = Repository::new();
    repository.write(".gitignore", "*.log\nbuild\n");
    repository.commit("second");
    repository.say(&["checkout", "-q", "--detach"]);
    for name in ["new", "some/a.log", "build/x", "else.log"] {
        repository.write(name, "theirs\n");
    }
    repository.say(&["add", "--force", "--all"]);
    repository.say(&["commit", "-q", "-m", "third"]);
    let target = repository.say(&["rev-parse", "HEAD"]);
    repository.say(&["checkout", "-q", "main"]);
    for name in ["new", "some/a.log", "build/x", "other.log"] {
        repository.write(name, "mine\n");
    }
    assert_eq!(ignored_in_the_way(&repository.git, &target).unwrap(), ["build/x", "some/a.log"]);
    let objects = repository.say(&["count-objects"]);
    assert_eq!(ignored_in_the_way(&repository.git, "HEAD").unwrap(), [""; 0]);
    assert_eq!(repository.say(&["count-objects"]), objects, "who only asks writes nothing");
}

#[test]
fn a_reset_keeps_first_what_it_takes_away() {
    let repository = busy();
    let first = repository.say(&["rev-parse", "HEAD~1"]);
    let head = repository.say(&["rev-parse", "HEAD"]);
    // A git that was killed in the middle left these.
    fs::write(repository.root().join(".git/index.lock"), "").unwrap();
    fs::write(repository.root().join(".git/refs/heads/main.lock"), "").unwrap();
    let kept = reset_to(&repository.git, "x", "HEAD~1").unwrap();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1].commit, head, "the branch went back behind this commit");
    assert_eq!(repository.say(&["rev-parse", "main"]), first);
    assert_eq!(repository.text("file"), "one\n");
    assert_eq!(repository.say(&["status", "--porcelain"]), "?? ignored", "no longer ignored");
}

#[test]
fn a_reset_leaves_ignored_files_and_other_repositories_alone() {
    let repository = busy();
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
fn no_name_of_the_user_is_needed() {
    let repository = Repository::new();
    repository.say(&["config", "user.useConfigOnly", "true"]);
    repository.say(&["config", "user.name", ""]);
    repository.write("file", "two\n");
    assert!(rescue(&repository.git, "x").unwrap().is_some());
}

#[test]
fn a_worktree_is_brought_back_and_everything_is_kept() {
    let repository = Repository::new();
    repository.write("papers/plan", "one\n");
    let good = repository.commit("good");
    repository.say(&["checkout", "-q", "-b", "phase"]);
    repository.write("file", "astray\n");
    let astray = repository.commit("astray");
    repository.say(&["reset", "-q", "--hard", "HEAD~2"]);
    repository.say(&["checkout", "-q", "-b", "elsewhere"]);
    repository.say(&["branch", "-q", "-f", "phase", &astray]);
    repository.write("elsewhere", "committed\n");
    let elsewhere = repository.commit("elsewhere");
    repository.write("new", "dirty\n");
    repository.write("papers/plan", "two\n");
    let kept = bring_back(&repository.git, "01/x", ["phase", &good], "papers").unwrap();
    let holds = |path: &str, text: &str| {
        let file = |one: &Rescued| repository.git.file_in(&one.commit, path.as_ref()).unwrap();
        assert!(kept.iter().any(|one| file(one) == Some(text.into())), "{path}");
    };
    holds("new", "dirty\n");
    holds("elsewhere", "committed\n");
    holds("file", "astray\n");
    assert_eq!(repository.say(&["branch", "--show-current"]), "phase");
    assert_eq!(repository.say(&["rev-parse", "HEAD"]), good);
    assert_eq!(repository.say(&["status", "--porcelain"]), " M papers/plan", "it is left alone");
    assert_eq!(repository.text("papers/plan"), "two\n");
    assert_eq!(repository.say(&["rev-parse", "elsewhere"]), elsewhere);
    let again = bring_back(&repository.git, "01/x", ["phase", &good], "papers").unwrap();
    assert!(again.iter().all(|one| one.name.starts_with("refs/mow/rescue/01/x/")));
}

#[test]
fn what_lies_outside_of_a_sparse_checkout_is_kept_too() {
    let repository = Repository::new();
    repository.write("in/file", "i\n");
    repository.write("out/file", "o\n");
    repository.commit("directories");
    repository.say(&["sparse-checkout", "set", "in"]);
    repository.write("out/new", "new\n");
    repository.write("in/file", "changed\n");
    let kept = reset_to(&repository.git, "sparse", "HEAD").unwrap();
    let show = |path: &str| repository.say(&["show", &format!("{}:{path}", kept[0].commit)]);
    assert_eq!((show("out/new"), show("in/file")), ("new".into(), "changed".into()));
    assert_eq!(show("out/file"), "o", "what is not checked out is not deleted");
    assert!(!repository.root().join("out/new").exists());
}

#[test]
fn files_that_git_does_not_carry_are_kept_as_they_are() {
    let repository = Repository::new();
    repository.write(".gitattributes", "* text=auto\n");
    let files = [("notes/a".to_owned(), b"a\r\n\xff".to_vec())];
    let kept = keep_files(&repository.git, "papers", &files).unwrap().unwrap();
    let shown = repository.git.file_in(&kept.commit, "notes/a".as_ref()).unwrap();
    assert_eq!(shown.as_deref(), Some(&b"a\r\n\xff"[..]));
    let again = keep_files(&repository.git, "papers", &files).unwrap();
    assert_eq!(again, Some(kept), "once is enough");
    assert_eq!(keep_files(&repository.git, "papers", &[]).unwrap(), None);
}
