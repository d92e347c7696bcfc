//! Processes that end, do not want to end, and are not to be touched.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::*;

/// Starts a script with a token and waits until it has said that it is ready.
fn start(token: &str, script: &str) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", script])
        .env(TOKEN, token)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn token(name: &str) -> String {
    format!("test-{}/{name}", std::process::id())
}

#[test]
fn all_with_the_token_are_ended_and_no_others() {
    let token = token("all");
    let mut longer = start(&format!("{token}0"), "echo ready; exec sleep 120");
    let mut polite = start(&token, "echo ready; exec sleep 120");
    // It left the session, dropped its environment and does not listen.
    let deaf = "trap '' TERM; echo ready; sleep 60; sleep 60";
    let mut stubborn =
        start(&token, &format!("env -i PATH=\"$PATH\" setsid sh -c \"{deaf}\" & wait"));
    let ended = end_token(&token, Duration::from_millis(300)).unwrap();
    assert!(ended >= 4, "{ended} were ended");
    polite.wait().unwrap();
    stubborn.wait().unwrap();
    assert_eq!(longer.try_wait().unwrap(), None, "another token");
    assert_eq!(end_token(&token, Duration::ZERO).unwrap(), 0);
    longer.kill().unwrap();
    longer.wait().unwrap();
}

#[test]
fn they_may_clear_up_first() {
    let (dir, token) = (tempfile::tempdir().unwrap(), token("clear-up"));
    let cleared = dir.path().join("cleared");
    let script =
        format!("trap 'echo yes >{}; exit' TERM; echo ready; sleep 120 & wait", cleared.display());
    let mut child = start(&token, &script);
    end_token(&token, Duration::from_secs(60)).unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_to_string(cleared).unwrap(), "yes\n");
}

#[test]
fn a_signal_reaches_only_the_process_that_was_meant() {
    let mut child = start(&token("signal"), "echo ready; exec sleep 120");
    let pid = child.id();
    let start_time = os::start_time(pid).unwrap();
    let former = Started { pid, start_time: start_time - 1 };
    assert!(!terminate(former).unwrap());
    assert_eq!(child.try_wait().unwrap(), None);
    assert!(terminate(Started { pid, start_time }).unwrap());
    assert!(!child.wait().unwrap().success());
    assert!(!terminate(Started { pid, start_time }).unwrap());
}

#[test]
fn workers_leave_no_zombies() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let start = StartWorker {
        exe: "sh".into(),
        args: vec!["-c".to_owned(), "echo $WORD; pwd -P; echo e >&2".to_owned()],
        env: vec![("WORD".to_owned(), "a b".to_owned())],
        cwd: fs::canonicalize(dir.path()).unwrap(),
        log: path("log"),
        life: path("life"),
    };
    let first = start_worker(&start).unwrap();
    wait_until_reaped(first);
    let second = start_worker(&start).unwrap();
    wait_until_reaped(second);
    let cwd = start.cwd.display();
    let once = format!("a b\n{cwd}\ne\n");
    assert_eq!(fs::read_to_string(&start.log).unwrap(), once.repeat(2), "output is appended");
    let missing = StartWorker { exe: path("missing"), ..start };
    assert!(matches!(start_worker(&missing), Err(ProcessError::Start { .. })));
    // What another test is just starting may have it for a moment.
    life::wait_gone(&path("life")).unwrap();
}

fn wait_until_reaped(started: Started) {
    let end = Instant::now() + Duration::from_secs(60);
    while os::start_time(started.pid) == Some(started.start_time) {
        assert!(Instant::now() < end, "{started:?} is still there");
        thread::yield_now();
    }
}

#[test]
fn the_life_lock_keeps_a_second_worker_out() {
    let dir = tempfile::tempdir().unwrap();
    let life = life::Life::hold(&dir.path().join("life")).unwrap();
    let start = StartWorker {
        exe: "sh".into(),
        args: vec!["-c".to_owned(), "echo ran".to_owned()],
        env: Vec::new(),
        cwd: dir.path().to_path_buf(),
        log: dir.path().join("log"),
        life: dir.path().join("life"),
    };
    assert!(matches!(start_worker(&start), Err(ProcessError::Life(LifeError::Held { .. }))));
    drop(life);
    assert_eq!(File::open(&start.log).unwrap().metadata().unwrap().len(), 0);
    assert!(Path::new(&start.log).exists());
}

#[cfg(target_os = "linux")]
#[test]
fn who_is_left_without_the_lock_is_ended_too() {
    let (dir, token) = (tempfile::tempdir().unwrap(), token("without-lock"));
    // What an agent starts has the token, and closes what it does not know.
    let mut left = start(&token, "echo ready; exec sleep 120");
    see_off(&dir.path().join("lock"), &token, Duration::from_secs(60)).unwrap();
    assert!(left.try_wait().unwrap().is_some());
}

#[test]
fn names_of_programs_do_not_confuse() {
    let rest = " T 7 6 1 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 98765 1 1";
    let plain = linux::parse_stat(&format!("12 (sh){rest}")).unwrap();
    assert_eq!(linux::parse_stat(&format!("12 (a) Z 9 (b){rest}")).unwrap(), plain);
    assert_eq!(
        format!("{plain:?}"),
        "Stat { is_dead: false, is_stopped: true, is_kernel: false, parent: 7, group: 6, \
         ticks: 10, start_time: 98765 }"
    );
    let kernel = linux::parse_stat("2 (a) S 0 0 0 0 -1 2129984 0 0 0 0 1 2 0 0 20 0 1 0 3 0 0");
    assert!(format!("{kernel:?}").contains("is_kernel: true"), "{kernel:?}");
    for broken in ["", "12 (sh", "12 (sh) S", "12 (sh) S x"] {
        assert_eq!(linux::parse_stat(broken), None, "{broken}");
    }
}
