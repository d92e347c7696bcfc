//! Detecting each kind of tampering, with real git.

use super::*;
use crate::test_repository::Repository;

fn settings(repository: &Repository) -> GitSettings {
    let home = repository.root().with_extension("home");
    load_settings(
        &repository.git,
        &UserConfigPaths { config: home.join("own"), global: home.join("global"), home },
    )
    .unwrap()
}

#[test]
fn the_users_own_rule_files_are_settings_too() {
    let repository = Repository::new();
    let home = repository.root().with_extension("home");
    let before = settings(&repository);
    for file in [".config/git/ignore", "own/git/attributes", "own/git/ignore"] {
        crate::test_repository::write(&home.join(file), "work\n");
    }
    let wanted = ["~/.config/git/ignore", "~/own/git/attributes", "~/own/git/ignore"];
    assert_eq!(changed_settings(&before, &settings(&repository)), wanted);
    repository.run_git(&["config", "core.excludesFile", "~/rules"]);
    let before = settings(&repository);
    crate::test_repository::write(&home.join("rules"), "work\n");
    assert_eq!(changed_settings(&before, &settings(&repository)), ["~/rules"]);
    fs::remove_dir_all(home).unwrap();
}

#[test]
fn a_replace_ref_is_a_setting() {
    let repository = Repository::new();
    let before = settings(&repository);
    let object = repository.run_git(&["rev-parse", "HEAD:file"]);
    let other = repository.run_git(&["hash-object", "-w", ".git/HEAD"]);
    repository.run_git(&["replace", &object, &other]);
    let wanted = [format!("{REPLACE_REF_PREFIX}{object}")];
    assert_eq!(changed_settings(&before, &settings(&repository)), wanted);
    repository.run_git(&["pack-refs", "--all"]);
    assert_eq!(changed_settings(&before, &settings(&repository)), wanted);
}

#[test]
fn only_settings_that_affect_commits_count() {
    let repository = Repository::new();
    let before = settings(&repository);
    repository.run_git(&["config", "branch.main.remote", "elsewhere"]);
    repository.run_git(&["config", "user.name", "Another"]);
    assert!(changed_settings(&before, &settings(&repository)).is_empty());
    repository.run_git(&["config", "core.hooksPath", "/dev/null"]);
    repository.run_git(&["config", "filter.x.clean", "true"]);
    repository
        .write(".git/info/exclude", "/.worktrees/\n/.planning/dashboard-*\n.mow-tmp-*\n/work\n");
    repository.write(".git/hooks/pre-commit", "exit 0\n");
    repository.write(".git/hooks/pre-push.sample", "exit 0\n");
    let after = settings(&repository);
    let names = changed_settings(&before, &after);
    let wanted = ["core.hookspath", "filter.x.clean", "hooks/pre-commit", "info/exclude"];
    assert_eq!(names, wanted, "{after:?}");
    assert_eq!(changed_settings(&after, &before).len(), 4, "also when they are gone");
}

fn moved(repository: &Repository, actor: &str, branches: &[String]) -> Vec<(String, String)> {
    branches_moved_by(&repository.git, actor, branches).unwrap()
}

#[test]
fn a_branch_moved_by_an_agent_is_found_by_its_reflog() {
    let repository = Repository::new();
    let both = ["main".to_owned(), "side".to_owned()];
    assert_eq!(moved(&repository, "mow r/01/1", &both), []);
    repository.write("file", "two\n");
    let git = repository.git.with_env(REFLOG_ACTION_VARIABLE, "mow r/01/1");
    git.run(&["commit", "-q", "-a", "-m", "astray"]).unwrap();
    let head = repository.git.commit_of("HEAD").unwrap().unwrap();
    assert_eq!(moved(&repository, "mow r/01/1", &both), [("main".to_owned(), head)]);
    assert_eq!(moved(&repository, "mow r/01/2", &both), []);
}

#[test]
fn hidden_changes_are_found_and_unhidden() {
    let repository = Repository::new();
    for name in ["assumed", "skipped", "gone", "sparse", "same"] {
        repository.write(name, "one\n");
    }
    repository.commit("second");
    repository.run_git(&["update-index", "--assume-unchanged", "assumed", "gone", "same"]);
    repository.run_git(&["update-index", "--skip-worktree", "skipped", "sparse"]);
    assert_eq!(find_hidden_changes(&repository.git).unwrap(), [""; 0]);
    repository.write("assumed", "two\n");
    repository.write("skipped", "two\n");
    fs::remove_file(repository.root().join("gone")).unwrap();
    fs::remove_file(repository.root().join("sparse")).unwrap();
    assert_eq!(repository.run_git(&["status", "--porcelain"]), "");
    let found = find_hidden_changes(&repository.git).unwrap();
    assert_eq!(found, ["assumed", "gone", "skipped", "sparse"]);
    unhide_changes(&repository.git, &found).unwrap();
    let status = repository.run_git(&["status", "--porcelain"]);
    assert_eq!(status, " M assumed\n D gone\n M skipped\n D sparse");
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_not_hidden() {
    let repository = Repository::new();
    for name in ["in/one", "out/two"] {
        repository.write(name, "one\n");
    }
    repository.commit("second");
    repository.run_git(&["sparse-checkout", "set", "in"]);
    assert!(!repository.root().join("out").exists());
    assert_eq!(find_hidden_changes(&repository.git).unwrap(), [""; 0]);
    repository.run_git(&["update-index", "--skip-worktree", "in/one"]);
    fs::remove_file(repository.root().join("in/one")).unwrap();
    assert_eq!(find_hidden_changes(&repository.git).unwrap(), ["in/one"], "the rules want it");
}

#[test]
fn hidden_changes_of_modes_and_links_are_found() {
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
    repository.run_git(&["update-index", "--assume-unchanged", "mode", "turned", "link", "same"]);
    assert_eq!(find_hidden_changes(&repository.git).unwrap(), [""; 0]);
    crate::test_repository::make_executable(&repository.root().join("mode"));
    link("mode", "link");
    link("file", "turned");
    assert_eq!(find_hidden_changes(&repository.git).unwrap(), ["link", "mode", "turned"]);
    repository.run_git(&["config", "core.fileMode", "false"]);
    assert_eq!(find_hidden_changes(&repository.git).unwrap(), ["link", "turned"]);
}

#[test]
fn a_branch_moved_without_a_reflog_message_is_found() {
    let repository = Repository::new();
    let git = &repository.git;
    let length = || reflog_length(git, "main").unwrap();
    let since = length();
    repository.write("file", "two\n");
    let two = repository.commit("two");
    repository.run_git(&["update-ref", "-m", "a tool", "refs/heads/main", &format!("{two}^")]);
    assert_eq!(moved_without_message(git, "main", since).unwrap(), None);
    let since = length();
    repository.run_git(&["update-ref", "refs/heads/main", &two]);
    repository.run_git(&["commit", "-q", "--allow-empty", "-m", "three"]);
    assert_eq!(moved_without_message(git, "main", since).unwrap(), Some(two));
    assert_eq!(moved_without_message(git, "main", length()).unwrap(), None);
    assert_eq!(
        moved_without_message(git, "main", length() + 1).unwrap(),
        None,
        "the reflog was expired"
    );
    assert_eq!(moved_without_message(git, "none", 0).unwrap(), None);
}

#[test]
fn a_branch_moved_without_a_reflog_is_found() {
    let repository = Repository::new();
    let git = &repository.git;
    let one = git.commit_of("HEAD").unwrap();
    let moved = || moved_without_reflog(git, "mow", ("main", one.as_deref())).unwrap();
    repository.write("file", "two\n");
    let two = repository.commit("two");
    assert_eq!(moved(), None, "the branch has a reflog file");
    fs::remove_dir_all(repository.root().join(".git/logs")).unwrap();
    assert_eq!(moved().as_ref(), Some(&two));
    repository.run_git(&["update-ref", "refs/mow/run/r/target", &two]);
    assert_eq!(moved(), None, "the run has merged it");
    assert_eq!(
        moved_without_reflog(git, "mow", ("main", Some(&two))).unwrap(),
        None,
        "the branch did not move"
    );
}

#[test]
fn a_reftable_reflog_distinguishes_people_from_agents() {
    let repository = Repository::new();
    let git = &repository.git;
    fs::remove_dir_all(repository.root().join(".git/logs")).unwrap();
    repository.run_git(&["refs", "migrate", "--ref-format=reftable"]);
    let one = git.commit_of("HEAD").unwrap();
    let moved = || moved_without_reflog(git, "mow r/01/1", ("main", one.as_deref())).unwrap();
    repository.commit("two");
    assert_eq!(moved(), None, "a person did that");
    let agent = git.with_env(REFLOG_ACTION_VARIABLE, "mow r/01/1");
    agent.run(&["commit", "-q", "--allow-empty", "-m", "astray"]).unwrap();
    assert_eq!(moved(), git.commit_of("HEAD").unwrap());
}

#[test]
fn commits_that_no_ref_reaches_are_lost() {
    let repository = Repository::new();
    let git = &repository.git;
    let made = |text: &str| {
        repository.write("file", text);
        let commit = repository.commit(text);
        repository.run_git(&["reset", "-q", "--hard", "HEAD~1"]);
        commit
    };
    let [side, tag, moved, kept] = ["side", "tag", "moved", "kept"].map(made);
    repository.run_git(&["branch", "side", &side]);
    repository.run_git(&["branch", "kept", &kept]);
    repository.run_git(&["branch", "merged"]);
    repository.run_git(&["tag", "-a", "-m", "Words", "v1", &tag]);
    repository.run_git(&["update-ref", "refs/mow/rescue/r/1", &moved]);
    for text in ["one stash", "two stashes"] {
        repository.write("file", text);
        repository.run_git(&["stash", "-q"]);
    }
    repository.run_git(&["pack-refs", "--all"]);
    let before = list_held_commits(git).unwrap();
    assert_eq!(find_lost_commits(git, &before).unwrap(), []);
    let stashes = repository.run_git(&["stash", "list", "--format=%H"]);
    repository.run_git(&["stash", "drop", "-q", "stash@{1}"]);
    repository.run_git(&["branch", "-q", "-D", "side", "kept", "merged"]);
    repository.run_git(&["update-ref", "refs/elsewhere", &kept]);
    repository.run_git(&["tag", "-d", "v1"]);
    repository.run_git(&["update-ref", "refs/mow/rescue/r/1", "main"]);
    let found = find_lost_commits(git, &before).unwrap();
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
