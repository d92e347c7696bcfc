//! Worktrees added in process must be identical to git's, and a failed attempt leaves nothing
//! behind.

#![expect(clippy::disallowed_methods, reason = "tests set files up and break them")]

use std::collections::BTreeMap;

use super::*;
use crate::git::Git;
use crate::test_repository::Repository;

/// Returns every file below a directory, without reflog times and with the worktree's name masked.
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

fn worktree_path(repository: &Repository, name: &str) -> PathBuf {
    repository.root().join(".w").join(name)
}

fn add(repository: &Repository, name: &str, branch: &str, base: &str) -> Option<()> {
    repository.git.in_process()?.add_worktree(&worktree_path(repository, name), branch, base)
}

fn add_with_git(repository: &Repository, name: &str, branch: &str, base: &str) {
    let words = ["worktree", "add", "-q", "--no-checkout", "--no-track", "-b", branch];
    let path = worktree_path(repository, name);
    repository.run_git(&[&words[..], &[&*path.to_string_lossy(), base]].concat());
}

#[test]
fn entry_branch_and_reflogs_match_git() {
    let repository = Repository::new();
    let first = repository.run_git(&["rev-parse", "HEAD"]);
    repository.write("file", "two\n");
    let second = repository.commit("second");
    for (round, base) in [first, second].iter().enumerate() {
        if round == 1 {
            repository.run_git(&["pack-refs", "--all"]);
        }
        let (ours, gits) = (format!("ours{round}"), format!("gits{round}"));
        assert_eq!(add(&repository, &ours, &ours, base), Some(()));
        add_with_git(&repository, &gits, &gits, base);
        let git_dir = repository.root().join(".git");
        let parts = |name: &str| {
            let logs = files(&git_dir.join("logs/refs/heads").join(name), name);
            let entry = files(&git_dir.join("worktrees").join(name), name);
            let branch = fs::read_to_string(git_dir.join("refs/heads").join(name)).unwrap();
            (logs, entry, files(&worktree_path(&repository, name), name), branch)
        };
        assert_eq!(parts(&ours), parts(&gits));
        let status = |name: &str| {
            Git::at_top(&worktree_path(&repository, name)).run(&["status", "-b", "-s"]).unwrap()
        };
        assert_eq!(
            status(&ours).text().replace(&ours, ""),
            status(&gits).text().replace(&gits, "")
        );
    }
    let listed = repository.run_git(&["worktree", "list", "--porcelain"]);
    assert_eq!(listed.replace("gits", "ours").matches("/ours0\n").count(), 4, "{listed}");
    assert_eq!(repository.run_git(&["worktree", "prune", "-n", "-v"]), "");
    assert!(repository.git.ask(&["fsck", "--strict"]).unwrap().success);
}

/// Checks that adding a worktree is left to git, and that nothing was changed.
fn check_left_to_git(what: &str, names: [&str; 2], prepare: impl FnOnce(&Repository, &mut String)) {
    let repository = Repository::new();
    repository.commit("second");
    repository.write(".git/worktrees/.keep", "");
    let mut base = repository.run_git(&["rev-parse", "HEAD"]);
    prepare(&repository, &mut base);
    fs::remove_file(repository.root().join(".git/worktrees/.keep")).unwrap();
    fs::create_dir_all(repository.root().join(".w")).unwrap();
    let state = || {
        let git_dir = repository.root().join(".git");
        let mut all = files(&git_dir.join("worktrees"), "-");
        all.extend(files(&git_dir.join("refs"), "-"));
        all.extend(files(&repository.root().join(".w"), "-"));
        let top_level = fs::read_dir(git_dir).unwrap().map(|entry| entry.unwrap().path());
        all.extend(top_level.map(|path| (path, String::new())));
        all
    };
    let before = state();
    assert_eq!(add(&repository, names[0], names[1], &base), None, "{what}");
    assert_eq!(state(), before, "{what}");
}

#[test]
fn unusual_worktrees_are_left_to_git_without_traces() {
    let usual = ["one", "phase-01"];
    for (key, value) in [
        ("worktree.useRelativePaths", "true"),
        ("worktree.guessRemote", "true"),
        ("extensions.worktreeConfig", "true"),
        ("core.logAllRefUpdates", "false"),
        ("core.sparseCheckout", "true"),
        ("core.bare", "true"),
    ] {
        check_left_to_git(key, usual, |repository, _| {
            repository.run_git(&["config", key, value]);
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
        check_left_to_git(&names.join(" on "), names, |_, _| {});
    }
    for base in ["HEAD", "0123456789012345678901234567890123456789", "main^{tree}"] {
        check_left_to_git(base, usual, |repository, found| {
            let is_tree = base.ends_with('}');
            *found =
                if is_tree { repository.run_git(&["rev-parse", base]) } else { base.to_owned() };
        });
    }
}

#[test]
fn existing_paths_entries_and_branches_are_left_alone() {
    let usual = ["one", "phase-01"];
    check_left_to_git("a directory", usual, |repository, _| {
        fs::create_dir_all(worktree_path(repository, "one")).unwrap();
    });
    check_left_to_git("an entry of that name", usual, |repository, base| {
        let elsewhere = repository.root().join("other/one");
        let words = ["worktree", "add", "-q", "--detach", &*elsewhere.to_string_lossy(), base];
        repository.run_git(&words);
    });
    check_left_to_git("an entry for that place", usual, |repository, base| {
        add_with_git(repository, "one", "other", base);
        fs::rename(worktree_path(repository, "one"), worktree_path(repository, "moved")).unwrap();
    });
    check_left_to_git("a branch below", usual, |repository, _| {
        repository.run_git(&["branch", "phase-01/x"]);
    });
    check_left_to_git("a packed branch below", usual, |repository, _| {
        repository.run_git(&["branch", "phase-01/x"]);
        repository.run_git(&["pack-refs", "--all"]);
    });
    check_left_to_git("a packed branch", usual, |repository, _| {
        repository.run_git(&["branch", "phase-01"]);
        repository.run_git(&["pack-refs", "--all"]);
    });
    check_left_to_git("a branch without commits", usual, |repository, _| {
        repository.run_git(&["symbolic-ref", "HEAD", "refs/heads/phase-01"]);
    });
    check_left_to_git("a lock", usual, |repository, _| {
        repository.write(".git/refs/heads/phase-01.lock", "");
    });
    check_left_to_git("a reflog", usual, |repository, _| {
        repository.write(".git/logs/refs/heads/phase-01", "");
    });
}

#[test]
fn temporary_entries_of_dead_processes_are_removed() {
    let repository = Repository::new();
    let base = repository.run_git(&["rev-parse", "HEAD"]);
    let dead = repository.root().join(".git").join(format!("{STAGING_PREFIX}{}.one", i32::MAX));
    let living = repository.root().join(".git").join(format!("{STAGING_PREFIX}1.one"));
    for dir in [&dead, &living] {
        fs::create_dir_all(dir.join("logs")).unwrap();
    }
    assert_eq!(add(&repository, "one", "phase-01", &base), Some(()));
    assert!(!dead.exists() && living.exists());
}
