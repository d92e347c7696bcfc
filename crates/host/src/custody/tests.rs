//! Everything that is noticed, with real git.

use super::*;
use crate::test_repository::Repository;

fn settings(repository: &Repository) -> Settings {
    super::settings(&repository.git, Path::new("/nowhere")).unwrap()
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
    assert_eq!(found, ["assumed", "gone", "skipped"]);
    unhide(&repository.git, &found).unwrap();
    let status = repository.say(&["status", "--porcelain"]);
    assert_eq!(status, " M assumed\n D gone\n M skipped");
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
