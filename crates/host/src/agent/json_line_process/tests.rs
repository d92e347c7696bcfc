//! A process that never blocks, and leaves nobody behind, whatever way it goes.

use std::fs;

use serde_json::json;

use super::*;
use crate::agent::{Access, AgentSession};
use crate::launch::tests::test_marks;

struct TestDir {
    dir: tempfile::TempDir,
}

impl TestDir {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn job(&self, script: &str) -> AgentJob {
        AgentJob {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".to_owned(), script.to_owned()],
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            marks: test_marks("json-line-process"),
            cwd: self.dir.path().to_path_buf(),
            prompt: String::new(),
            model: None,
            session: AgentSession::New,
            access: Access::Read,
            tool_servers: Vec::new(),
            limits: Limits { wall: Some(Duration::from_secs(60)), ..Limits::default() },
            log: self.dir.path().join("log"),
            stuck_after: None,
            watched_paths: Vec::new(),
        }
    }

    fn start(&self, script: &str) -> JsonLineProcess {
        JsonLineProcess::start(&self.job(script), &[], &[]).unwrap().unwrap()
    }
}

fn line(process: &mut JsonLineProcess) -> Value {
    match process.receive(None, None).unwrap() {
        ProcessEvent::Line(line) => line,
        other => panic!("{other:?}"),
    }
}

/// Returns whether a process has the mark in its environment.
fn has_marked_process(mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let has = |path: PathBuf| {
        let environ = fs::read(path.join("environ")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(|entry| has(entry.path()))
}

const STUBBORN_PROCESSES: &str = "trap '' TERM; (setsid sh -c \"trap '' TERM; sleep 300\" &); sleep 300 & \
                       echo '{\"ready\": 1}'; wait";

#[test]
fn a_panic_leaves_no_process() {
    let dir = TestDir::new();
    let mut process = dir.start(STUBBORN_PROCESSES);
    line(&mut process);
    let mark = process.mark.clone();
    assert!(has_marked_process(&mark));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _pump = process;
        panic!("on purpose");
    }))
    .unwrap_err();
    assert!(!has_marked_process(&mark));
}

#[test]
fn an_agent_that_writes_without_reading_does_not_block() {
    let dir = TestDir::new();
    // Far more than pipes hold, in both directions.
    let script =
        "yes '{\"a\": 1}' | head -n 100000; IFS= read -r line; echo \"{\\\"n\\\": ${#line}}\"";
    let mut process = dir.start(script);
    let words = "x".repeat(1 << 20);
    process.send(&json!(words)).unwrap();
    for _ in 0..100_000 {
        assert_eq!(line(&mut process), json!({ "a": 1 }));
    }
    assert_eq!(line(&mut process), json!({ "n": words.len() + 2 }));
    assert!(matches!(process.receive(None, None).unwrap(), ProcessEvent::Exited));
    let end = process.finish(Shutdown::Exit).unwrap();
    assert!(matches!(end, AgentOutcome::Failed { kind: FailureKind::NoResult, .. }), "{end:?}");
}

#[test]
fn output_before_the_exit_is_read_with_or_without_a_line_break() {
    let dir = TestDir::new();
    let mut process = dir.start("echo '{\"a\": 1}'; echo warning; printf '{\"b\": 2}'");
    assert_eq!(line(&mut process), json!({ "a": 1 }));
    assert_eq!(line(&mut process), json!({ "b": 2 }));
    assert!(matches!(process.receive(None, None).unwrap(), ProcessEvent::Exited));
    process.finish(Shutdown::Exit).unwrap();
    let log = fs::read_to_string(dir.dir.path().join("log")).unwrap();
    assert!(log.starts_with("< {\"a\": 1}\n< warning\n"), "{log}");
}

#[test]
fn an_agent_that_ignores_closed_input_is_terminated() {
    let dir = TestDir::new();
    let mut process = dir.start(STUBBORN_PROCESSES);
    line(&mut process);
    let mark = process.mark.clone();
    let end = process.finish(Shutdown::close(AgentOutcome::Stopped)).unwrap();
    assert_eq!(end, AgentOutcome::Stopped);
    assert!(!has_marked_process(&mark));
}

#[test]
fn an_extended_deadline_is_respected() {
    let dir = TestDir::new();
    let limits = Limits { wall: Some(Duration::from_millis(300)), ..Limits::default() };
    let job = AgentJob { limits, ..dir.job("sleep 0.5; echo '{}'; sleep 60") };
    let mut process = JsonLineProcess::start(&job, &[], &[]).unwrap().unwrap();
    process.extend_deadline(Duration::from_secs(30));
    assert_eq!(line(&mut process), json!({}));
    process.deadline = Some(Instant::now());
    assert!(matches!(
        process.receive(None, None).unwrap(),
        ProcessEvent::LimitExceeded(FailureKind::TimedOut)
    ));
}

#[test]
fn a_silent_agent_is_reported_as_stuck() {
    let dir = TestDir::new();
    let after = Duration::from_millis(200);
    let job = AgentJob { stuck_after: Some(after), ..dir.job("sleep 60") };
    let mut process = JsonLineProcess::start(&job, &[], &[]).unwrap().unwrap();
    let event = process.receive(None, None).unwrap();
    assert!(matches!(event, ProcessEvent::Activity(ActivityChange::Stuck(_))), "{event:?}");
}

#[test]
fn failpoints_are_hidden_and_only_the_job_sets_the_environment() {
    let dir = TestDir::new();
    let mut process = dir.start("echo \"[$(env | grep -c HOME), $(env | grep -c MOW_AGENT)]\"");
    assert_eq!(line(&mut process), json!([0, 1]));
    let mut process = dir.start("echo \"[\\\"$MOW_TOKEN\\\", \\\"$MOW_ROLE\\\", $MOW_ATTEMPT]\"");
    let token = test_marks("json-line-process").token;
    assert_eq!(line(&mut process), json!([token, "worker", 2]));
}
