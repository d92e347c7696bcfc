//! Shell commands that end, hang, print too much, and leave processes behind.

use std::fs::{self, File};
use std::process::Command;

use super::*;

const LONG: Duration = Duration::from_secs(60);

struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn job(&self, script: &str) -> ShellJob {
        ShellJob {
            script: script.to_owned(),
            program: "sh".to_owned(),
            cwd: fs::canonicalize(self.dir.path()).unwrap(),
            env: vec![("WORD".to_owned(), "a b".to_owned())],
            marks: None,
            log: self.dir.path().join("log"),
            timeout: Some(LONG),
            stuck_after: None,
            watched: Vec::new(),
        }
    }

    fn run(&self, script: &str) -> ShellResult {
        run(&self.job(script), &StopSignal::new().unwrap(), &mut |_| {}).unwrap()
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    /// Creates a named pipe. Reading it ends when all processes that hold it are gone.
    fn pipe(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

#[test]
fn stdout_and_stderr_are_logged_in_order() {
    let shell = Fixture::new();
    let end = shell.run("echo $WORD; echo e >&2; pwd -P; cat; exit 3");
    let cwd = fs::canonicalize(shell.dir.path()).unwrap();
    assert_eq!(end.exit, ShellExit::Exited(3));
    assert_eq!(end.tail, format!("a b\ne\n{}\n", cwd.display()));
    assert_eq!(shell.log(), end.tail);
    assert_eq!(shell.run("kill -9 $$").exit, ShellExit::Signalled(9));
    assert_eq!(shell.log(), "", "each run overwrites the log");
}

#[test]
fn a_command_killed_externally_is_told_from_a_failed_one() {
    let shell = Fixture::new();
    for script in ["kill -9 $$", "kill -TERM $$", "sh -c 'kill -9 $$'; exit $?"] {
        assert!(shell.run(script).exit.is_externally_killed(), "{script}");
    }
    for script in ["true", "exit 1", "exit 127", "exit 128", "kill -SEGV $$", "kill -ABRT $$"] {
        assert!(!shell.run(script).exit.is_externally_killed(), "{script}");
    }
}

#[test]
fn a_missing_shell_is_an_error() {
    let shell = Fixture::new();
    let job = ShellJob { program: "no-such-shell".to_owned(), ..shell.job("true") };
    let error = run(&job, &StopSignal::new().unwrap(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, ShellError::Start(LaunchError::MissingProgram { .. })), "{error:?}");
}

#[test]
fn a_long_output_is_bounded_and_its_end_is_kept() {
    let shell = Fixture::new();
    let end = shell.run("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last");
    assert_eq!(end.exit, ShellExit::Exited(0));
    assert!(end.tail.ends_with("xlast\n") && end.tail.len() == 4096);
    let log = shell.log();
    assert!(log.starts_with("first\nx") && log.ends_with("xlast\n"));
    assert!(log.len() < 525_000, "{}", log.len());
    assert!(log.contains(&format!("[… {} bytes left out …]", end.left_out)));
    assert_eq!(end.left_out, 3_000_011 - 2 * 256 * 1024);
}

#[test]
fn a_background_process_does_not_delay_the_result_and_is_ended() {
    let shell = Fixture::new();
    let pipe = shell.pipe("held");
    let holder = thread::spawn(move || {
        io::copy(&mut File::open(pipe).unwrap(), &mut io::sink()).unwrap();
    });
    let end = shell.run("exec 3>held; trap '' TERM; sleep 100 & echo started");
    assert_eq!((end.exit, end.tail.as_str()), (ShellExit::Exited(0), "started\n"));
    assert!(end.took < LONG);
    // This thread ends only when the background process does.
    holder.join().unwrap();
}

#[test]
fn a_process_that_left_the_group_does_not_delay_the_result() {
    let shell = Fixture::new();
    let (go, _left) = (shell.pipe("go"), shell.pipe("left"));
    let script =
        "setsid sh -c 'echo >left; read line <go; echo late' & read line <left; echo started";
    let end = shell.run(script);
    assert_eq!((end.exit, end.tail.as_str()), (ShellExit::Exited(0), "started\n"));
    fs::write(go, "\n").unwrap();
}

#[test]
fn a_command_that_times_out_is_ended_with_all_its_children() {
    let shell = Fixture::new();
    let pipe = shell.pipe("held");
    let holder = thread::spawn(move || {
        io::copy(&mut File::open(pipe).unwrap(), &mut io::sink()).unwrap();
    });
    let short = Some(Duration::from_secs(2));
    let script = "exec 3>held; echo begun; sleep 100 & sleep 100; echo never";
    let job = ShellJob { timeout: short, ..shell.job(script) };
    let end = run(&job, &StopSignal::new().unwrap(), &mut |_| {}).unwrap();
    assert_eq!((end.exit, end.tail.as_str()), (ShellExit::TimedOut, "begun\n"));
    holder.join().unwrap();
}

#[test]
fn a_stop_signal_ends_the_command_after_its_cleanup() {
    let shell = Fixture::new();
    let ready = shell.pipe("ready");
    let stop = StopSignal::new().unwrap();
    let other = stop.clone();
    let stopper = thread::spawn(move || {
        fs::read_to_string(ready).unwrap();
        other.stop();
    });
    let job = shell.job("trap 'echo cleared; exit 1' TERM; echo >ready; sleep 100 & wait");
    let end = run(&job, &stop, &mut |_| {}).unwrap();
    assert_eq!((end.exit, end.tail.as_str()), (ShellExit::Stopped, "cleared\n"));
    stopper.join().unwrap();
    assert_eq!(run(&shell.job("sleep 100"), &stop, &mut |_| {}).unwrap().exit, ShellExit::Stopped);
}

#[test]
fn a_command_that_ignores_sigterm_is_killed() {
    let shell = Fixture::new();
    let ready = shell.pipe("ready");
    let stop = StopSignal::new().unwrap();
    let other = stop.clone();
    let stopper = thread::spawn(move || {
        fs::read_to_string(ready).unwrap();
        other.stop();
    });
    let job = shell.job("trap '' TERM; echo >ready; sleep 100");
    let end = run(&job, &stop, &mut |_| {}).unwrap();
    assert_eq!(end.exit, ShellExit::Stopped);
    assert!(end.took >= GRACE && end.took < LONG, "{:?}", end.took);
    stopper.join().unwrap();
}
