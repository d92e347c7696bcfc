//! What our own process commits is what git would have.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use gix::bstr::{BString, ByteSlice};

use crate::commit::{Paths, commit_paths};
use crate::git::Git;
use crate::test_repository::{Repository, write};

/// Numbers that look random, the same for each seed.
struct Dice(u64);

impl Dice {
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

/// Does something to a worktree that people and agents do.
fn disturb(dice: &mut Dice, git: &Git) {
    let name = dice.name();
    let path = git.dir().join(&name);
    match dice.below(12) {
        0..=4 => {
            clear(git.dir(), &path);
            write(&path, &format!("{}\n", dice.below(5)));
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

/// Makes room for a file.
fn clear(top: &Path, path: &Path) {
    fs::remove_dir_all(path).ok();
    fs::remove_file(path).ok();
    for dir in path.ancestors().skip(1).take_while(|dir| *dir != top) {
        if !dir.is_dir() {
            fs::remove_file(dir).ok();
        }
    }
}

fn which(dice: &mut Dice) -> Paths {
    match dice.below(5) {
        0 => Paths::All,
        1 => Paths::AllBut("plans".to_owned()),
        2 => Paths::Folder("plans".to_owned()),
        3 => Paths::Only(vec!["dir".to_owned(), "a".to_owned()]),
        _ => Paths::Only(vec![dice.name()]),
    }
}

/// Everything that can be seen of a repository.
fn seen(git: &Git) -> String {
    let say = |args: &[&str]| {
        let answer = git.ask(args).unwrap();
        format!("{args:?} {}\n{}{}", answer.success, answer.text(), answer.complaint())
    };
    let mut seen = String::new();
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
        seen.push_str(&say(args));
    }
    seen
}

/// The same directory with git alone: whoever names an index means git's.
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
fn a_commit_is_what_git_would_have_made() {
    let (mut inside, mut looked) = (0, 0);
    for seed in 0..20 {
        let mut dice = Dice(seed * 7919 + 1);
        let repository = Repository::new();
        repository.write(".gitignore", "log/\n*.tmp\n");
        repository.write("plans/1/one", "1\n");
        repository.write("dir/x", "x\n");
        repository.commit("second");
        for round in 0..4 {
            for _ in 0..=dice.below(6) {
                disturb(&mut dice, &repository.git);
            }
            let at = format!("seed {seed}, round {round}");
            looked += usize::from(is_listed_alike(&repository.git, &at));
            let (_dir, other) = copy(&repository.root());
            let (paths, message) = (which(&mut dice), "  one \n\n\n two\t\n# three\n\n\n");
            let trailers = [("Mow-Task", "1")];
            let made = commit_paths(&repository.git, &paths, message, &trailers);
            let wanted = commit_paths(&with_git_alone(&other), &paths, message, &trailers);
            let at = format!("{at}, {paths:?}");
            match (&made, &wanted) {
                (Ok(made), Ok(wanted)) => assert_eq!(made.is_some(), wanted.is_some(), "{at}"),
                (Err(_), Err(_)) => {}
                _ => panic!("{at}: {made:?} {wanted:?}"),
            }
            assert_eq!(seen(&repository.git), seen(&other), "{at}");
            inside += usize::from(is_own_work(&repository.git, &made));
        }
    }
    assert!(inside > 30 && looked > 40, "only {inside} commits were made here, {looked} looks");
}

/// Compares what is to be committed with what git says, if our own process says anything.
fn is_listed_alike(git: &Git, at: &str) -> bool {
    let Some(found) = git.plain().and_then(|plain| plain.changed(&Paths::All)) else {
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

/// Git leaves the message of its last commit in a file.
fn is_own_work(git: &Git, made: &Result<Option<String>, crate::commit::CommitError>) -> bool {
    let file = git.dir().join(".git/COMMIT_EDITMSG");
    let is_gits = fs::read_to_string(&file).is_ok_and(|text| text.contains("two"));
    fs::remove_file(file).ok();
    matches!(made, Ok(Some(_))) && !is_gits
}

/// Commits a changed file; tells whether our own process did.
fn is_made_here(repository: &Repository) -> bool {
    repository.write("file", "two\n");
    let made = commit_paths(&repository.git, &Paths::All, "two", &[]);
    is_own_work(&repository.git, &made)
}

#[test]
fn whoever_has_a_say_in_a_commit_is_asked() {
    assert!(is_made_here(&Repository::new()));
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
        repository.say(&["config", key, value]);
        let file = repository.root().join("own/rules");
        if key == "core.attributesFile" {
            repository.say(&["config", key, file.to_str().unwrap()]);
        }
        repository.commit("settings");
        assert!(!is_made_here(&repository), "{key}");
    }
}

#[test]
fn files_in_git_s_directory_have_a_say_in_a_commit() {
    for (name, text) in [
        (".git/info/attributes", "*.txt filter=none\n"),
        (".git/info/grafts", "\n"),
        (".git/hooks/commit-msg", "#!/bin/sh\n"),
        (".git/refs/replace/x", ""),
        (".gitattributes", "* text=auto\n"),
    ] {
        let repository = Repository::new();
        repository.write(name, text);
        assert!(!is_made_here(&repository), "{name}");
    }
    let plain = Repository::new();
    plain.write(".gitattributes", "*.rs diff=rust\n");
    plain.write(".git/hooks/commit-msg.sample", "");
    assert!(is_made_here(&plain));
}

#[test]
fn a_signature_is_not_left_out() {
    let repository = Repository::new();
    for (key, value) in [("commit.gpgsign", "true"), ("gpg.program", "false")] {
        repository.say(&["config", key, value]);
    }
    repository.write("file", "two\n");
    commit_paths(&repository.git, &Paths::All, "two", &[]).unwrap_err();
}

/// Names that another system would take for something else, and a link that is none like others.
#[test]
fn names_that_git_refuses_are_refused() {
    for name in ["git~1", ".git.", ".git ", "dir/.git::$INDEX_ALLOCATION", ".gi\u{200c}t/x"] {
        let repository = Repository::new();
        repository.write(name, "x\n");
        is_refused_alike(&repository, name);
    }
    let repository = Repository::new();
    symlink("file", repository.root().join(".gitmodules")).unwrap();
    is_refused_alike(&repository, "a link");
}

fn is_refused_alike(repository: &Repository, what: &str) {
    let (_dir, other) = copy(&repository.root());
    let commit = |git: &Git| commit_paths(git, &Paths::All, "two", &[]).is_ok();
    assert_eq!(commit(&repository.git), commit(&with_git_alone(&other)), "{what}");
    assert_eq!(seen(&repository.git), seen(&other), "{what}");
}

#[test]
fn a_tree_of_which_a_part_is_lost_is_git_s() {
    let repository = Repository::new();
    repository.write("lost", "lost\n");
    repository.commit("lost");
    let id = repository.say(&["rev-parse", "HEAD:lost"]);
    let object = repository.root().join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(object).unwrap();
    assert!(!is_made_here(&repository));
}

/// An index in two files is put together by nobody but git, and stays in two.
#[test]
fn a_split_index_is_git_s() {
    let repository = Repository::new();
    repository.say(&["update-index", "--split-index"]);
    assert!(!is_made_here(&repository));
    let index = fs::read(repository.root().join(".git/index")).unwrap();
    assert!(index.contains_str("link"));
}

#[test]
fn a_detached_head_is_git_s() {
    let repository = Repository::new();
    repository.say(&["checkout", "-q", "--detach"]);
    assert!(!is_made_here(&repository));
    assert_eq!(repository.say(&["log", "--format=%s", "main"]), "first");
}

/// A file whose times and size are those that the index knows, though its content is another.
#[test]
fn a_file_that_changed_when_the_index_was_written_is_still_seen() {
    let repository = Repository::new();
    repository.say(&["config", "core.checkStat", "minimal"]);
    repository.say(&["config", "core.trustctime", "false"]);
    let at = SystemTime::now() - Duration::from_secs(60);
    let set = |name: &str| repository.set_time(name, at);
    repository.write("racy", "one\n");
    set("racy");
    repository.commit("racy");
    repository.write("racy", "two\n");
    set("racy");
    set(".git/index");
    // Git itself would mark it, had it the chance to write the index.
    let looks = ["--no-optional-locks", "diff", "--name-only"];
    assert_eq!(repository.say(&looks), "racy");
    repository.write("file", "two\n");
    repository.git.plain().unwrap().ready(&[b"file"], "file").unwrap().make().unwrap();
    assert_eq!(repository.say(&["diff", "--name-only"]), "racy");
}

#[test]
fn an_index_that_somebody_keeps_locked_is_left_alone() {
    let repository = Repository::new();
    repository.write(".git/index.lock", "");
    repository.write("file", "two\n");
    let plain = repository.git.plain().unwrap();
    assert!(plain.ready(&[b"file"], "two").is_none());
    assert_eq!(repository.say(&["log", "--format=%s"]), "first");
}

/// Most builds of git compare whole seconds, and take every file of the index's second for doubtful.
#[test]
fn a_file_that_changed_in_the_second_of_the_index_is_still_seen_by_git() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    // The new index is written in a later second than the old one, or in the same.
    for second in [1_700_000_000, now] {
        let repository = Repository::new();
        repository.say(&["config", "core.checkStat", "minimal"]);
        repository.say(&["config", "core.trustctime", "false"]);
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
        repository.git.plain().unwrap().ready(&[b"file"], "file").unwrap().make().unwrap();
        assert_eq!(repository.say(&["diff", "--name-only"]), "racy");
    }
}

#[test]
fn a_file_that_is_marked_and_was_emptied_is_seen() {
    let repository = Repository::new();
    repository.write("file", "");
    repository.write("other", "one\n");
    let id = repository.say(&["hash-object", "-w", "other"]);
    repository.say(&["add", "file"]);
    // The index says what it says of an empty file, but for what it holds.
    let path = repository.root().join(".git/index");
    let mut index = super::super::index::read(&path).unwrap();
    index.entries_mut()[0].id = gix::ObjectId::from_hex(id.as_bytes()).unwrap();
    index.remove_tree();
    index.write(gix::index::write::Options::default()).unwrap();
    repository.set_time(".git/index", SystemTime::now() + Duration::from_secs(60));
    let found = repository.git.plain().unwrap().changed(&Paths::All).unwrap();
    assert_eq!(found, ["file", "other"]);
}

#[test]
fn rules_that_only_the_index_has_left_have_a_say() {
    let repository = Repository::new();
    repository.write(".gitattributes", "* text=auto\n");
    repository.commit("rules");
    fs::remove_file(repository.root().join(".gitattributes")).unwrap();
    repository.write("file", "two\n");
    let plain = repository.git.plain().unwrap();
    assert!(plain.ready(&[b"file"], "two").is_none());
}

#[test]
fn a_file_that_git_is_to_forget_is_not_taken_in_again() {
    let repository = Repository::new();
    repository.write("secret", "s\n");
    repository.commit("secret");
    repository.write(".gitignore", "secret\n");
    repository.say(&["rm", "-q", "--cached", "secret"]);
    commit_paths(&repository.git, &Paths::All, "forget", &[]).unwrap().unwrap();
    assert_eq!(repository.say(&["ls-tree", "--name-only", "HEAD"]), ".gitignore\nfile");
    assert_eq!(repository.text("secret"), "s\n");
}

#[test]
fn names_that_git_may_cut_are_git_s_and_packed_branches_are_not() {
    let repository = Repository::new();
    repository.say(&["pack-refs", "--all"]);
    assert!(is_made_here(&repository));
    assert!(!repository.root().join(".git/packed-refs.lock").exists());
    for name in ["Foo Jr.", "\"Foo\"", "Foo <foo>"] {
        let repository = Repository::new();
        repository.say(&["config", "user.name", name]);
        assert!(!is_made_here(&repository), "{name}");
    }
}

#[test]
fn a_branch_that_somebody_else_moved_stays() {
    let repository = Repository::new();
    repository.write("file", "two\n");
    let plain = repository.git.plain().unwrap();
    let ready = plain.ready(&[b"file"], "two").unwrap();
    let empty = repository.say(&["commit-tree", "-p", "HEAD", "-m", "theirs", "HEAD^{tree}"]);
    repository.say(&["update-ref", "refs/heads/main", &empty]);
    assert_eq!(ready.make(), None);
    assert_eq!(repository.say(&["log", "--format=%s"]), "theirs\nfirst");
    assert!(!repository.root().join(".git/index.lock").exists());
    assert!(!repository.root().join(".git/HEAD.lock").exists());
}
