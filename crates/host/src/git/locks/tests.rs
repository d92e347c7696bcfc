//! Locks of the dead, and of the living.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use crate::test_repository::Repository;

#[test]
fn a_lock_is_removed_unless_git_works_there() {
    let repository = Repository::new();
    let lock = repository.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    // Waits for input in the directory, as a commit waits for its hook.
    let mut busy = Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(repository.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    use std::io::Write;
    writeln!(busy.stdin.as_mut().unwrap(), "HEAD:file").unwrap();
    let mut line = String::new();
    BufReader::new(busy.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    clear_stale(&repository.git).unwrap();
    assert!(lock.exists());
    busy.kill().unwrap();
    busy.wait().unwrap();
    clear_stale(&repository.git).unwrap();
    assert!(!lock.exists());
}
