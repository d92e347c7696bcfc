//! Workers that leave processes behind, watched by one thread.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use super::*;
use crate::launch::AttemptMarks;
use crate::launch::tests::test_marks;
use crate::process::{self, StartedWorker, WorkerCommand};

/// How long a test waits for an event that must come.
const PATIENCE: Duration = Duration::from_secs(120);

/// The watch of a test, with life locks in a directory of its own.
struct Fixture {
    dir: tempfile::TempDir,
    watch: LifeWatch<u32>,
    events: Receiver<LifeEvent<u32>>,
}

impl Fixture {
    fn new() -> Self {
        let (sender, events) = mpsc::channel();
        let watch = LifeWatch::start(move |event| drop(sender.send(event))).unwrap();
        Self { dir: tempfile::tempdir().unwrap(), watch, events }
    }

    fn lock(&self, key: u32) -> PathBuf {
        self.dir.path().join(format!("{key}.lock"))
    }

    fn token(&self, key: u32) -> String {
        format!("{}/{key}", self.dir.path().display())
    }

    fn watch(&self, key: u32, grace: Duration) {
        self.watch_child(key, grace, None);
    }

    fn watch_child(&self, key: u32, grace: Duration, child: Option<Child>) {
        let (life_lock, token) = (self.lock(key), self.token(key));
        self.watch.add(WatchedWorker { key, life_lock, token, grace, child }).unwrap();
    }

    /// Starts a script as a worker that has recorded itself in its life lock, and watches it.
    fn start_worker(&self, key: u32, script: &str) -> u32 {
        let worker = process::start_worker(&WorkerCommand {
            exe: "sh".into(),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: Vec::new(),
            marks: AttemptMarks { token: self.token(key), ..test_marks("") },
            cwd: self.dir.path().to_path_buf(),
            log: self.dir.path().join(format!("{key}.log")),
            life_lock: self.lock(key),
        });
        let StartedWorker { process, child } = worker.unwrap();
        fs::write(self.lock(key), format!("{} {}\n", process.pid, process.start_time)).unwrap();
        self.watch_child(key, PATIENCE, Some(child));
        process.pid
    }

    /// Starts a process with the token of a worker and without its life lock.
    fn start_leftover(&self, key: u32, script: &str) -> Child {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .env(TOKEN_VARIABLE, self.token(key))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child
    }

    fn next_gone(&self) -> u32 {
        match self.events.recv_timeout(PATIENCE).unwrap() {
            LifeEvent::Gone(key) => key,
            LifeEvent::Failed(key, error) => panic!("worker {key}: {error}"),
        }
    }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn each_worker_is_gone_once_in_the_order_in_which_they_end() {
    let fixture = Fixture::new();
    for key in 1..=3 {
        make_pipe(&fixture.dir.path().join(format!("{key}.pipe")));
        fixture.start_worker(key, &format!("read line <{key}.pipe"));
    }
    for key in [2, 3, 1] {
        fs::write(fixture.dir.path().join(format!("{key}.pipe")), "end\n").unwrap();
        assert_eq!(fixture.next_gone(), key);
    }
    drop(fixture.watch);
    assert!(fixture.events.recv().is_err(), "the thread has ended without another event");
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_is_gone_leaves_no_zombie() {
    let fixture = Fixture::new();
    let pid = fixture.start_worker(1, "exit 0");
    assert_eq!(fixture.next_gone(), 1);
    let end = Instant::now() + PATIENCE;
    while Path::new(&format!("/proc/{pid}")).exists() {
        assert!(Instant::now() < end, "{pid} is still there");
        thread::yield_now();
    }
}

#[test]
fn a_worker_that_was_never_started_is_gone() {
    let fixture = Fixture::new();
    fixture.watch(1, PATIENCE);
    assert_eq!(fixture.next_gone(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_leftover_process_is_ended_before_its_worker_counts_as_gone() {
    let fixture = Fixture::new();
    // One child keeps the life lock, the other one only has the token.
    let mut left = fixture.start_leftover(1, "echo ready; exec sleep 600");
    fixture.start_worker(1, "sleep 600 <&0 & exit 0");
    assert_eq!(fixture.next_gone(), 1);
    assert!(!life_lock::is_alive(&fixture.lock(1)).unwrap());
    assert!(left.try_wait().unwrap().is_some(), "the other one has ended, too");
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_does_not_end_delays_no_other_worker() {
    let fixture = Fixture::new();
    let script = "trap '' TERM; echo ready; while true; do sleep 600; done";
    let mut stubborn = fixture.start_leftover(1, script);
    fixture.watch(1, PATIENCE * 10);
    for key in 2..=4 {
        fixture.start_worker(key, "exit 0");
        assert_eq!(fixture.next_gone(), key);
    }
    process::end_with_token(&fixture.token(1), Duration::ZERO).unwrap();
    stubborn.wait().unwrap();
    assert_eq!(fixture.next_gone(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_is_killed_when_its_time_is_over() {
    let fixture = Fixture::new();
    let script = "trap '' TERM; echo ready; while true; do sleep 600; done";
    let mut stubborn = fixture.start_leftover(1, script);
    fixture.watch(1, Duration::ZERO);
    assert_eq!(fixture.next_gone(), 1);
    assert!(!stubborn.wait().unwrap().success());
}
