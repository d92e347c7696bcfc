//! Programs that answer, do not answer, and do not exist.

use std::fs;
use std::path::PathBuf;

use super::*;

fn script(dir: &tempfile::TempDir, body: &str) -> PathBuf {
    let path = dir.path().join("agent");
    write(&path, body);
    path
}

#[expect(clippy::disallowed_methods, reason = "tests make their own files")]
fn write(path: &std::path::Path, body: &str) {
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    crate::test_repository::make_executable(path);
}

#[test]
fn the_first_line_of_the_output_is_the_version() {
    let dir = tempfile::tempdir().unwrap();
    let agent =
        script(&dir, "test \"$1\" = --version && printf '\\n  agent 1.2\\033[0m \\nmore\\n'");
    assert_eq!(
        version(&agent, Duration::from_secs(60)),
        ProbeResult::Version("agent 1.2[0m".to_owned())
    );
}

#[test]
fn a_program_that_hangs_times_out() {
    let dir = tempfile::tempdir().unwrap();
    let agent = script(&dir, "exec sleep 600");
    let start = std::time::Instant::now();
    let ProbeResult::NoVersion(text) = version(&agent, Duration::from_millis(50)) else { panic!() };
    assert!(text.contains("no answer"), "{text}");
    assert!(start.elapsed() < Duration::from_secs(300));
}

#[test]
fn a_missing_program_and_one_without_output_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(version(dir.path().join("none"), Duration::from_secs(60)), ProbeResult::NotFound);
    let agent = script(&dir, "true");
    let silent = ProbeResult::NoVersion("printed no version".to_owned());
    assert_eq!(version(agent, Duration::from_secs(60)), silent);
}
