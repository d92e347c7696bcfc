//! Which directories are removed, and that they are restored.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::test_repository::Repository;

#[test]
fn empty_directories_are_removed_and_restored() {
    let repository = Repository::new();
    let root = repository.root();
    repository.write(".gitignore", "*.log\nbuilt/\ndata/\n");
    repository.write("src/a", "a");
    repository.commit("a");
    let (empty, kept) = (
        ["out", "out/deep", "src/new", "logs/old"],
        ["src", "logs", "built/cache", "var/data/new", ".planning/phases", "other/.git/refs/tags"],
    );
    for dir in empty.iter().chain(&kept) {
        fs::create_dir_all(root.join(dir)).unwrap();
    }
    fs::write(root.join("logs/today.log"), "ignored").unwrap();
    fs::set_permissions(root.join("src/new"), Permissions::from_mode(0o700)).unwrap();
    let removed = remove_empty_dirs(&Git::new(&root), ".planning").unwrap();
    for dir in empty {
        assert!(!root.join(dir).exists(), "{dir} holds nothing");
    }
    for dir in kept {
        assert!(root.join(dir).is_dir(), "{dir} is left alone");
    }
    fs::create_dir(root.join("out")).unwrap();
    fs::write(root.join("out/found"), "by the check").unwrap();
    drop(removed);
    for dir in empty {
        assert!(root.join(dir).is_dir(), "{dir} is back");
    }
    let mode = fs::metadata(root.join("src/new")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "only for its owner, as before");
    assert_eq!(fs::read(root.join("out/found")).unwrap(), b"by the check");
}
