//! What programs find when they start: variables, marks, process group, directory.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, getpgid};

use super::*;
use crate::process::{WorkerCommand, start_worker};
use crate::shell::{self, ShellJob};
use crate::stop_signal::StopSignal;

/// Marks for a test; `name` makes the token unique among tests.
pub(crate) fn test_marks(name: &str) -> AttemptMarks {
    AttemptMarks {
        token: format!("test-{}/{name}", std::process::id()),
        run: "run-7".to_owned(),
        phase: Some("3.1".to_owned()),
        attempt: 2,
    }
}

fn expected_marks(name: &str) -> BTreeMap<String, String> {
    let token = test_marks(name).token;
    let all = [
        ("MOW_TOKEN", &*token),
        ("MOW_ROLE", "worker"),
        ("MOW_RUN", "run-7"),
        ("MOW_PHASE", "3.1"),
        ("MOW_ATTEMPT", "2"),
    ];
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Parses the output of `env`.
fn parse_env(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Starts `env` and returns what it prints.
fn printed_variables(launch: Launch) -> BTreeMap<String, String> {
    let output = start(Launch { stdout: Stdio::piped(), ..launch }).unwrap();
    parse_env(&String::from_utf8(output.wait_with_output().unwrap().stdout).unwrap())
}

fn assert_contains(all: &BTreeMap<String, String>, expected: &BTreeMap<String, String>) {
    for (name, value) in expected {
        assert_eq!(all.get(name), Some(value), "{name}");
    }
}

#[test]
fn an_exact_environment_has_only_its_variables_and_the_marks() {
    let token = ("MOW_TOKEN".into(), "of a setting".into());
    let failpoint = ("MOW_FAILPOINT".into(), "merge.ref.moved".into());
    let launch = Launch {
        variables: Variables::Exact(vec![("WORD".into(), "a b".into()), token, failpoint]),
        marks: Some(test_marks("exact")),
        agent_mark: Some("agent-9".to_owned()),
        ..Launch::other("/usr/bin/env")
    };
    let mut expected = expected_marks("exact");
    expected.insert("WORD".to_owned(), "a b".to_owned());
    expected.insert("MOW_AGENT".to_owned(), "agent-9".to_owned());
    assert_eq!(printed_variables(launch), expected);
}

/// The variable that makes [`outer_process`] do its work; it names the program to start.
const OUTER: &str = "MOW_TEST_LAUNCH";

/// Does nothing as a test. With [`OUTER`], starts `env` as a program that inherits everything.
#[test]
fn outer_process() {
    let Some(kind) = std::env::var_os(OUTER) else { return };
    let path = PathBuf::from("/usr/bin/env");
    let program = match kind.to_str() {
        Some("mow") => LaunchedProgram::Mow(path),
        _ => LaunchedProgram::Other(path),
    };
    let launch = Launch {
        variables: Variables::inherited_with([("WORD", "new"), ("GIT_INDEX_FILE", "own")]),
        marks: Some(test_marks("inherited")).filter(|_| kind != "person"),
        stdout: Stdio::inherit(),
        ..Launch::new(program)
    };
    assert!(start(launch).unwrap().wait().unwrap().success());
}

/// Returns the variables of a program that a process with these variables starts.
fn inherited_by(kind: &str) -> BTreeMap<String, String> {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "launch::tests::outer_process", "--nocapture"])
        .envs([(OUTER, kind), ("WORD", "old"), ("OTHER", "kept")])
        .envs([("GIT_DIR", "elsewhere"), ("GIT_INDEX_FILE", "elsewhere")])
        .envs([("MOW_TOKEN", "outer"), ("MOW_AGENT", "outer"), ("MOW_ROLE", "lead")])
        .env("MOW_FAILPOINT_MARK", "mark")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    parse_env(&String::from_utf8(output.stdout).unwrap())
}

#[test]
fn inherited_variables_lose_those_that_redirect_git() {
    for kind in ["mow", "other", "person"] {
        let all = inherited_by(kind);
        let value = |name: &str| all.get(name).map(String::as_str);
        assert_eq!((value("WORD"), value("OTHER")), (Some("new"), Some("kept")), "{kind}");
        assert_eq!((value("GIT_DIR"), value("GIT_INDEX_FILE")), (None, Some("own")), "{kind}");
        let failpoint = (kind == "mow").then_some("mark");
        assert_eq!(value("MOW_FAILPOINT_MARK"), failpoint, "{kind}");
    }
}

#[test]
fn own_marks_replace_inherited_ones_and_the_others_stay() {
    let own = inherited_by("other");
    assert_contains(&own, &expected_marks_of("inherited", &own));
    assert_eq!(own["MOW_AGENT"], "outer", "the outer agent can end this run, too");
    let without = inherited_by("person");
    let marks = ["MOW_TOKEN", "MOW_ROLE", "MOW_AGENT"].map(|name| without[name].as_str());
    assert_eq!(marks, ["outer", "lead", "outer"]);
}

/// Like [`expected_marks`], with the token of the process that printed `all`.
fn expected_marks_of(name: &str, all: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut expected = expected_marks(name);
    let token = all["MOW_TOKEN"].clone();
    assert!(token.starts_with("test-") && token.ends_with("/inherited"), "{token}");
    expected.insert("MOW_TOKEN".to_owned(), token);
    expected
}

#[test]
fn commands_and_workers_have_the_marks() {
    let dir = tempfile::tempdir().unwrap();
    let job = ShellJob {
        script: "env".to_owned(),
        program: "sh".to_owned(),
        cwd: dir.path().to_owned(),
        env: vec![("MOW_TOKEN".to_owned(), "of a setting".to_owned())],
        marks: Some(test_marks("kinds")),
        log: dir.path().join("shell"),
        timeout: None,
        stuck_after: None,
        watched: Vec::new(),
    };
    shell::run(&job, &StopSignal::new().unwrap(), &mut |_| {}).unwrap();
    let printed = |file: &str| parse_env(&fs::read_to_string(dir.path().join(file)).unwrap());
    assert_contains(&printed("shell"), &expected_marks("kinds"));
    let worker = WorkerCommand {
        exe: "sh".into(),
        args: vec!["-c".to_owned(), "env; echo END=1".to_owned()],
        env: Vec::new(),
        marks: test_marks("kinds"),
        cwd: dir.path().to_owned(),
        log: dir.path().join("worker"),
        life_lock: dir.path().join("life"),
    };
    start_worker(&worker).unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while !printed("worker").contains_key("END") {
        assert!(Instant::now() < end, "{:?}", printed("worker"));
        std::thread::yield_now();
    }
    assert_contains(&printed("worker"), &expected_marks("kinds"));
}

#[test]
fn a_program_gets_a_process_group_of_its_own_only_if_asked() {
    for group in [ProcessGroup::Own, ProcessGroup::Inherited] {
        // `cat` waits for its input until the child's pipe is dropped.
        let launch = Launch { group, stdin: Stdio::piped(), ..Launch::other("cat") };
        let mut child = start(launch).unwrap();
        let pid = Pid::from_child(&child);
        let own = getpgid(Some(pid)).unwrap();
        let expected = if group == ProcessGroup::Own { pid } else { getpgid(None).unwrap() };
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(own, expected, "{group:?}");
    }
}

#[test]
fn missing_directories_missing_programs_and_refusals_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let (gone, here) = (dir.path().join("gone"), dir.path().to_owned());
    let at = |program: &Path, cwd: &Path| {
        start(Launch { cwd: Some(cwd.to_owned()), ..Launch::other(program) }).unwrap_err()
    };
    let error = at(Path::new("cat"), &gone);
    assert_eq!(error.to_string(), format!("there is no directory {}", gone.display()));
    assert!(matches!(at(&gone, &gone), LaunchError::MissingDirectory { .. }));
    let error = at(&gone, &here);
    assert_eq!(error.to_string(), format!("there is no program {}", gone.display()));
    let plain_file = here.join("file");
    fs::write(&plain_file, "text").unwrap();
    assert!(matches!(at(&plain_file, &here), LaunchError::Refused { .. }));
}
