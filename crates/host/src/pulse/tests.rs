//! Real commands that stand still, and those that only seem to.

use std::process::Command;
use std::thread;

use super::*;
use crate::shell::{self, End, ShellJob};
use crate::stop::Stop;

struct Watched {
    dir: tempfile::TempDir,
}

impl Watched {
    fn new() -> Self {
        let watched = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir(watched.path("work")).unwrap();
        fs::write(watched.path("work/file"), "").unwrap();
        watched
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs a command until it has shown as many signs as wanted, or for a few seconds.
    fn signs(&self, script: &str, after: Duration, wanted: usize, on: impl Fn(&Sign)) -> Vec<Sign> {
        let job = ShellJob {
            script: script.to_owned(),
            program: "sh".to_owned(),
            cwd: self.path("work"),
            env: Vec::new(),
            log: self.path("log"),
            wall_max: Some(if wanted == 0 { after * 3 } else { Duration::from_secs(60) }),
            stuck_after: Some(after),
            watched: vec![self.path("work")],
        };
        let (stop, mut signs) = (Stop::new().unwrap(), Vec::new());
        let other = stop.clone();
        let end = shell::run(&job, &stop, &mut |sign| {
            on(&sign);
            signs.push(sign);
            if signs.len() == wanted {
                other.stop();
            }
        });
        let ended = if wanted == 0 { End::TooLong } else { End::Stopped };
        assert_eq!(end.unwrap().end, ended, "{signs:?}");
        signs
    }
}

const SHORT: Duration = Duration::from_millis(400);
const LONGER: Duration = Duration::from_millis(1_500);

#[test]
fn what_does_nothing_is_stuck_with_its_numbers() {
    let signs = Watched::new().signs("echo begun; sleep 100", SHORT, 1, |_| {});
    let [Sign::Stuck(signs)] = signs.as_slice() else { panic!("{signs:?}") };
    assert!(signs.silent >= SHORT && signs.unchanged >= SHORT, "{signs:?}");
    let (idle, cpu) = signs.idle.expect("the system tells");
    assert!(idle >= SHORT && cpu < idle / 50, "{signs:?}");
}

#[test]
fn one_that_stands_still_moves_again() {
    let watched = Watched::new();
    let pipe = watched.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("cat '{}'; sleep 100", pipe.display());
    let signs = watched.signs(&script, SHORT, 3, |sign| {
        let pipe = pipe.clone();
        if matches!(sign, Sign::Stuck(_)) {
            // Its second time has nobody to read.
            thread::spawn(move || fs::write(pipe, "on\n"));
        }
    });
    assert!(
        matches!(signs.as_slice(), [Sign::Stuck(_), Sign::Moving, Sign::Stuck(_)]),
        "{signs:?}"
    );
}

#[test]
fn output_is_a_sign_of_life() {
    let script = "while :; do echo on; sleep 0.1; done";
    assert_eq!(Watched::new().signs(script, LONGER, 0, |_| {}), []);
}

#[test]
fn computing_is_a_sign_of_life_also_in_a_group_of_its_own() {
    // It ends by itself once its directory is gone: nobody here looks after its group.
    let script = r#"setsid sh -c 'while [ -e "$PWD" ]; do :; done'"#;
    assert_eq!(Watched::new().signs(script, LONGER, 0, |_| {}), []);
}

/// Changes a file every now and then, while something else is done.
fn while_files_change<T>(watched: &Watched, act: impl FnOnce() -> T) -> T {
    let (stop, file) = (Stop::new().unwrap(), watched.path("work/file"));
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
fn a_changed_file_is_a_sign_of_life() {
    let watched = Watched::new();
    let signs = while_files_change(&watched, || watched.signs("sleep 100", LONGER, 0, |_| {}));
    assert_eq!(signs, []);
}

#[test]
fn the_same_error_over_and_over_is_stuck_unless_files_change() {
    let script = "i=0; while :; do i=$((i+1)); echo \"error: port $i is taken\"; sleep 0.1; done";
    let watched = Watched::new();
    let signs = watched.signs(script, LONGER, 1, |_| {});
    let [Sign::Stuck(signs)] = signs.as_slice() else { panic!("{signs:?}") };
    let (error, times) = signs.repeated.clone().expect("that is why");
    assert!(error.starts_with("error: port ") && times >= REPEATS, "{error}");
    let words = format!("the same error {times} times (`{error}`), no file change for ");
    assert!(signs.to_string().starts_with(&words), "{signs}");
    let signs = while_files_change(&watched, || watched.signs(script, LONGER, 0, |_| {}));
    assert_eq!(signs, []);
}

#[test]
fn numbers_are_said_in_words() {
    let min = Duration::from_secs(60);
    let signs = Signs {
        silent: 12 * min,
        unchanged: 13 * min,
        idle: Some((min, Duration::from_millis(40))),
        repeated: None,
    };
    let words = "no output for 12 min, no file change for 13 min, CPU 0.0 s in 60 s";
    assert_eq!(signs.to_string(), words);
}
