//! A pump that never blocks, and leaves nobody behind, whatever way it goes.

use std::fs;

use serde_json::json;

use super::*;
use crate::agent::{Access, Session};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn job(&self, script: &str) -> Job {
        Job {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            cwd: self.dir.path().to_path_buf(),
            prompt: String::new(),
            system: None,
            model: None,
            session: Session::New,
            access: Access::Read,
            servers: Vec::new(),
            limits: Limits { wall: Some(Duration::from_secs(60)), ..Limits::default() },
            log: self.dir.path().join("log"),
            stuck_after: None,
            watched: Vec::new(),
        }
    }

    fn start(&self, script: &str) -> Pump {
        Pump::start(&self.job(script), &[], &[]).unwrap().unwrap()
    }
}

fn line(pump: &mut Pump) -> Value {
    match pump.hear(None, None).unwrap() {
        Heard::Line(line) => line,
        other => panic!("{other:?}"),
    }
}

/// Returns whether somebody has the mark.
fn is_anybody(mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let has = |path: PathBuf| {
        let environ = fs::read(path.join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(|entry| has(entry.path()))
}

const LEAVERS: &str = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 300\" &); sleep 300 & \
                       echo '{\"ready\": 1}'; wait";

#[test]
fn a_panic_leaves_nobody_behind() {
    let place = Place::new();
    let mut pump = place.start(LEAVERS);
    line(&mut pump);
    let mark = pump.mark.clone();
    assert!(is_anybody(&mark));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _pump = pump;
        panic!("on purpose");
    }))
    .unwrap_err();
    assert!(!is_anybody(&mark));
}

#[test]
fn it_does_not_wait_for_an_agent_that_talks_and_does_not_listen() {
    let place = Place::new();
    // Far more than pipes hold, in both directions.
    let script =
        "yes '{\"a\": 1}' | head -n 100000; IFS= read -r line; echo \"{\\\"n\\\": ${#line}}\"";
    let mut pump = place.start(script);
    let words = "x".repeat(1 << 20);
    pump.say(&json!(words)).unwrap();
    for _ in 0..100_000 {
        assert_eq!(line(&mut pump), json!({ "a": 1 }));
    }
    assert_eq!(line(&mut pump), json!({ "n": words.len() + 2 }));
    assert!(matches!(pump.hear(None, None).unwrap(), Heard::Exited));
    let end = pump.finish(Ending::Exit).unwrap();
    assert!(matches!(end, End::Failed { kind: Trouble::NoResult, .. }), "{end:?}");
}

#[test]
fn what_was_said_before_the_exit_is_heard_with_or_without_an_end() {
    let place = Place::new();
    let mut pump = place.start("echo '{\"a\": 1}'; echo warning; printf '{\"b\": 2}'");
    assert_eq!(line(&mut pump), json!({ "a": 1 }));
    assert_eq!(line(&mut pump), json!({ "b": 2 }));
    assert!(matches!(pump.hear(None, None).unwrap(), Heard::Exited));
    pump.finish(Ending::Exit).unwrap();
    let log = fs::read_to_string(place.dir.path().join("log")).unwrap();
    assert!(log.starts_with("< {\"a\": 1}\n< warning\n"), "{log}");
}

#[test]
fn one_that_outlives_the_end_of_its_input_is_ended() {
    let place = Place::new();
    let mut pump = place.start(LEAVERS);
    line(&mut pump);
    let mark = pump.mark.clone();
    let end = pump.finish(Ending::close(End::Stopped)).unwrap();
    assert_eq!(end, End::Stopped);
    assert!(!is_anybody(&mark));
}

#[test]
fn time_that_others_take_is_not_counted() {
    let place = Place::new();
    let limits = Limits { wall: Some(Duration::from_millis(300)), ..Limits::default() };
    let job = Job { limits, ..place.job("sleep 0.5; echo '{}'; sleep 60") };
    let mut pump = Pump::start(&job, &[], &[]).unwrap().unwrap();
    pump.forgive(Duration::from_secs(30));
    assert_eq!(line(&mut pump), json!({}));
    pump.too_long_at = Some(Instant::now());
    assert!(matches!(pump.hear(None, None).unwrap(), Heard::Broke(Trouble::TimedOut)));
}

#[test]
fn silence_is_a_sign() {
    let place = Place::new();
    let after = Duration::from_millis(200);
    let job = Job { stuck_after: Some(after), ..place.job("sleep 60") };
    let mut pump = Pump::start(&job, &[], &[]).unwrap().unwrap();
    let heard = pump.hear(None, None).unwrap();
    assert!(matches!(heard, Heard::Sign(Sign::Stuck(_))), "{heard:?}");
}

#[test]
fn points_are_hidden_and_the_environment_is_the_job_s_alone() {
    let place = Place::new();
    let mut pump = place.start("echo \"[$(env | grep -c HOME), $(env | grep -c MOW_AGENT)]\"");
    assert_eq!(line(&mut pump), json!([0, 1]));
}
