//! Life locks that outlive their first holder, with real processes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::launch::tests::test_marks;
use crate::process::{WorkerCommand, start_worker};

/// A directory with a lock and named pipes, with which the test controls its processes.
struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
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

    fn life_lock(&self) -> PathBuf {
        self.path("life.lock")
    }

    fn start(&self, exe: &Path, args: &[&str]) -> ProcessIdentity {
        let dir = self.dir.path().to_string_lossy().into_owned();
        start_worker(&WorkerCommand {
            exe: exe.to_path_buf(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: vec![("MOW_TEST_DIR".to_owned(), dir)],
            marks: test_marks("life-lock"),
            cwd: self.dir.path().to_path_buf(),
            log: self.path("logs/worker.log"),
            life_lock: self.life_lock(),
        })
        .unwrap()
        .process
    }

    /// Unblocks the process that reads the pipe.
    fn release(&self, pipe: &str) {
        fs::write(self.path(pipe), "go\n").unwrap();
    }
}

/// Waits until no process holds the lock.
fn wait_until_free(path: &Path) {
    while is_alive(path).unwrap() {
        thread::sleep(RETRY_AFTER);
    }
}

#[test]
fn a_lock_that_was_never_held_is_free_and_its_file_is_not_created() {
    let fixture = Fixture::new(&[]);
    assert!(!is_alive(&fixture.life_lock()).unwrap());
    assert_eq!(holder(&fixture.life_lock()).unwrap(), None);
    assert!(!fixture.life_lock().exists());
}

#[test]
fn only_one_process_can_take_the_lock() {
    let fixture = Fixture::new(&[]);
    let life = LifeLock::hold(&fixture.life_lock()).unwrap();
    assert!(is_alive(&fixture.life_lock()).unwrap());
    assert!(matches!(LifeLock::hold(&fixture.life_lock()), Err(LifeLockError::Held { .. })));
    assert_eq!(holder(&fixture.life_lock()).unwrap(), Some(process::current()));
    // Programs that other tests start meanwhile inherit the lock until they end.
    drop(life);
    wait_until_free(&fixture.life_lock());
    LifeLock::hold(&fixture.life_lock()).unwrap();
}

#[test]
fn a_started_worker_is_alive_before_it_has_done_anything() {
    let fixture = Fixture::new(&["end"]);
    fixture.start(Path::new("sh"), &["-c", "read line <end; echo ended $line"]);
    assert!(is_alive(&fixture.life_lock()).unwrap());
    let again = acquire(&fixture.life_lock());
    assert!(matches!(again, Err(LifeLockError::Held { .. })));
    fixture.release("end");
    wait_until_free(&fixture.life_lock());
    assert!(!is_alive(&fixture.life_lock()).unwrap());
    assert_eq!(fs::read_to_string(fixture.path("logs/worker.log")).unwrap(), "ended go\n");
}

#[test]
fn descendants_keep_the_lock_when_the_worker_is_gone() {
    let fixture = Fixture::new(&["worker", "descendant"]);
    let exe = std::env::current_exe().unwrap();
    let started =
        fixture.start(&exe, &["--exact", "life_lock::tests::act_as_worker", "--nocapture"]);
    // The read ends when the worker does, because the worker never closes its end itself.
    let mut output = String::new();
    File::open(fixture.path("worker")).unwrap().read_to_string(&mut output).unwrap();
    assert_eq!(output, "stdin is empty\n");
    assert!(is_alive(&fixture.life_lock()).unwrap(), "its descendant lives");
    assert_eq!(holder(&fixture.life_lock()).unwrap(), Some(started));
    fixture.release("descendant");
    wait_until_free(&fixture.life_lock());
    assert!(!is_alive(&fixture.life_lock()).unwrap());
}

/// The worker of the test above; does nothing when it is run as a test itself.
#[test]
fn act_as_worker() {
    let Some(dir) = std::env::var_os("MOW_TEST_DIR") else { return };
    let dir = PathBuf::from(dir);
    process::become_session_leader().unwrap();
    process::become_session_leader().unwrap();
    let life = LifeLock::hold(&dir.join("life.lock")).unwrap();
    let mut descendant = Command::new("sh");
    descendant.args(["-c", "setsid sh -c 'read line <descendant' </dev/null >/dev/null 2>&1 &"]);
    assert!(descendant.current_dir(&dir).status().unwrap().success());
    let mut input = String::new();
    io::stdin().read_to_string(&mut input).unwrap();
    let mut pipe = File::create(dir.join("worker")).unwrap();
    let content = if input.is_empty() { "empty" } else { "the lock" };
    writeln!(pipe, "stdin is {content}").unwrap();
    drop(life);
    std::process::exit(0);
}

#[test]
fn an_incomplete_holder_record_is_ignored() {
    assert_eq!(parse_holder(b"12 345\n"), Some(ProcessIdentity { pid: 12, start_time: 345 }));
    for bytes in [&b""[..], b"12", b"12 345", b"x 1\n", b"1 x\n", b"\xff 1\n"] {
        assert_eq!(parse_holder(bytes), None, "{bytes:?}");
    }
}
