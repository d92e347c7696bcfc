//! Worktrees made here and by git itself have to be the same, and what is not made leaves nothing.

#![expect(clippy::disallowed_methods, reason = "tests set files up and break them")]

use std::collections::BTreeMap;

use super::*;
use crate::git::Git;
use crate::test_repository::Repository;

/// Every file below a directory, with the times in reflogs and the name of the worktree left out.
fn files(dir: &Path, name: &str) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut left = vec![dir.to_path_buf()];
    while let Some(path) = left.pop() {
        let inside = path.strip_prefix(dir).unwrap().to_path_buf();
        if path.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            all.insert(inside, "a directory".into());
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).replace(name, "NAME");
        let is_time = |word: &str| word.len() == 10 && word.parse::<u64>().is_ok();
        let words: Vec<_> = text.split(' ').filter(|word| !is_time(word)).collect();
        all.insert(inside, words.join(" "));
    }
    all
}

fn at(repository: &Repository, name: &str) -> PathBuf {
    repository.root().join(".w").join(name)
}

fn add(repository: &Repository, name: &str, branch: &str, base: &str) -> Option<()> {
    repository.git.plain()?.add_worktree(&at(repository, name), branch, base)
}

fn add_with_git(repository: &Repository, name: &str, branch: &str, base: &str) {
    let words = ["worktree", "add", "-q", "--no-checkout", "--no-track", "-b", branch];
    let path = at(repository, name);
    repository.say(&[&words[..], &[&*path.to_string_lossy(), base]].concat());
}

#[test]
fn entry_branch_and_reflogs_are_those_that_git_makes() {
    let repository = Repository::new();
    let first = repository.say(&["rev-parse", "HEAD"]);
    repository.write("file", "two\n");
    let second = repository.commit("second");
    for (round, base) in [first, second].iter().enumerate() {
        if round == 1 {
            repository.say(&["pack-refs", "--all"]);
        }
        let (ours, gits) = (format!("ours{round}"), format!("gits{round}"));
        assert_eq!(add(&repository, &ours, &ours, base), Some(()));
        add_with_git(&repository, &gits, &gits, base);
        let git_dir = repository.root().join(".git");
        let parts = |name: &str| {
            let logs = files(&git_dir.join("logs/refs/heads").join(name), name);
            let entry = files(&git_dir.join("worktrees").join(name), name);
            let branch = fs::read_to_string(git_dir.join("refs/heads").join(name)).unwrap();
            (logs, entry, files(&at(&repository, name), name), branch)
        };
        assert_eq!(parts(&ours), parts(&gits));
        let status =
            |name: &str| Git::at_top(&at(&repository, name)).run(&["status", "-b", "-s"]).unwrap();
        assert_eq!(
            status(&ours).text().replace(&ours, ""),
            status(&gits).text().replace(&gits, "")
        );
    }
    let listed = repository.say(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.replace("gits", "ours").matches("/ours0\n").count(), 4, "{listed}");
    assert_eq!(repository.say(&["worktree", "prune", "-n", "-v"]), "");
    assert!(repository.git.ask(&["fsck", "--strict"]).unwrap().success);
}

/// Git has to be asked about these, and finds nothing that was begun.
fn check_unusual(what: &str, names: [&str; 2], prepare: impl FnOnce(&Repository, &mut String)) {
    let repository = Repository::new();
    repository.commit("second");
    repository.write(".git/worktrees/.keep", "");
    let mut base = repository.say(&["rev-parse", "HEAD"]);
    prepare(&repository, &mut base);
    fs::remove_file(repository.root().join(".git/worktrees/.keep")).unwrap();
    fs::create_dir_all(repository.root().join(".w")).unwrap();
    let state = || {
        let git_dir = repository.root().join(".git");
        let mut all = files(&git_dir.join("worktrees"), "-");
        all.extend(files(&git_dir.join("refs"), "-"));
        all.extend(files(&repository.root().join(".w"), "-"));
        let aside = fs::read_dir(git_dir).unwrap().map(|entry| entry.unwrap().path());
        all.extend(aside.map(|path| (path, String::new())));
        all
    };
    let before = state();
    assert_eq!(add(&repository, names[0], names[1], &base), None, "{what}");
    assert_eq!(state(), before, "{what}");
}

#[test]
fn what_is_unusual_is_left_to_git_and_not_begun() {
    let usual = ["one", "phase-01"];
    for (key, value) in [
        ("worktree.useRelativePaths", "true"),
        ("worktree.guessRemote", "true"),
        ("extensions.worktreeConfig", "true"),
        ("core.logAllRefUpdates", "false"),
        ("core.sparseCheckout", "true"),
        ("core.bare", "true"),
    ] {
        check_unusual(key, usual, |repository, _| {
            repository.say(&["config", key, value]);
        });
    }
    for names in [
        ["dotted.name", "phase-01"],
        ["with space", "phase-01"],
        ["one", "a/b"],
        ["one", "HEAD"],
        ["one", "-x"],
        ["one", "x.lock"],
        ["one", "main"],
    ] {
        check_unusual(&names.join(" on "), names, |_, _| {});
    }
    for base in ["HEAD", "0123456789012345678901234567890123456789", "main^{tree}"] {
        check_unusual(base, usual, |repository, found| {
            let is_tree = base.ends_with('}');
            *found = if is_tree { repository.say(&["rev-parse", base]) } else { base.to_owned() };
        });
    }
}

#[test]
fn what_is_in_the_way_is_left_alone() {
    let usual = ["one", "phase-01"];
    check_unusual("a directory", usual, |repository, _| {
        fs::create_dir_all(at(repository, "one")).unwrap();
    });
    check_unusual("an entry of that name", usual, |repository, base| {
        let elsewhere = repository.root().join("other/one");
        let words = ["worktree", "add", "-q", "--detach", &*elsewhere.to_string_lossy(), base];
        repository.say(&words);
    });
    check_unusual("an entry for that place", usual, |repository, base| {
        add_with_git(repository, "one", "other", base);
        fs::rename(at(repository, "one"), at(repository, "moved")).unwrap();
    });
    check_unusual("a branch below", usual, |repository, _| {
        repository.say(&["branch", "phase-01/x"]);
    });
    check_unusual("a packed branch below", usual, |repository, _| {
        repository.say(&["branch", "phase-01/x"]);
        repository.say(&["pack-refs", "--all"]);
    });
    check_unusual("a packed branch", usual, |repository, _| {
        repository.say(&["branch", "phase-01"]);
        repository.say(&["pack-refs", "--all"]);
    });
    check_unusual("a branch without commits", usual, |repository, _| {
        repository.say(&["symbolic-ref", "HEAD", "refs/heads/phase-01"]);
    });
    check_unusual("a lock", usual, |repository, _| {
        repository.write(".git/refs/heads/phase-01.lock", "");
    });
    check_unusual("a reflog", usual, |repository, _| {
        repository.write(".git/logs/refs/heads/phase-01", "");
    });
}

#[test]
fn entries_aside_of_the_dead_are_removed() {
    let repository = Repository::new();
    let base = repository.say(&["rev-parse", "HEAD"]);
    let dead = repository.root().join(".git").join(format!("{ASIDE}{}.one", i32::MAX));
    let living = repository.root().join(".git").join(format!("{ASIDE}1.one"));
    for dir in [&dead, &living] {
        fs::create_dir_all(dir.join("logs")).unwrap();
    }
    assert_eq!(add(&repository, "one", "phase-01", &base), Some(()));
    assert!(!dead.exists() && living.exists());
}
