//! Linear histories and merges, with real git.

use super::*;
use crate::test_repository::Repository;

fn names(changes: &[FileChange]) -> Vec<(&str, bool)> {
    changes.iter().map(|change| (change.path.as_str(), change.is_new())).collect()
}

#[test]
fn changed_files_of_linear_history_match_git_diff() {
    let repository = Repository::new();
    let base = repository.commit("base");
    repository.write("new", "1\n");
    repository.write("file", "two\n");
    let first = repository.commit("first\n\nMow-Task: 01-01/1");
    repository.write("file", "one\n");
    repository.write("sub/:odd \u{e4}", "x\n");
    let second = repository.commit("second");
    repository.run_git(&["rm", "-q", "new"]);
    repository.write("later", "1\n");
    let tip = repository.commit("third\n\n:not a change\n\nMow-Plan: 01-01");

    let history = History::load(&repository.git, &base, &tip).unwrap();
    assert!(history.starts_at_base);
    let commits: Vec<_> = history.commits.iter().map(|one| one.commit.as_str()).collect();
    assert_eq!(commits, [&tip, &second, &first]);
    assert_eq!(history.commits[0].value("Mow-Plan"), Some("01-01"));
    assert_eq!(history.commits[2].value("Mow-Task"), Some("01-01/1"));
    assert_eq!(history.commits[2].parents, [base.as_str()]);

    let of_first = history.changed_files(&base, &first).unwrap();
    assert_eq!(names(&of_first), [("file", false), ("new", true)]);
    let all = history.changed_files(&base, &tip).unwrap();
    assert_eq!(names(&all), [("later", true), ("sub/:odd \u{e4}", true)]);
    let some = history.changed_files(&first, &tip).unwrap();
    let expected = [("file", false), ("later", true), ("new", false), ("sub/:odd \u{e4}", true)];
    assert_eq!(names(&some), expected);
    assert_eq!(history.changed_files(&tip, &base), None, "not backwards");
    assert_eq!(History::load(&repository.git, &tip, &tip).unwrap(), History::default());
}

#[test]
fn a_range_with_a_merge_is_not_linear() {
    let repository = Repository::new();
    let base = repository.commit("base");
    repository.run_git(&["switch", "-q", "-c", "side"]);
    repository.write("side", "1\n");
    let side = repository.commit("side");
    repository.run_git(&["switch", "-q", "main"]);
    repository.write("main", "1\n");
    repository.commit("main");
    repository.run_git(&["merge", "-q", "-m", "both", "side"]);
    let merged = repository.git.commit_of("HEAD").unwrap().unwrap();
    repository.write("main", "2\n");
    let tip = repository.commit("more");

    let history = History::load(&repository.git, &base, &tip).unwrap();
    assert_eq!(history.commits.len(), 4);
    assert_eq!(history.changed_files(&base, &tip), None);
    assert_eq!(names(&history.changed_files(&merged, &tip).unwrap()), [("main", false)]);
    let not_based = History::load(&repository.git, &side, &base).unwrap();
    assert_eq!(not_based, History::default(), "nothing comes after it");
}
