//! A checkout that is made, used, left behind and removed.

use super::*;
use crate::test_repository::Repository;

#[test]
fn only_the_commit_is_there_and_nothing_is_left() {
    let repository = Repository::new();
    repository.write("new", "not committed\n");
    let path = repository.root().join(".git/scratch");
    let commit = repository.git.commit_of("HEAD").unwrap().unwrap();
    for _ in 0..2 {
        // What a killed process left behind is in nobody's way.
        std::mem::forget(Scratch::new(&repository.root(), &path, &commit).unwrap());
    }
    let scratch = Scratch::new(&repository.root(), &path, &commit).unwrap();
    assert!(scratch.path().join("file").exists() && !scratch.path().join("new").exists());
    fs::write(path.join("dropping"), "").unwrap();
    drop(scratch);
    assert!(!path.exists());
    assert_eq!(repository.git.worktrees().unwrap().len(), 1);
}
