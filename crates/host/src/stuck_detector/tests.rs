//! Real commands that are stuck, and commands that only seem to be.

use std::process::Command;
use std::thread;

use super::*;
use crate::shell::{self, ShellExit, ShellJob};
use crate::stop_signal::StopSignal;

struct WatchedCommand {
    dir: tempfile::TempDir,
}

impl WatchedCommand {
    fn new() -> Self {
        let watched = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(watched.path("work")).unwrap();
        fs::write(watched.path("work/file"), "").unwrap();
        watched
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a command until it reported `wanted` changes, or, for 0, until it times out.
    fn activity_changes(
        &self,
        script: &str,
        after: Duration,
        wanted: usize,
        on: impl Fn(&ActivityChange),
    ) -> Vec<ActivityChange> {
        let job = ShellJob {
            script: script.to_owned(),
            program: "sh".to_owned(),
            cwd: self.path("work"),
            env: Vec::new(),
            marks: None,
            log: self.path("log"),
            timeout: Some(if wanted == 0 { after * 3 } else { Duration::from_secs(60) }),
            stuck_after: Some(after),
            watched: vec![self.path("work")],
        };
        let (stop, mut signs) = (StopSignal::new().unwrap(), Vec::new());
        let other = stop.clone();
        let end = shell::run(&job, &stop, &mut |sign| {
            on(&sign);
            signs.push(sign);
            if signs.len() == wanted {
                other.stop();
            }
        });
        let ended = if wanted == 0 { ShellExit::TimedOut } else { ShellExit::Stopped };
        assert_eq!(end.unwrap().exit, ended, "{signs:?}");
        signs
    }
}

const SHORT: Duration = Duration::from_millis(400);
const LONGER: Duration = Duration::from_millis(1_500);

#[test]
fn an_idle_command_is_stuck_and_the_measurements_are_reported() {
    let signs = WatchedCommand::new().activity_changes("echo begun; sleep 100", SHORT, 1, |_| {});
    let [ActivityChange::Stuck(signs)] = signs.as_slice() else { panic!("{signs:?}") };
    assert!(signs.silent >= SHORT && signs.unchanged >= SHORT, "{signs:?}");
    let (idle, cpu) = signs.idle.expect("the system tells");
    assert!(idle >= SHORT && cpu < idle / 50, "{signs:?}");
}

#[test]
fn a_stuck_command_can_become_active_again() {
    let watched = WatchedCommand::new();
    let pipe = watched.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("cat '{}'; sleep 100", pipe.display());
    let signs = watched.activity_changes(&script, SHORT, 3, |sign| {
        let pipe = pipe.clone();
        if matches!(sign, ActivityChange::Stuck(_)) {
            // The second write blocks, because nothing reads the pipe any more.
            thread::spawn(move || fs::write(pipe, "on\n"));
        }
    });
    assert!(
        matches!(
            signs.as_slice(),
            [ActivityChange::Stuck(_), ActivityChange::Active, ActivityChange::Stuck(_)]
        ),
        "{signs:?}"
    );
}

#[test]
fn a_command_with_output_is_not_stuck() {
    let script = "while :; do echo on; sleep 0.1; done";
    assert_eq!(WatchedCommand::new().activity_changes(script, LONGER, 0, |_| {}), []);
}

#[test]
fn cpu_time_in_another_process_group_counts_as_activity() {
    // The process ends by itself once its directory is gone, because nothing else ends its group.
    let script = r#"setsid sh -c 'while [ -e "$PWD" ]; do :; done'"#;
    assert_eq!(WatchedCommand::new().activity_changes(script, LONGER, 0, |_| {}), []);
}

/// Changes a watched file repeatedly while `act` runs.
fn while_files_change<T>(watched: &WatchedCommand, act: impl FnOnce() -> T) -> T {
    let (stop, file) = (StopSignal::new().unwrap(), watched.path("work/file"));
    thread::scope(|scope| {
        let other = stop.clone();
        scope.spawn(move || {
            while !other.wait(Duration::from_millis(100)).unwrap() {
                fs::write(&file, "more").unwrap();
            }
        });
        let done = act();
        stop.stop();
        done
    })
}

#[test]
fn a_changed_file_counts_as_activity() {
    let watched = WatchedCommand::new();
    let signs =
        while_files_change(&watched, || watched.activity_changes("sleep 100", LONGER, 0, |_| {}));
    assert_eq!(signs, []);
}

#[test]
fn a_repeated_error_is_stuck_unless_files_change() {
    let script = "i=0; while :; do i=$((i+1)); echo \"error: port $i is taken\"; sleep 0.1; done";
    let watched = WatchedCommand::new();
    let signs = watched.activity_changes(script, LONGER, 1, |_| {});
    let [ActivityChange::Stuck(signs)] = signs.as_slice() else { panic!("{signs:?}") };
    let (error, times) = signs.repeated.clone().expect("that is why");
    assert!(error.starts_with("error: port ") && times >= REPEATS_MIN, "{error}");
    let words = format!("the same error {times} times (`{error}`), no file change for ");
    assert!(signs.to_string().starts_with(&words), "{signs}");
    let signs =
        while_files_change(&watched, || watched.activity_changes(script, LONGER, 0, |_| {}));
    assert_eq!(signs, []);
}

#[test]
fn the_reason_is_formatted_for_people() {
    let min = Duration::from_secs(60);
    let signs = StuckReason {
        silent: 12 * min,
        unchanged: 13 * min,
        idle: Some((min, Duration::from_millis(40))),
        repeated: None,
    };
    let words = "no output for 12 min, no file change for 13 min, CPU 0.0 s in 60 s";
    assert_eq!(signs.to_string(), words);
}
