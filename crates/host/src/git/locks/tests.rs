//! Lock files of killed and of running git processes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::*;
use crate::test_repository::Repository;

#[test]
fn a_lock_is_removed_once_no_git_runs_there() {
    let repository = Repository::new();
    let lock = repository.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    // The process waits for input in the directory, as a commit waits for its hook.
    let mut busy = Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(repository.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = busy.stdin.take().unwrap();
    writeln!(input, "HEAD:file").unwrap();
    let mut line = String::new();
    BufReader::new(busy.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let inside = |wait| wait_for_programs("git", &repository.root(), true, wait).unwrap();
    assert_eq!(inside(Duration::ZERO), [busy.id()]);
    assert_eq!(wait_for_running_git(&repository.root()), [0; 0], "it does not name the directory");
    drop(input);
    let others = ["next-index-4711.lock", "ORIG_HEAD.lock"];
    let others = others.map(|name| repository.root().join(".git").join(name));
    for other in &others {
        fs::write(other, "").unwrap();
    }
    remove_stale_locks(&repository.git).unwrap();
    assert!(!lock.exists() && !others.iter().any(|other| other.exists()));
    assert_eq!(inside(Duration::ZERO), [0; 0]);
    busy.wait().unwrap();
}

#[test]
fn a_git_that_names_the_directory_is_waited_for_wherever_it_runs() {
    let repository = Repository::new();
    let dir = repository.root();
    let mut busy = Command::new("git")
        .args([format!("--git-dir={}", dir.join(".git").display()).as_str(), "-C"])
        .arg(&dir)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = busy.stdin.take().unwrap();
    writeln!(input, "HEAD:file").unwrap();
    let mut line = String::new();
    BufReader::new(busy.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(wait_for_programs("git", &dir, false, Duration::ZERO).unwrap(), [busy.id()]);
    drop(input);
    assert_eq!(wait_for_running_git(&dir), [0; 0]);
    busy.wait().unwrap();
}
