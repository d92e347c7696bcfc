//! Everything that is noticed, with real git.

use super::*;
use crate::test_repository::Repository;

fn settings(repository: &Repository) -> Settings {
    let home = repository.root().with_extension("home");
    super::settings(
        &repository.git,
        &User { config: home.join("own"), global: home.join("global"), home },
    )
    .unwrap()
}

#[test]
fn the_user_s_own_rules_are_settings_too() {
    let repository = Repository::new();
    let home = repository.root().with_extension("home");
    let before = settings(&repository);
    for file in [".config/git/ignore", "own/git/attributes", "own/git/ignore"] {
        crate::test_repository::write(&home.join(file), "work\n");
    }
    let wanted = ["~/.config/git/ignore", "~/own/git/attributes", "~/own/git/ignore"];
    assert_eq!(differing(&before, &settings(&repository)), wanted);
    repository.say(&["config", "core.excludesFile", "~/rules"]);
    let before = settings(&repository);
    crate::test_repository::write(&home.join("rules"), "work\n");
    assert_eq!(differing(&before, &settings(&repository)), ["~/rules"]);
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn an_object_that_stands_for_another_is_a_setting() {
    let repository = Repository::new();
    let before = settings(&repository);
    let object = repository.say(&["rev-parse", "HEAD:file"]);
    let other = repository.say(&["hash-object", "-w", ".git/HEAD"]);
    repository.say(&["replace", &object, &other]);
    let wanted = [format!("{REPLACED}{object}")];
    assert_eq!(differing(&before, &settings(&repository)), wanted);
    repository.say(&["pack-refs", "--all"]);
    assert_eq!(differing(&before, &settings(&repository)), wanted);
}

#[test]
fn settings_that_matter_are_told_from_those_that_do_not() {
    let repository = Repository::new();
    let before = settings(&repository);
    repository.say(&["config", "branch.main.remote", "elsewhere"]);
    repository.say(&["config", "user.name", "Another"]);
    assert!(differing(&before, &settings(&repository)).is_empty());
    repository.say(&["config", "core.hooksPath", "/dev/null"]);
    repository.say(&["config", "filter.x.clean", "true"]);
    repository.write(".git/info/exclude", "/.worktrees/\n/.planning/dashboard-*\n/work\n");
    repository.write(".git/hooks/pre-commit", "exit 0\n");
    repository.write(".git/hooks/pre-push.sample", "exit 0\n");
    let after = settings(&repository);
    let names = differing(&before, &after);
    let wanted = ["core.hookspath", "filter.x.clean", "hooks/pre-commit", "info/exclude"];
    assert_eq!(names, wanted, "{after:?}");
    assert_eq!(differing(&after, &before).len(), 4, "also when they are gone");
}

fn moved(repository: &Repository, word: &str, branches: &[String]) -> Vec<(String, String)> {
    moved_by(&repository.git, word, branches).unwrap()
}

#[test]
fn a_branch_tells_who_moved_it() {
    let repository = Repository::new();
    let both = ["main".to_owned(), "side".to_owned()];
    assert_eq!(moved(&repository, "mow r/01/1", &both), []);
    repository.write("file", "two\n");
    let git = repository.git.with_env(REFLOG_VARIABLE, "mow r/01/1");
    git.run(&["commit", "-q", "-a", "-m", "astray"]).unwrap();
    let head = repository.git.commit_of("HEAD").unwrap().unwrap();
    assert_eq!(moved(&repository, "mow r/01/1", &both), [("main".to_owned(), head)]);
    assert_eq!(moved(&repository, "mow r/01/2", &both), []);
}

#[test]
fn hidden_changes_are_found_and_shown_again() {
    let repository = Repository::new();
    for name in ["assumed", "skipped", "gone", "sparse", "same"] {
        repository.write(name, "one\n");
    }
    repository.commit("second");
    repository.say(&["update-index", "--assume-unchanged", "assumed", "gone", "same"]);
    repository.say(&["update-index", "--skip-worktree", "skipped", "sparse"]);
    assert_eq!(hidden(&repository.git).unwrap(), [""; 0]);
    repository.write("assumed", "two\n");
    repository.write("skipped", "two\n");
    fs::remove_file(repository.root().join("gone")).unwrap();
    fs::remove_file(repository.root().join("sparse")).unwrap();
    assert_eq!(repository.say(&["status", "--porcelain"]), "");
    let found = hidden(&repository.git).unwrap();
    assert_eq!(found, ["assumed", "gone", "skipped", "sparse"]);
    unhide(&repository.git, &found).unwrap();
    let status = repository.say(&["status", "--porcelain"]);
    assert_eq!(status, " M assumed\n D gone\n M skipped\n D sparse");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_hidden() {
    let repository = Repository::new();
    for name in ["in/one", "out/two"] {
        repository.write(name, "one\n");
    }
    repository.commit("second");
    repository.say(&["sparse-checkout", "set", "in"]);
    assert!(!repository.root().join("out").exists());
    assert_eq!(hidden(&repository.git).unwrap(), [""; 0]);
    repository.say(&["update-index", "--skip-worktree", "in/one"]);
    fs::remove_file(repository.root().join("in/one")).unwrap();
    assert_eq!(hidden(&repository.git).unwrap(), ["in/one"], "the rules want it");
}

#[test]
fn modes_and_links_are_looked_at_too() {
    let repository = Repository::new();
    let link = |target: &str, name: &str| {
        let path = repository.root().join(name);
        fs::remove_file(&path).ok();
        std::os::unix::fs::symlink(target, path).unwrap();
    };
    for name in ["mode", "turned"] {
        repository.write(name, "one\n");
    }
    link("file", "link");
    link("file", "same");
    repository.commit("second");
    repository.say(&["update-index", "--assume-unchanged", "mode", "turned", "link", "same"]);
    assert_eq!(hidden(&repository.git).unwrap(), [""; 0]);
    crate::test_repository::make_executable(&repository.root().join("mode"));
    link("mode", "link");
    link("file", "turned");
    assert_eq!(hidden(&repository.git).unwrap(), ["link", "mode", "turned"]);
    repository.say(&["config", "core.fileMode", "false"]);
    assert_eq!(hidden(&repository.git).unwrap(), ["link", "turned"]);
}

#[test]
fn a_branch_that_is_moved_without_a_word_is_noticed() {
    let repository = Repository::new();
    let git = &repository.git;
    let length = || reflog_length(git, "main").unwrap();
    let since = length();
    repository.write("file", "two\n");
    let two = repository.commit("two");
    repository.say(&["update-ref", "-m", "a tool", "refs/heads/main", &format!("{two}^")]);
    assert_eq!(moved_silently(git, "main", since).unwrap(), None);
    let since = length();
    repository.say(&["update-ref", "refs/heads/main", &two]);
    repository.say(&["commit", "-q", "--allow-empty", "-m", "three"]);
    assert_eq!(moved_silently(git, "main", since).unwrap(), Some(two));
    assert_eq!(moved_silently(git, "main", length()).unwrap(), None);
    assert_eq!(moved_silently(git, "main", length() + 1).unwrap(), None, "it was cleared");
    assert_eq!(moved_silently(git, "none", 0).unwrap(), None);
}

#[test]
fn a_branch_that_is_moved_where_nothing_notes_it_is_noticed() {
    let repository = Repository::new();
    let git = &repository.git;
    let one = git.commit_of("HEAD").unwrap();
    let moved = || moved_unlogged(git, "mow", ("main", one.as_deref())).unwrap();
    repository.write("file", "two\n");
    let two = repository.commit("two");
    assert_eq!(moved(), None, "a file notes it");
    fs::remove_dir_all(repository.root().join(".git/logs")).unwrap();
    assert_eq!(moved().as_ref(), Some(&two));
    repository.say(&["update-ref", "refs/mow/run/r/target", &two]);
    assert_eq!(moved(), None, "the run has merged it");
    assert_eq!(moved_unlogged(git, "mow", ("main", Some(&two))).unwrap(), None, "it stands still");
}

#[test]
fn a_reflog_that_is_no_file_tells_people_from_agents() {
    let repository = Repository::new();
    let git = &repository.git;
    fs::remove_dir_all(repository.root().join(".git/logs")).unwrap();
    repository.say(&["refs", "migrate", "--ref-format=reftable"]);
    let one = git.commit_of("HEAD").unwrap();
    let moved = || moved_unlogged(git, "mow r/01/1", ("main", one.as_deref())).unwrap();
    repository.commit("two");
    assert_eq!(moved(), None, "a person did that");
    let agent = git.with_env(REFLOG_VARIABLE, "mow r/01/1");
    agent.run(&["commit", "-q", "--allow-empty", "-m", "astray"]).unwrap();
    assert_eq!(moved(), git.commit_of("HEAD").unwrap());
}

#[test]
fn what_nothing_leads_to_any_more_is_lost() {
    let repository = Repository::new();
    let git = &repository.git;
    let made = |text: &str| {
        repository.write("file", text);
        let commit = repository.commit(text);
        repository.say(&["reset", "-q", "--hard", "HEAD~1"]);
        commit
    };
    let [side, tag, moved, kept] = ["side", "tag", "moved", "kept"].map(made);
    repository.say(&["branch", "side", &side]);
    repository.say(&["branch", "kept", &kept]);
    repository.say(&["branch", "merged"]);
    repository.say(&["tag", "-a", "-m", "Words", "v1", &tag]);
    repository.say(&["update-ref", "refs/mow/rescue/r/1", &moved]);
    for text in ["one stash", "two stashes"] {
        repository.write("file", text);
        repository.say(&["stash", "-q"]);
    }
    repository.say(&["pack-refs", "--all"]);
    let before = holdings(git).unwrap();
    assert_eq!(lost(git, &before).unwrap(), []);
    let stashes = repository.say(&["stash", "list", "--format=%H"]);
    repository.say(&["stash", "drop", "-q", "stash@{1}"]);
    repository.say(&["branch", "-q", "-D", "side", "kept", "merged"]);
    repository.say(&["update-ref", "refs/elsewhere", &kept]);
    repository.say(&["tag", "-d", "v1"]);
    repository.say(&["update-ref", "refs/mow/rescue/r/1", "main"]);
    let found = lost(git, &before).unwrap();
    let found: Vec<_> = found.iter().map(|l| (l.holder.as_str(), l.commit.as_str())).collect();
    let wanted = [
        ("the branch side", side.as_str()),
        ("the rescue r/1", &moved),
        ("a stash", stashes.lines().last().unwrap()),
        ("the tag v1", &tag),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn settings_that_include_each_other_are_read_once() {
    let repository = Repository::new();
    let config = repository.root().join(".git/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text + &"[include]\n\tpath = config\n".repeat(8)).unwrap();
    let all = settings(&repository);
    assert_eq!(all["include.path"].lines().count(), 8);
    assert_eq!(all["core.bare"], "false\n");
}
