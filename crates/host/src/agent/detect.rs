//! Detects which agents are installed, in which version, and whether they seem to be logged in.
//!
//! Detection reads files and variables and runs each program with `--version`. It never contacts a
//! model or the network. A login that cannot be determined this way is reported as unknown.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::AgentKind;
use crate::probe::{self, ProbeResult};

/// How long a program may take to print its version.
pub const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// An agent that mow knows how to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentProgram {
    /// The agent's name in the configuration.
    pub name: &'static str,
    /// The name of the program.
    pub program: &'static str,
    /// The protocol that the program speaks.
    pub kind: AgentKind,
    /// The arguments that select the protocol.
    pub args: &'static [&'static str],
    /// Variables that make the agent ask before risky actions; the user's own values take precedence.
    pub env: &'static [(&'static str, &'static str)],
    /// The command that installs the agent.
    pub install: &'static str,
    /// How to log in, as an instruction to the user.
    pub login: &'static str,
    /// Variables that count as a login when they are set.
    login_variables: &'static [&'static str],
    /// The variable that names the agent's directory, and its default below the home directory.
    dir: (&'static str, &'static str),
    /// Files in that directory that count as a login.
    login_files: &'static [&'static str],
    /// Whether the agent may work without any of these.
    works_without_login: bool,
}

/// All agents that mow knows how to start.
pub const AGENT_PROGRAMS: [AgentProgram; 4] = [
    AgentProgram {
        name: "claude",
        program: "claude",
        kind: AgentKind::Claude,
        args: &[],
        env: &[],
        install: "npm install -g @anthropic-ai/claude-code",
        login: "run `claude` and type /login, or set ANTHROPIC_API_KEY",
        login_variables: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ],
        dir: ("CLAUDE_CONFIG_DIR", ".claude"),
        login_files: &[".credentials.json"],
        // On macOS the login is in the keychain.
        works_without_login: cfg!(target_os = "macos"),
    },
    AgentProgram {
        name: "codex",
        program: "codex",
        kind: AgentKind::Codex,
        args: &[],
        env: &[],
        install: "npm install -g @openai/codex",
        login: "run `codex login`, or set OPENAI_API_KEY",
        login_variables: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        dir: ("CODEX_HOME", ".codex"),
        login_files: &["auth.json"],
        works_without_login: false,
    },
    AgentProgram {
        name: "gemini",
        program: "gemini",
        kind: AgentKind::Acp,
        // A worktree is a new directory, for which Gemini would ask whether to trust it.
        args: &["--acp", "--skip-trust"],
        env: &[],
        install: "npm install -g @google/gemini-cli",
        login: "run `gemini` and log in, or set GEMINI_API_KEY",
        login_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
        dir: ("", ".gemini"),
        login_files: &["oauth_creds.json"],
        works_without_login: false,
    },
    AgentProgram {
        name: "opencode",
        program: "opencode",
        kind: AgentKind::Acp,
        args: &["acp"],
        env: &[("OPENCODE_PERMISSION", r#"{"bash":"ask"}"#)],
        install: "npm install -g opencode-ai",
        login: "run `opencode auth login`",
        login_variables: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        dir: ("XDG_DATA_HOME", ".local/share"),
        login_files: &["opencode/auth.json"],
        // OpenCode has models that need no login.
        works_without_login: true,
    },
];

/// Whether an agent is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginState {
    /// The agent seems to be logged in, by this variable or file.
    Found(String),
    /// No variable or file of a login exists.
    Missing,
    /// Variables and files do not show it.
    Unknown,
}

/// The result of detecting one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DetectedAgent {
    /// The path of the program; `None` when it is not installed.
    pub program: Option<PathBuf>,
    /// The version that the program printed.
    pub version: ProbeResult,
    /// Whether it is logged in.
    pub login: LoginState,
}

impl DetectedAgent {
    /// Returns what the user has to do first; `None` when the agent seems ready.
    pub fn advice(&self, agent: &AgentProgram) -> Option<&'static str> {
        match (&self.program, &self.login) {
            (None, _) => Some(agent.install),
            (Some(_), LoginState::Missing) => Some(agent.login),
            (Some(_), LoginState::Found(_) | LoginState::Unknown) => None,
        }
    }
}

/// Detects an agent in the environment that it would be started with.
pub fn detect(agent: &AgentProgram, env: &[(OsString, OsString)], wait: Duration) -> DetectedAgent {
    let program = find_program(agent.program, value(env, "PATH").unwrap_or_default());
    let version = match &program {
        Some(program) => probe::version(program, wait),
        None => ProbeResult::NotFound,
    };
    DetectedAgent { program, version, login: login(agent, env) }
}

/// Finds a program in the directories of a search path.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn login(agent: &AgentProgram, env: &[(OsString, OsString)]) -> LoginState {
    let is_set = |key: &&&str| value(env, key).is_some_and(|value| !value.is_empty());
    if let Some(key) = agent.login_variables.iter().find(is_set) {
        return LoginState::Found((*key).to_owned());
    }
    let (variable, below_home) = agent.dir;
    let home = || value(env, "HOME").map(|home| Path::new(home).join(below_home));
    let dir = value(env, variable).filter(|dir| !dir.is_empty()).map(PathBuf::from).or_else(home);
    let Some(dir) = dir else { return LoginState::Unknown };
    let mut files = agent.login_files.iter().map(|file| dir.join(file));
    match files.find(|file| file.metadata().is_ok_and(|metadata| metadata.len() > 0)) {
        Some(file) => LoginState::Found(file.display().to_string()),
        None if agent.works_without_login || has_custom_provider(agent, &dir) => {
            LoginState::Unknown
        }
        None => LoginState::Missing,
    }
}

/// Returns whether Codex is configured for a model provider with its own key.
fn has_custom_provider(agent: &AgentProgram, dir: &Path) -> bool {
    let config = std::fs::read_to_string(dir.join("config.toml")).unwrap_or_default();
    agent.kind == AgentKind::Codex && config.lines().any(|line| line.starts_with("model_provider"))
}

fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests;
