//! Tests that a planning directory becomes equal to another one.

use std::fs;
use std::path::Path;

use super::{differing_files, mirror};
use crate::project::Project;

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(".planning").join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(root: &Path, file: &str) -> Option<String> {
    fs::read_to_string(root.join(".planning").join(file)).ok()
}

#[test]
fn d8_contents_become_equal_without_nesting() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(from.path(), "STATE.md", "new");
    write(from.path(), "phases/03-a/03-01-PLAN.md", "plan");
    write(from.path(), ".mow/x", "engine");
    write(to.path(), "STATE.md", "old");
    write(to.path(), "GONE.md", "old");
    write(to.path(), "phases/04-b/04-STATUS.md", "own");
    let project = Project::find(to.path()).unwrap();
    let keeps = |file: &Path| file.starts_with("phases/04-b");
    let source = from.path().join(".planning");
    assert_eq!(mirror(&source, &project, keeps).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(read(to.path(), "STATE.md").as_deref(), Some("new"));
    assert_eq!(read(to.path(), "phases/03-a/03-01-PLAN.md").as_deref(), Some("plan"));
    assert_eq!(read(to.path(), "phases/04-b/04-STATUS.md").as_deref(), Some("own"));
    assert_eq!(read(to.path(), "GONE.md"), None);
    assert_eq!(read(to.path(), ".mow/x"), None);
    assert!(!to.path().join(".planning/.planning").exists());
}

#[test]
fn a_shared_directory_is_left_alone() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(from.path(), "STATE.md", "one");
    std::os::unix::fs::symlink(from.path().join(".planning"), to.path().join(".planning")).unwrap();
    let project = Project::find(to.path()).unwrap();
    mirror(&from.path().join(".planning"), &project, |_| false).unwrap();
    assert_eq!(read(from.path(), "STATE.md").as_deref(), Some("one"));
}

#[test]
fn files_that_only_one_side_has_are_listed() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(from.path(), "a", "1");
    write(from.path(), "b", "2");
    write(to.path(), "a", "1");
    let missing = differing_files(&from.path().join(".planning"), &to.path().join(".planning"));
    assert_eq!(missing.unwrap(), [Path::new("b")]);
}

#[test]
fn empty_directories_are_created_too() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir_all(from.path().join(".planning/phases/03-a")).unwrap();
    write(to.path(), "STATE.md", "x");
    let project = Project::find(to.path()).unwrap();
    mirror(&from.path().join(".planning"), &project, |_| false).unwrap();
    assert!(to.path().join(".planning/phases/03-a").is_dir());
}

#[test]
fn files_that_change_during_the_copy_are_copied_again() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(from.path(), "A.md", "1");
    write(from.path(), "B.md", "1");
    let project = Project::find_or_cwd(to.path()).unwrap();
    let asked = std::cell::Cell::new(0);
    // Called for each file before it is copied, and once more before it is compared.
    let edits = |file: &Path| {
        asked.set(asked.get() + u32::from(file == Path::new("A.md")));
        if asked.get() == 2 {
            write(from.path(), "A.md", "2");
            fs::remove_file(from.path().join(".planning/B.md")).ok();
        }
        false
    };
    let source = from.path().join(".planning");
    assert_eq!(mirror(&source, &project, edits).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(read(to.path(), "A.md").as_deref(), Some("2"));
    assert_eq!(read(to.path(), "B.md"), None);
    // A file that changes in every pass is returned.
    let never = |file: &Path| {
        asked.set(asked.get() + 1);
        write(from.path(), "A.md", &asked.get().to_string());
        file == Path::new("none")
    };
    assert_eq!(mirror(&source, &project, never).unwrap(), [Path::new("A.md")]);
}
