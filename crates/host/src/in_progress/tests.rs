//! Unfinished operations are quit, and nothing else changes.

use super::*;
use crate::test_repository::Repository;

/// Creates a repository on `main` whose branch `other` conflicts with it.
fn conflicting_repository() -> Repository {
    let repository = Repository::new();
    repository.run_git(&["checkout", "-q", "-b", "other"]);
    repository.write("file", "theirs\n");
    repository.commit("theirs");
    repository.run_git(&["checkout", "-q", "main"]);
    repository.write("file", "ours\n");
    repository.commit("ours");
    repository
}

#[test]
fn unfinished_operations_are_quit_and_files_stay() {
    let operations: [&[&str]; 5] = [
        &["merge", "other"],
        &["cherry-pick", "other"],
        &["revert", "--no-edit", "HEAD~1"],
        &["rebase", "other"],
        &["am", "-3", "patch"],
    ];
    for words in operations {
        let repository = conflicting_repository();
        assert!(!has_operation(&repository.git).unwrap());
        repository.run_git(&["format-patch", "-q", "-1", "--output=patch", "other"]);
        assert!(!repository.git.ask(words).unwrap().success, "{words:?} meets a conflict");
        assert!(has_operation(&repository.git).unwrap(), "{words:?}");
        assert_eq!(is_merging(&repository.root()), words[0] == "merge");
        let before = (repository.text("file"), repository.run_git(&["rev-parse", "HEAD"]));
        quit_operation(&repository.git).unwrap();
        assert!(!has_operation(&repository.git).unwrap(), "{words:?}");
        let after = (repository.text("file"), repository.run_git(&["rev-parse", "HEAD"]));
        assert_eq!(after, before, "{words:?}");
        quit_operation(&repository.git).unwrap();
    }
}
