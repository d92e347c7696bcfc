//! Tests of detection: missing and silent programs, logins by variable and file.

use std::fs;

use super::*;
use crate::test_repository::{make_executable, write};

const CLAUDE: &AgentProgram = &AGENT_PROGRAMS[0];
const CODEX: &AgentProgram = &AGENT_PROGRAMS[1];

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

    fn detect(&self, agent: &AgentProgram) -> DetectedAgent {
        detect(agent, &self.env, Duration::from_secs(30))
    }
}

#[test]
fn a_missing_agent_is_reported_with_its_install_command() {
    let home = Home::new();
    for agent in &AGENT_PROGRAMS {
        let detected = home.detect(agent);
        assert_eq!(
            (&detected.program, &detected.version),
            (&None, &ProbeResult::NotFound),
            "{}",
            agent.name
        );
        assert_eq!(detected.advice(agent), Some(agent.install));
    }
    // A file that cannot be run is no program.
    write(&home.dir.path().join("bin/claude"), "text");
    assert_eq!(home.detect(CLAUDE).program, None);
}

#[test]
fn the_version_is_read_within_a_timeout() {
    let home = Home::new();
    home.program("claude", "echo; echo '2.1 (Claude Code)'");
    let detected = home.detect(CLAUDE);
    assert_eq!(detected.version, ProbeResult::Version("2.1 (Claude Code)".to_owned()));
    assert_eq!(detected.program, Some(home.dir.path().join("bin/claude")));
    home.program("codex", "exec sleep 100");
    let detected = detect(CODEX, &home.env, Duration::from_millis(50));
    assert!(matches!(detected.version, ProbeResult::NoVersion(_)), "{detected:?}");
}

#[test]
fn a_login_is_found_by_variable_or_file() {
    let mut home = Home::new();
    home.program("claude", "echo 1");
    let detected = home.detect(CLAUDE);
    assert_eq!(detected.login, LoginState::Missing);
    assert_eq!(detected.advice(CLAUDE), Some(CLAUDE.login));
    let file = home.dir.path().join(".claude/.credentials.json");
    write(&file, "{}");
    assert_eq!(home.detect(CLAUDE).login, LoginState::Found(file.display().to_string()));
    assert_eq!(home.detect(CLAUDE).advice(CLAUDE), None);
    home.env.push(("CLAUDE_CONFIG_DIR".into(), home.dir.path().join("other").into()));
    assert_eq!(home.detect(CLAUDE).login, LoginState::Missing);
    home.env.push(("ANTHROPIC_API_KEY".into(), "".into()));
    assert_eq!(home.detect(CLAUDE).login, LoginState::Missing);
    home.env.push(("ANTHROPIC_API_KEY".into(), "key".into()));
    assert_eq!(home.detect(CLAUDE).login, LoginState::Found("ANTHROPIC_API_KEY".to_owned()));
}

#[test]
fn the_login_of_a_custom_model_provider_is_unknown() {
    let home = Home::new();
    assert_eq!(home.detect(CODEX).login, LoginState::Missing);
    write(&home.dir.path().join(".codex/config.toml"), "model_provider = \"mine\"\n");
    assert_eq!(home.detect(CODEX).login, LoginState::Unknown);
    fs::write(home.dir.path().join(".codex/auth.json"), "{}").unwrap();
    assert!(matches!(home.detect(CODEX).login, LoginState::Found(_)));
}
