//! What was begun is forgotten, and nothing else.

use super::*;
use crate::test_repository::Repository;

/// A repository on `main` whose branch `other` conflicts with it.
fn torn() -> Repository {
    let repository = Repository::new();
    repository.say(&["checkout", "-q", "-b", "other"]);
    repository.write("file", "theirs\n");
    repository.commit("theirs");
    repository.say(&["checkout", "-q", "main"]);
    repository.write("file", "ours\n");
    repository.commit("ours");
    repository
}

#[test]
fn whatever_was_begun_is_forgotten_and_files_stay() {
    let begun: [&[&str]; 5] = [
        &["merge", "other"],
        &["cherry-pick", "other"],
        &["revert", "--no-edit", "HEAD~1"],
        &["rebase", "other"],
        &["am", "-3", "patch"],
    ];
    for words in begun {
        let repository = torn();
        assert!(!is_anything(&repository.git).unwrap());
        repository.say(&["format-patch", "-q", "-1", "--output=patch", "other"]);
        assert!(!repository.git.ask(words).unwrap().success, "{words:?} meets a conflict");
        assert!(is_anything(&repository.git).unwrap(), "{words:?}");
        assert_eq!(is_merging(&repository.root()), words[0] == "merge");
        let before = (repository.text("file"), repository.say(&["rev-parse", "HEAD"]));
        quit(&repository.git).unwrap();
        assert!(!is_anything(&repository.git).unwrap(), "{words:?}");
        let after = (repository.text("file"), repository.say(&["rev-parse", "HEAD"]));
        assert_eq!(after, before, "{words:?}");
        quit(&repository.git).unwrap();
    }
}
