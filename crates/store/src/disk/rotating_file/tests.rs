//! Tests the bound of a rotating file, and what a killed writer leaves.

use std::fs;

use super::*;

fn file(dir: &tempfile::TempDir, bytes_max: u64) -> RotatingFile {
    RotatingFile::new(dir.path().join("new"), dir.path().join("old"), bytes_max)
}

#[test]
fn a_full_file_becomes_the_older_one() {
    let dir = tempfile::tempdir().unwrap();
    let text = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap_or_default();
    let mut lines = file(&dir, 10);
    lines.append(b"one\ntwo\n").unwrap();
    assert_eq!((text("new").as_str(), text("old").as_str()), ("one\ntwo\n", ""));
    lines.append(b"three\n").unwrap();
    assert_eq!((text("new").as_str(), text("old").as_str()), ("three\n", "one\ntwo\n"));
    lines.append(b"four\n").unwrap();
    assert_eq!((text("new").as_str(), text("old").as_str()), ("four\n", "three\n"));
    // Another writer continues with what is there.
    file(&dir, 10).append(b"five\n").unwrap();
    assert_eq!((text("new").as_str(), text("old").as_str()), ("four\nfive\n", "three\n"));
}

#[test]
fn lines_that_never_fit_are_refused_and_later_ones_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = file(&dir, 10);
    lines.append(b"more than ten\n").unwrap_err();
    lines.append(b"ten\n").unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("new")).unwrap(), "ten\n");
}

#[test]
fn a_line_that_a_killed_writer_left_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("new"), "whole\nha").unwrap();
    file(&dir, 100).append(b"next\n").unwrap();
    assert_eq!(fs::read_to_string(dir.path().join("new")).unwrap(), "whole\nha\nnext\n");
}

#[test]
fn a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("secret"), "keep").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret"), dir.path().join("new")).unwrap();
    file(&dir, 100).append(b"line\n").unwrap_err();
    assert_eq!(fs::read_to_string(dir.path().join("secret")).unwrap(), "keep");
}
