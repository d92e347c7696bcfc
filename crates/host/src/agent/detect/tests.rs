//! Programs that are there, are not, say nothing; logins by variables and files.

use std::fs;

use super::*;
use crate::test_repository::{make_executable, write};

const CLAUDE: &Known = &KNOWN[0];
const CODEX: &Known = &KNOWN[1];

struct Home {
    dir: tempfile::TempDir,
    env: Vec<(OsString, OsString)>,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("bin");
        let path = format!("relative:{}:/usr/bin:/bin", bin.display());
        let env = vec![("HOME".into(), dir.path().into()), ("PATH".into(), path.into())];
        Self { dir, env }
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.dir.path().join("bin").join(name);
        write(&path, &format!("#!/bin/sh\n{script}\n"));
        make_executable(&path);
    }

    fn detect(&self, known: &Known) -> Finding {
        detect(known, &self.env, Duration::from_secs(30))
    }
}

#[test]
fn what_is_not_there_is_said_with_how_to_get_it() {
    let home = Home::new();
    for known in &KNOWN {
        let finding = home.detect(known);
        assert_eq!((&finding.program, &finding.version), (&None, &Probe::Absent), "{}", known.name);
        assert_eq!(finding.advice(known), Some(known.install));
    }
    // A file that cannot be run is no program.
    write(&home.dir.path().join("bin/claude"), "text");
    assert_eq!(home.detect(CLAUDE).program, None);
}

#[test]
fn the_version_is_asked_for_and_not_waited_for_long() {
    let home = Home::new();
    home.program("claude", "echo; echo '2.1 (Claude Code)'");
    let finding = home.detect(CLAUDE);
    assert_eq!(finding.version, Probe::Version("2.1 (Claude Code)".to_owned()));
    assert_eq!(finding.program, Some(home.dir.path().join("bin/claude")));
    home.program("codex", "exec sleep 100");
    let finding = detect(CODEX, &home.env, Duration::from_millis(50));
    assert!(matches!(finding.version, Probe::Silent(_)), "{finding:?}");
}

#[test]
fn a_login_is_found_by_variable_or_file() {
    let mut home = Home::new();
    home.program("claude", "echo 1");
    let finding = home.detect(CLAUDE);
    assert_eq!(finding.login, Login::Missing);
    assert_eq!(finding.advice(CLAUDE), Some(CLAUDE.login));
    let file = home.dir.path().join(".claude/.credentials.json");
    write(&file, "{}");
    assert_eq!(home.detect(CLAUDE).login, Login::Found(file.display().to_string()));
    assert_eq!(home.detect(CLAUDE).advice(CLAUDE), None);
    home.env.push(("CLAUDE_CONFIG_DIR".into(), home.dir.path().join("other").into()));
    assert_eq!(home.detect(CLAUDE).login, Login::Missing);
    home.env.push(("ANTHROPIC_API_KEY".into(), "".into()));
    assert_eq!(home.detect(CLAUDE).login, Login::Missing);
    home.env.push(("ANTHROPIC_API_KEY".into(), "key".into()));
    assert_eq!(home.detect(CLAUDE).login, Login::Found("ANTHROPIC_API_KEY".to_owned()));
}

#[test]
fn a_model_of_ones_own_needs_no_login_that_we_know() {
    let home = Home::new();
    assert_eq!(home.detect(CODEX).login, Login::Missing);
    write(&home.dir.path().join(".codex/config.toml"), "model_provider = \"mine\"\n");
    assert_eq!(home.detect(CODEX).login, Login::Unknown);
    fs::write(home.dir.path().join(".codex/auth.json"), "{}").unwrap();
    assert!(matches!(home.detect(CODEX).login, Login::Found(_)));
}
