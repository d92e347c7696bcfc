//! Tests of the choice of the worktree home and of the names in it.

use std::fs;
use std::path::Path;

use mow_core::phase::PhaseNumber;

use super::{WorktreeHome, WorktreeHomeError, is_plain_name};
use crate::config::Config;

fn phase(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap()
}

fn resolve(root: &Path, config: &str) -> WorktreeHome {
    resolve_with_tag(root, config, "")
}

fn resolve_with_tag(root: &Path, config: &str, tag: &str) -> WorktreeHome {
    WorktreeHome::resolve(root, &Config::parse(config.as_bytes()).unwrap(), tag).unwrap()
}

#[test]
fn a_setting_wins_over_an_existing_directory_and_that_over_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let home = resolve(dir.path(), "{}");
    assert_eq!(
        (home.dir.as_path(), home.name(&phase("3.1"))),
        (Path::new(".worktrees"), "p03.1".into())
    );
    fs::create_dir_all(dir.path().join(".claude/worktrees")).unwrap();
    let home = resolve(dir.path(), "{}");
    assert_eq!(home.dir, Path::new(".claude/worktrees"));
    assert_eq!(home.name(&phase("3")), "phase-03");
    let home = resolve(dir.path(), r#"{"worktree": {"root": "trees/", "name": "w-{NN}-x"}}"#);
    assert_eq!(home.path(), dir.path().join("trees"));
    assert_eq!(home.name(&phase("12")), "w-12-x");
    assert_eq!(home.phase_in("w-12-x"), Some(phase("12")));
    assert_eq!(home.phase_in("phase-4"), Some(phase("4")));
    assert_eq!(home.phase_in("feature"), None);
}

#[test]
fn a_directory_with_a_manifest_wins_over_an_empty_one() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".worktrees")).unwrap();
    fs::create_dir_all(dir.path().join(".claude/worktrees")).unwrap();
    assert_eq!(resolve(dir.path(), "{}").dir, Path::new(".worktrees"));
    fs::write(dir.path().join(".claude/worktrees/manifest.json"), "{}").unwrap();
    let home = resolve(dir.path(), "{}");
    assert_eq!(home.dir, Path::new(".claude/worktrees"));
    assert_eq!(home.other_existing().len(), 1);
    assert_eq!(home.other_existing()[0].backup(), Path::new(".worktrees.bak"));
}

#[test]
fn unusable_settings_are_refused() {
    let root = Path::new("/r");
    for dir in [".", "/", "/r", "../x", "a/../..", "a\nb"] {
        assert_eq!(
            WorktreeHome::at(root, dir, None),
            Err(WorktreeHomeError::BadRoot(dir.to_owned()))
        );
    }
    for name in ["p", "../{NN}", "-{NN}", "a/{NN}"] {
        let refused = WorktreeHome::at(root, "w", Some(name));
        assert_eq!(refused, Err(WorktreeHomeError::BadName(name.to_owned())));
    }
    assert!(!is_plain_name("") && !is_plain_name("..") && !is_plain_name("-x"));
}

#[test]
fn the_exclude_line_matches_only_the_worktree_home() {
    let line = |dir: &str| WorktreeHome::at(Path::new("/r"), dir, None).unwrap().exclude_line();
    assert_eq!(line(".worktrees").as_deref(), Some("/.worktrees/"));
    assert_eq!(line("a*b c").as_deref(), Some("/a\\*b\\ c/"));
    assert_eq!(line("/elsewhere"), None);
}

#[test]
fn projects_of_one_repository_share_neither_worktrees_nor_branches() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".claude/worktrees")).unwrap();
    let top = resolve(dir.path(), "{}");
    assert_eq!(top.branch(&phase("3.1")), "phase-03.1");
    let deeper = resolve_with_tag(dir.path(), "{}", "app-1");
    assert_eq!(deeper.branch(&phase("3.1")), "phase-03.1-app-1");
    assert_eq!(
        (deeper.dir.as_path(), deeper.name(&phase("3"))),
        (".worktrees/app-1".as_ref(), "p03".into())
    );
    assert!(deeper.other_existing().is_empty(), "directories of another project do not count");
    let set = resolve_with_tag(dir.path(), r#"{"worktree": {"root": "trees"}}"#, "app-1");
    assert_eq!(set.manifest(), dir.path().join("trees/app-1/manifest.json"));
    assert_eq!(set.with_dir("w").unwrap().dir, Path::new("w/app-1"));
}
