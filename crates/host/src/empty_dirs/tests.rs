//! What is set aside, what is not, and that it comes back.

use super::*;
use crate::test_repository::Repository;

#[test]
fn what_holds_nothing_is_gone_for_a_while() {
    let repository = Repository::new();
    let root = repository.root();
    repository.write(".gitignore", "*.log\nbuilt/\n");
    repository.write("src/a", "a");
    repository.commit("a");
    let (empty, kept) = (
        ["out", "out/deep", "src/new", "logs/old"],
        ["src", "logs", "built/cache", ".planning/phases", "other", "other/.git/refs/tags"],
    );
    for dir in empty.iter().chain(&kept) {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    fs::write(root.join("logs/today.log"), "ignored").unwrap();
    let aside = set_aside(&Git::new(&root), ".planning").unwrap();
    for dir in empty {
        assert!(!root.join(dir).exists(), "{dir} holds nothing");
    }
    for dir in kept {
        assert!(root.join(dir).is_dir(), "{dir} is left alone");
    }
    fs::create_dir(root.join("out")).unwrap();
    fs::write(root.join("out/found"), "by the check").unwrap();
    drop(aside);
    for dir in empty {
        assert!(root.join(dir).is_dir(), "{dir} is back");
    }
    assert_eq!(fs::read(root.join("out/found")).unwrap(), b"by the check");
}
