//! Locks that outlive their first holder, with real processes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::process::{StartWorker, start_worker};

/// A directory with a lock and named pipes, over which processes wait for each other.
struct Stage {
    dir: tempfile::TempDir,
}

impl Stage {
    fn new(pipes: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for pipe in pipes {
            let made = Command::new("mkfifo").arg(dir.path().join(pipe)).status().unwrap();
            assert!(made.success());
        }
        Self { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn life(&self) -> PathBuf {
        self.path("life.lock")
    }

    fn start(&self, exe: &Path, args: &[&str]) -> Started {
        let dir = self.dir.path().to_string_lossy().into_owned();
        start_worker(&StartWorker {
            exe: exe.to_path_buf(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: vec![("MOW_TEST_STAGE".to_owned(), dir)],
            cwd: self.dir.path().to_path_buf(),
            log: self.path("logs/worker.log"),
            life: self.life(),
        })
        .unwrap()
    }

    /// Lets the one go on who reads the pipe.
    fn release(&self, pipe: &str) {
        fs::write(self.path(pipe), "go\n").unwrap();
    }
}

#[test]
fn a_lock_that_was_never_held_is_free_and_stays_absent() {
    let stage = Stage::new(&[]);
    assert!(!is_alive(&stage.life()).unwrap());
    wait_gone(&stage.life()).unwrap();
    assert_eq!(holder(&stage.life()).unwrap(), None);
    assert!(!stage.life().exists());
}

#[test]
fn only_one_can_hold_it() {
    let stage = Stage::new(&[]);
    let life = Life::hold(&stage.life()).unwrap();
    assert!(is_alive(&stage.life()).unwrap());
    assert!(matches!(Life::hold(&stage.life()), Err(LifeError::Held { .. })));
    assert_eq!(holder(&stage.life()).unwrap(), Some(process::this()));
    // Other tests start programs meanwhile, which hold the lock until they end.
    drop(life);
    wait_gone(&stage.life()).unwrap();
    Life::hold(&stage.life()).unwrap();
}

#[test]
fn a_started_worker_is_alive_before_it_has_done_anything() {
    let stage = Stage::new(&["end"]);
    stage.start(Path::new("sh"), &["-c", "read line <end; echo ended $line"]);
    assert!(is_alive(&stage.life()).unwrap());
    let again = claim(&stage.life());
    assert!(matches!(again, Err(LifeError::Held { .. })));
    stage.release("end");
    wait_gone(&stage.life()).unwrap();
    assert!(!is_alive(&stage.life()).unwrap());
    assert_eq!(fs::read_to_string(stage.path("logs/worker.log")).unwrap(), "ended go\n");
}

#[test]
fn descendants_keep_it_held_when_the_worker_is_gone() {
    let stage = Stage::new(&["worker", "descendant"]);
    let exe = std::env::current_exe().unwrap();
    let started = stage.start(&exe, &["--exact", "life::tests::act_as_worker", "--nocapture"]);
    // Ends when the worker does, which never closes its end itself.
    let mut said = String::new();
    File::open(stage.path("worker")).unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "stdin is empty\n");
    assert!(is_alive(&stage.life()).unwrap(), "its descendant lives");
    assert_eq!(holder(&stage.life()).unwrap(), Some(started));
    stage.release("descendant");
    wait_gone(&stage.life()).unwrap();
    assert!(!is_alive(&stage.life()).unwrap());
}

/// The worker of the test above; does nothing when it is run as a test itself.
#[test]
fn act_as_worker() {
    let Some(stage) = std::env::var_os("MOW_TEST_STAGE") else { return };
    let stage = PathBuf::from(stage);
    process::become_session_leader().unwrap();
    process::become_session_leader().unwrap();
    let life = Life::hold(&stage.join("life.lock")).unwrap();
    let mut descendant = Command::new("sh");
    descendant.args(["-c", "setsid sh -c 'read line <descendant' </dev/null >/dev/null 2>&1 &"]);
    assert!(descendant.current_dir(&stage).status().unwrap().success());
    let mut input = String::new();
    io::stdin().read_to_string(&mut input).unwrap();
    let mut pipe = File::create(stage.join("worker")).unwrap();
    let word = if input.is_empty() { "empty" } else { "the lock" };
    writeln!(pipe, "stdin is {word}").unwrap();
    drop(life);
    std::process::exit(0);
}

#[test]
fn notes_are_read_only_when_they_are_whole() {
    assert_eq!(parse_note(b"12 345\n"), Some(Started { pid: 12, start_time: 345 }));
    for bytes in [&b""[..], b"12", b"12 345", b"x 1\n", b"1 x\n", b"\xff 1\n"] {
        assert_eq!(parse_note(bytes), None, "{bytes:?}");
    }
}
