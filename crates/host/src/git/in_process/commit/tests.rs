//! Commits made in process must be identical to those that git makes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use gix::bstr::{BString, ByteSlice};

use crate::commit::{Paths, commit_paths};
use crate::git::Git;
use crate::test_repository::{Repository, write};

/// A deterministic random number generator.
struct SeededRng(u64);

impl SeededRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % end as u64).unwrap()
    }

    fn name(&mut self) -> String {
        const NAMES: [&str; 12] = [
            "a",
            "a.b",
            "a-b",
            "dir/x",
            "dir/y z",
            "dir/deep/q",
            "dir.x",
            "dir0",
            "plans/1/one",
            "plans/1/two",
            "plans/2",
            "log/out",
        ];
        NAMES[self.below(NAMES.len())].to_owned()
    }
}

/// Makes a random change that people and agents make in a worktree.
fn make_random_change(rng: &mut SeededRng, git: &Git) {
    let name = rng.name();
    let path = git.dir().join(&name);
    match rng.below(12) {
        0..=4 => {
            clear(git.dir(), &path);
            write(&path, &format!("{}\n", rng.below(5)));
        }
        5 => drop(fs::remove_file(&path)),
        6 => {
            fs::remove_dir_all(path.parent().filter(|dir| *dir != git.dir()).unwrap_or(&path)).ok();
        }
        7 => drop(Command::new("chmod").args(["+x"]).arg(&path).output()),
        8 => {
            clear(git.dir(), &path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink("somewhere", &path).unwrap();
        }
        9 => drop(git.ask(&["add", "--all", &name])),
        10 => drop(git.ask(&["rm", "-r", "-q", "--cached", &name])),
        _ => drop(git.ask(&["stash", "-q"])),
    }
}

/// Removes whatever blocks the creation of a file.
fn clear(top: &Path, path: &Path) {
    fs::remove_dir_all(path).ok();
    fs::remove_file(path).ok();
    for dir in path.ancestors().skip(1).take_while(|dir| *dir != top) {
        if !dir.is_dir() {
            fs::remove_file(dir).ok();
        }
    }
}

fn random_paths(rng: &mut SeededRng) -> Paths {
    match rng.below(5) {
        0 => Paths::All,
        1 => Paths::AllExcept("plans".to_owned()),
        2 => Paths::Directory("plans".to_owned()),
        3 => Paths::Only(vec!["dir".to_owned(), "a".to_owned()]),
        _ => Paths::Only(vec![rng.name()]),
    }
}

/// Returns everything observable about a repository: trees, logs, reflogs, index, status.
fn observable_state(git: &Git) -> String {
    let say = |args: &[&str]| {
        let answer = git.ask(args).unwrap();
        format!("{args:?} {}\n{}{}", answer.success, answer.text(), answer.error_line())
    };
    let mut observable_state = String::new();
    for args in [
        &["rev-parse", "HEAD^{tree}"][..],
        &["log", "--format=%an %ae %cn %ce%n%B%x00", "HEAD"],
        &["reflog", "--format=%gs %gn", "HEAD"],
        &["reflog", "--format=%gs", "main"],
        &["ls-files", "--stage"],
        &["status", "--porcelain", "-uall", "--ignored"],
        &["write-tree"],
        &["fsck", "--strict", "--no-dangling"],
    ] {
        observable_state.push_str(&say(args));
    }
    observable_state
}

/// Returns the same repository with git only: naming an index rules out the in-process code.
fn with_git_alone(git: &Git) -> Git {
    git.with_env("GIT_INDEX_FILE", git.dir().join(".git/index"))
}

fn copy(from: &Path) -> (tempfile::TempDir, Git) {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().canonicalize().unwrap().join("it");
    assert!(Command::new("cp").arg("-a").args([from, &to]).status().unwrap().success());
    (dir, Git::new(to))
}

#[test]
fn random_commits_match_git() {
    let (mut committed, mut listed) = (0, 0);
    for seed in 0..20 {
        let mut rng = SeededRng(seed * 7919 + 1);
        let repository = Repository::new();
        repository.write(".gitignore", "log/\n*.tmp\n");
        repository.write("plans/1/one", "1\n");
        repository.write("dir/x", "x\n");
        repository.commit("second");
        for round in 0..4 {
            for _ in 0..=rng.below(6) {
                make_random_change(&mut rng, &repository.git);
            }
            let at = format!("seed {seed}, round {round}");
            listed += usize::from(lists_same_changes_as_git(&repository.git, &at));
            let (_dir, other) = copy(&repository.root());
            let (paths, message) = (random_paths(&mut rng), "  one \n\n\n two\t\n# three\n\n\n");
            let trailers = [("Mow-Task", "1")];
            let made = commit_paths(&repository.git, &paths, message, &trailers);
            let wanted = commit_paths(&with_git_alone(&other), &paths, message, &trailers);
            let at = format!("{at}, {paths:?}");
            match (&made, &wanted) {
                (Ok(made), Ok(wanted)) => assert_eq!(made.is_some(), wanted.is_some(), "{at}"),
                (Err(_), Err(_)) => {}
                _ => panic!("{at}: {made:?} {wanted:?}"),
            }
            assert_eq!(observable_state(&repository.git), observable_state(&other), "{at}");
            committed += usize::from(was_committed_in_process(&repository.git, &made));
        }
    }
    assert!(
        committed > 30 && listed > 40,
        "only {committed} commits and {listed} listings were made in process"
    );
}

/// Compares the uncommitted paths with `git status`; returns false if the in-process code gave no
/// answer.
fn lists_same_changes_as_git(git: &Git, at: &str) -> bool {
    let Some(found) = git.in_process().and_then(|repo| repo.uncommitted_paths(&Paths::All)) else {
        return false;
    };
    let status = ["status", "--porcelain", "-z", "--no-renames", "-uall"];
    let listing = git.run(&status).unwrap().stdout;
    let lines = listing.split(|byte| *byte == 0).filter(|line| line.len() > 3);
    let mut wanted: Vec<_> = lines.map(|line| BString::from(&line[3..])).collect();
    wanted.sort();
    wanted.dedup();
    assert_eq!(found, wanted, "{at}");
    true
}

/// Returns whether a commit was made in process: git would have left its message in
/// `COMMIT_EDITMSG`.
fn was_committed_in_process(
    git: &Git,
    made: &Result<Option<String>, crate::commit::CommitError>,
) -> bool {
    let file = git.dir().join(".git/COMMIT_EDITMSG");
    let is_gits = fs::read_to_string(&file).is_ok_and(|text| text.contains("two"));
    fs::remove_file(file).ok();
    matches!(made, Ok(Some(_))) && !is_gits
}

/// Commits a changed file; returns whether that happened in process.
fn commits_in_process(repository: &Repository) -> bool {
    repository.write("file", "two\n");
    let made = commit_paths(&repository.git, &Paths::All, "two", &[]);
    was_committed_in_process(&repository.git, &made)
}

#[test]
fn settings_that_affect_commits_are_left_to_git() {
    assert!(commits_in_process(&Repository::new()));
    let settings = [
        ("core.autocrlf", "input"),
        ("core.fileMode", "false"),
        ("core.ignoreCase", "true"),
        ("core.sharedRepository", "group"),
        ("core.fsync", "all"),
        ("core.hooksPath", "own"),
        ("core.attributesFile", "own/rules"),
        ("i18n.commitEncoding", "latin1"),
        ("extensions.preciousObjects", "true"),
        ("hook.mine.command", "true"),
    ];
    for (key, value) in settings {
        let repository = Repository::new();
        repository.write("own/rules", "* text\n");
        repository.run_git(&["config", key, value]);
        let file = repository.root().join("own/rules");
        if key == "core.attributesFile" {
            repository.run_git(&["config", key, file.to_str().unwrap()]);
        }
        repository.commit("settings");
        assert!(!commits_in_process(&repository), "{key}");
    }
}

#[test]
fn attributes_hooks_and_grafts_are_left_to_git() {
    for (name, text) in [
        (".git/info/attributes", "*.txt filter=none\n"),
        (".git/info/grafts", "\n"),
        (".git/hooks/commit-msg", "#!/bin/sh\n"),
        (".git/refs/replace/x", ""),
        (".gitattributes", "* text=auto\n"),
    ] {
        let repository = Repository::new();
        repository.write(name, text);
        assert!(!commits_in_process(&repository), "{name}");
    }
    let usual = Repository::new();
    usual.write(".gitattributes", "*.rs diff=rust\n");
    usual.write(".git/hooks/commit-msg.sample", "");
    assert!(commits_in_process(&usual));
}

#[test]
fn signing_is_not_skipped() {
    let repository = Repository::new();
    for (key, value) in [("commit.gpgsign", "true"), ("gpg.program", "false")] {
        repository.run_git(&["config", key, value]);
    }
    repository.write("file", "two\n");
    commit_paths(&repository.git, &Paths::All, "two", &[]).unwrap_err();
}

/// Names that other systems treat specially, and a link that git refuses.
#[test]
fn names_that_git_refuses_are_refused() {
    for name in ["git~1", ".git.", ".git ", "dir/.git::$INDEX_ALLOCATION", ".gi\u{200c}t/x"] {
        let repository = Repository::new();
        repository.write(name, "x\n");
        check_same_refusal(&repository, name);
    }
    let repository = Repository::new();
    symlink("file", repository.root().join(".gitmodules")).unwrap();
    check_same_refusal(&repository, "a link");
}

fn check_same_refusal(repository: &Repository, what: &str) {
    let (_dir, other) = copy(&repository.root());
    let commit = |git: &Git| commit_paths(git, &Paths::All, "two", &[]).is_ok();
    assert_eq!(commit(&repository.git), commit(&with_git_alone(&other)), "{what}");
    assert_eq!(observable_state(&repository.git), observable_state(&other), "{what}");
}

#[test]
fn a_tree_with_a_missing_object_is_left_to_git() {
    let repository = Repository::new();
    repository.write("lost", "lost\n");
    repository.commit("lost");
    let id = repository.run_git(&["rev-parse", "HEAD:lost"]);
    let object = repository.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(object).unwrap();
    assert!(!commits_in_process(&repository));
}

/// Only git combines a split index, and the index must stay split.
#[test]
fn a_split_index_is_left_to_git() {
    let repository = Repository::new();
    repository.run_git(&["update-index", "--split-index"]);
    assert!(!commits_in_process(&repository));
    let index = fs::read(repository.root().join(".git/index")).unwrap();
    assert!(index.contains_str("link"));
}

#[test]
fn a_detached_head_is_left_to_git() {
    let repository = Repository::new();
    repository.run_git(&["checkout", "-q", "--detach"]);
    assert!(!commits_in_process(&repository));
    assert_eq!(repository.run_git(&["log", "--format=%s", "main"]), "first");
}

/// The file's times and size match the index, but its content differs.
#[test]
fn a_file_that_changed_when_the_index_was_written_is_still_seen() {
    let repository = Repository::new();
    repository.run_git(&["config", "core.checkStat", "minimal"]);
    repository.run_git(&["config", "core.trustctime", "false"]);
    let at = SystemTime::now() - Duration::from_secs(60);
    let set = |name: &str| repository.set_time(name, at);
    repository.write("racy", "one\n");
    set("racy");
    repository.commit("racy");
    repository.write("racy", "two\n");
    set("racy");
    set(".git/index");
    // Git itself would mark the entry if it could write the index.
    let diff = ["--no-optional-locks", "diff", "--name-only"];
    assert_eq!(repository.run_git(&diff), "racy");
    repository.write("file", "two\n");
    repository
        .git
        .in_process()
        .unwrap()
        .prepare_commit(&[b"file"], "file")
        .unwrap()
        .finish()
        .unwrap();
    assert_eq!(repository.run_git(&["diff", "--name-only"]), "racy");
}

#[test]
fn a_locked_index_is_left_alone() {
    let repository = Repository::new();
    repository.write(".git/index.lock", "");
    repository.write("file", "two\n");
    let repo = repository.git.in_process().unwrap();
    assert!(repo.prepare_commit(&[b"file"], "two").is_none());
    assert_eq!(repository.run_git(&["log", "--format=%s"]), "first");
}

/// Most builds of git compare whole seconds, and treat every file of the index's second as racy.
#[test]
fn a_file_that_changed_in_the_second_of_the_index_is_still_seen_by_git() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    // The new index is written in a later second than the old one, or in the same.
    for second in [1_700_000_000, now] {
        let repository = Repository::new();
        repository.run_git(&["config", "core.checkStat", "minimal"]);
        repository.run_git(&["config", "core.trustctime", "false"]);
        let set = |name: &str, ns| {
            let time = Duration::new(second, ns);
            repository.set_time(name, SystemTime::UNIX_EPOCH + time);
        };
        repository.write("racy", "one\n");
        set("racy", 100);
        repository.commit("racy");
        set(".git/index", 200);
        repository.write("racy", "two\n");
        set("racy", 300);
        repository.write("file", "two\n");
        repository
            .git
            .in_process()
            .unwrap()
            .prepare_commit(&[b"file"], "file")
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(repository.run_git(&["diff", "--name-only"]), "racy");
    }
}

#[test]
fn an_emptied_file_with_a_racy_mark_is_found() {
    let repository = Repository::new();
    repository.write("file", "");
    repository.write("other", "one\n");
    let id = repository.run_git(&["hash-object", "-w", "other"]);
    repository.run_git(&["add", "file"]);
    // The entry has the stat of an empty file, but another object.
    let path = repository.root().join(".git/index");
    let mut index = super::super::index::read(&path).unwrap();
    index.entries_mut()[0].id = gix::ObjectId::from_hex(id.as_bytes()).unwrap();
    index.remove_tree();
    index.write(gix::index::write::Options::default()).unwrap();
    repository.set_time(".git/index", SystemTime::now() + Duration::from_secs(60));
    let found = repository.git.in_process().unwrap().uncommitted_paths(&Paths::All).unwrap();
    assert_eq!(found, ["file", "other"]);
}

#[test]
fn attributes_that_only_the_index_has_are_left_to_git() {
    let repository = Repository::new();
    repository.write(".gitattributes", "* text=auto\n");
    repository.commit("rules");
    fs::remove_file(repository.root().join(".gitattributes")).unwrap();
    repository.write("file", "two\n");
    let repo = repository.git.in_process().unwrap();
    assert!(repo.prepare_commit(&[b"file"], "two").is_none());
}

#[test]
fn an_untracked_and_ignored_file_is_not_added_again() {
    let repository = Repository::new();
    repository.write("secret", "s\n");
    repository.commit("secret");
    repository.write(".gitignore", "secret\n");
    repository.run_git(&["rm", "-q", "--cached", "secret"]);
    commit_paths(&repository.git, &Paths::All, "forget", &[]).unwrap().unwrap();
    assert_eq!(repository.run_git(&["ls-tree", "--name-only", "HEAD"]), ".gitignore\nfile");
    assert_eq!(repository.text("secret"), "s\n");
}

#[test]
fn user_names_that_git_trims_are_left_to_git_but_packed_branches_are_not() {
    let repository = Repository::new();
    repository.run_git(&["pack-refs", "--all"]);
    assert!(commits_in_process(&repository));
    assert!(!repository.root().join(".git/packed-refs.lock").exists());
    for name in ["Foo Jr.", "\"Foo\"", "Foo <foo>"] {
        let repository = Repository::new();
        repository.run_git(&["config", "user.name", name]);
        assert!(!commits_in_process(&repository), "{name}");
    }
}

#[test]
fn a_branch_moved_by_another_process_is_not_overwritten() {
    let repository = Repository::new();
    repository.write("file", "two\n");
    let repo = repository.git.in_process().unwrap();
    let ready = repo.prepare_commit(&[b"file"], "two").unwrap();
    let empty = repository.run_git(&["commit-tree", "-p", "HEAD", "-m", "theirs", "HEAD^{tree}"]);
    repository.run_git(&["update-ref", "refs/heads/main", &empty]);
    assert_eq!(ready.finish(), None);
    assert_eq!(repository.run_git(&["log", "--format=%s"]), "theirs\nfirst");
    assert!(!repository.root().join(".git/index.lock").exists());
    assert!(!repository.root().join(".git/HEAD.lock").exists());
}
