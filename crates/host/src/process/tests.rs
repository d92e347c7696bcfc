//! Starting workers, and ending processes: willing, unwilling, and unrelated ones.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::*;
use crate::launch::tests::test_marks;

/// Starts a script with a token and waits until it prints `ready`.
fn start(token: &str, script: &str) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", script])
        .env(TOKEN_VARIABLE, token)
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
fn all_processes_with_the_token_are_ended_and_no_others() {
    let token = token("all");
    let mut longer = start(&format!("{token}0"), "echo ready; exec sleep 120");
    let mut polite = start(&token, "echo ready; exec sleep 120");
    // This process leaves the session, drops its environment and ignores SIGTERM.
    let ignores_term = "trap '' TERM; echo ready; sleep 60; sleep 60";
    let mut stubborn =
        start(&token, &format!("env -i PATH=\"$PATH\" setsid sh -c \"{ignores_term}\" & wait"));
    let ended = end_with_token(&token, Duration::from_millis(300)).unwrap();
    assert!(ended >= 4, "{ended} were ended");
    polite.wait().unwrap();
    stubborn.wait().unwrap();
    assert_eq!(longer.try_wait().unwrap(), None, "another token");
    assert_eq!(end_with_token(&token, Duration::ZERO).unwrap(), 0);
    longer.kill().unwrap();
    longer.wait().unwrap();
}

#[test]
fn processes_can_clean_up_before_they_are_killed() {
    let (dir, token) = (tempfile::tempdir().unwrap(), token("clear-up"));
    let cleared = dir.path().join("cleared");
    let script =
        format!("trap 'echo yes >{}; exit' TERM; echo ready; sleep 120 & wait", cleared.display());
    let mut child = start(&token, &script);
    end_with_token(&token, Duration::from_secs(60)).unwrap();
    child.wait().unwrap();
    assert_eq!(fs::read_to_string(cleared).unwrap(), "yes\n");
}

#[test]
fn a_signal_reaches_only_the_process_with_the_right_start_time() {
    let mut child = start(&token("signal"), "echo ready; exec sleep 120");
    let pid = child.id();
    let start_time = os::start_time(pid).unwrap();
    let former = ProcessIdentity { pid, start_time: start_time - 1 };
    assert!(!terminate(former).unwrap());
    assert_eq!(child.try_wait().unwrap(), None);
    assert!(terminate(ProcessIdentity { pid, start_time }).unwrap());
    assert!(!child.wait().unwrap().success());
    assert!(!terminate(ProcessIdentity { pid, start_time }).unwrap());
}

#[test]
fn a_worker_runs_in_its_directory_with_its_variables_and_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let start = WorkerCommand {
        exe: "sh".into(),
        args: vec!["-c".to_owned(), "echo $WORD; pwd -P; echo e >&2".to_owned()],
        env: vec![("WORD".to_owned(), "a b".to_owned())],
        marks: test_marks("zombies"),
        cwd: fs::canonicalize(dir.path()).unwrap(),
        log: path("log"),
        life_lock: path("life"),
    };
    for _ in 0..2 {
        let mut worker = start_worker(&start).unwrap();
        assert_eq!(worker.child.id(), worker.process.pid);
        worker.child.wait().unwrap();
    }
    let cwd = start.cwd.display();
    let once = format!("a b\n{cwd}\ne\n");
    assert_eq!(fs::read_to_string(&start.log).unwrap(), once.repeat(2), "output is appended");
    let missing = WorkerCommand { exe: path("missing"), ..start };
    assert!(matches!(start_worker(&missing), Err(ProcessError::Start(_))));
    // A program that another test starts at this moment may hold the lock briefly.
    while life_lock::is_alive(&path("life")).unwrap() {
        std::thread::yield_now();
    }
}

#[test]
fn a_held_life_lock_prevents_a_second_worker() {
    let dir = tempfile::tempdir().unwrap();
    let life = life_lock::LifeLock::hold(&dir.path().join("life")).unwrap();
    let start = WorkerCommand {
        exe: "sh".into(),
        args: vec!["-c".to_owned(), "echo ran".to_owned()],
        env: Vec::new(),
        marks: test_marks("held"),
        cwd: dir.path().to_path_buf(),
        log: dir.path().join("log"),
        life_lock: dir.path().join("life"),
    };
    assert!(matches!(
        start_worker(&start),
        Err(ProcessError::LifeLock(LifeLockError::Held { .. }))
    ));
    drop(life);
    assert_eq!(File::open(&start.log).unwrap().metadata().unwrap().len(), 0);
    assert!(Path::new(&start.log).exists());
}

#[test]
fn program_names_with_parentheses_are_parsed() {
    let rest = " T 7 6 1 0 -1 4194560 1 0 0 0 1 2 3 4 20 0 1 0 98765 1 1";
    let plain = linux::parse_stat(&format!("12 (sh){rest}")).unwrap();
    assert_eq!(linux::parse_stat(&format!("12 (a) Z 9 (b){rest}")).unwrap(), plain);
    assert_eq!(
        format!("{plain:?}"),
        "ProcessStat { is_dead: false, is_stopped: true, is_kernel: false, parent: 7, group: 6, \
         ticks: 10, start_time: 98765 }"
    );
    let kernel = linux::parse_stat("2 (a) S 0 0 0 0 -1 2129984 0 0 0 0 1 2 0 0 20 0 1 0 3 0 0");
    assert!(format!("{kernel:?}").contains("is_kernel: true"), "{kernel:?}");
    for broken in ["", "12 (sh", "12 (sh) S", "12 (sh) S x"] {
        assert_eq!(linux::parse_stat(broken), None, "{broken}");
    }
}

#[test]
fn ancestors_end_at_the_top_at_a_hidden_process_or_at_the_limit() {
    assert_eq!(ancestors(3, |pid| Some(pid - 1)), (vec![3, 2, 1], AncestryEnd::Top));
    let hidden = |pid| (pid != 2).then(|| pid - 1);
    assert_eq!(ancestors(3, hidden), (vec![3, 2], AncestryEnd::Hidden));
    let (pids, end) = ancestors(1, |pid| Some(pid + 1));
    assert_eq!((pids.len(), end), (ANCESTORS_MAX + 1, AncestryEnd::TooMany));
}

#[cfg(target_os = "linux")]
#[test]
fn an_unreadable_environment_is_read_once_and_one_in_exec_again() {
    let mut reads = 0;
    let denied = || {
        reads += 1;
        Err(io::ErrorKind::PermissionDenied.into())
    };
    assert!(os::settled_environment(denied, || true).is_empty());
    assert_eq!(reads, 1, "a process of another user is not waited for");

    let mut contents = vec![b"A=1".to_vec(), Vec::new(), Vec::new()];
    let in_exec = || Ok(contents.pop().unwrap());
    assert_eq!(os::settled_environment(in_exec, || true), b"A=1");
}

#[cfg(target_os = "linux")]
#[test]
fn the_environments_of_ancestors_are_read_though_a_child_clears_its_own() {
    let mark = format!("{TOKEN_VARIABLE}={}", token("ancestors"));
    let has = |environment: &Vec<u8>| environment.split(|b| *b == 0).any(|v| v == mark.as_bytes());
    let script = "env -i PATH=\"$PATH\" sh -c 'echo ready; exec sleep 120' & wait";
    let mut parent = start(&token("ancestors"), script);
    let stat = |pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_child = |pid: &u32| {
        let parent_of = stat(*pid).rsplit_once(')').map(|(_, rest)| rest.to_owned());
        parent_of.unwrap_or_default().split_whitespace().nth(1) == Some(&parent.id().to_string())
    };
    let mut pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        entry.unwrap().file_name().to_str().and_then(|name| name.parse::<u32>().ok())
    });
    let child = pids.find(is_child).expect("the script has a child");
    let ancestry = ancestry(child);
    assert_eq!(ancestry.end, AncestryEnd::Top);
    assert!(!has(&ancestry.environments[0]) && has(&ancestry.environments[1]));
    end_with_token(&token("ancestors"), Duration::ZERO).unwrap();
    parent.wait().unwrap();
}
