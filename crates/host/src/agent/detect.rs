//! Which agents are installed, in which version, and whether they seem to be logged in.
//!
//! Looks at files and variables, and asks each program for its version; nothing here speaks with a
//! model or a network. What cannot be told this way is said to be unknown.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Kind;
use crate::probe::{self, Probe};

/// How long a program may take to say its version.
pub const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// An agent that mow knows how to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name in configuration.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The language that it is spoken to in.
    pub kind: Kind,
    /// The arguments that make it speak that language.
    pub args: &'static [&'static str],
    /// Variables that make it ask before it does what is risky; those of a person come before them.
    pub env: &'static [(&'static str, &'static str)],
    /// How to install it.
    pub install: &'static str,
    /// How to log in.
    pub login: &'static str,
    /// Variables that stand for a login.
    keys: &'static [&'static str],
    /// The variable that names its directory, and where that is below the home directory otherwise.
    dir: (&'static str, &'static str),
    /// The files there that stand for a login.
    files: &'static [&'static str],
    /// Whether it may well work without.
    works_without: bool,
}

/// All agents that mow knows how to start.
pub const KNOWN: [Known; 4] = [
    Known {
        name: "claude",
        program: "claude",
        kind: Kind::Claude,
        args: &[],
        env: &[],
        install: "npm install -g @anthropic-ai/claude-code",
        login: "run `claude` and type /login, or set ANTHROPIC_API_KEY",
        keys: &[
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ],
        dir: ("CLAUDE_CONFIG_DIR", ".claude"),
        files: &[".credentials.json"],
        // It keeps the login in the key chain.
        works_without: cfg!(target_os = "macos"),
    },
    Known {
        name: "codex",
        program: "codex",
        kind: Kind::Codex,
        args: &[],
        env: &[],
        install: "npm install -g @openai/codex",
        login: "run `codex login`, or set OPENAI_API_KEY",
        keys: &["OPENAI_API_KEY", "CODEX_API_KEY"],
        dir: ("CODEX_HOME", ".codex"),
        files: &["auth.json"],
        works_without: false,
    },
    Known {
        name: "gemini",
        program: "gemini",
        kind: Kind::Acp,
        // A worktree is a new directory, which nobody has been asked about.
        args: &["--acp", "--skip-trust"],
        env: &[],
        install: "npm install -g @google/gemini-cli",
        login: "run `gemini` and log in, or set GEMINI_API_KEY",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"],
        dir: ("", ".gemini"),
        files: &["oauth_creds.json"],
        works_without: false,
    },
    Known {
        name: "opencode",
        program: "opencode",
        kind: Kind::Acp,
        args: &["acp"],
        env: &[("OPENCODE_PERMISSION", r#"{"bash":"ask"}"#)],
        install: "npm install -g opencode-ai",
        login: "run `opencode auth login`",
        keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        dir: ("XDG_DATA_HOME", ".local/share"),
        files: &["opencode/auth.json"],
        // It has models that want no login.
        works_without: true,
    },
];

/// Whether an agent is logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// It seems so, by this variable or file.
    Found(String),
    /// There is no sign of it.
    Missing,
    /// Nothing that can be looked at tells.
    Unknown,
}

/// What was found out about an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its program; `None` when it is not installed.
    pub program: Option<PathBuf>,
    /// What it says about its version.
    pub version: Probe,
    /// Whether it is logged in.
    pub login: Login,
}

impl Finding {
    /// Returns what to do so that it can work; `None` when it seems ready.
    pub fn advice(&self, known: &Known) -> Option<&'static str> {
        match (&self.program, &self.login) {
            (None, _) => Some(known.install),
            (Some(_), Login::Missing) => Some(known.login),
            (Some(_), Login::Found(_) | Login::Unknown) => None,
        }
    }
}

/// Finds out about an agent, in an environment such as it would be started with.
pub fn detect(known: &Known, env: &[(OsString, OsString)], wait: Duration) -> Finding {
    let program = find_program(known.program, value(env, "PATH").unwrap_or_default());
    let version = match &program {
        Some(program) => probe::version(program, wait),
        None => Probe::Absent,
    };
    Finding { program, version, login: login(known, env) }
}

/// Finds a program in the directories of a search path.
pub fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

fn login(known: &Known, env: &[(OsString, OsString)]) -> Login {
    let is_set = |key: &&&str| value(env, key).is_some_and(|value| !value.is_empty());
    if let Some(key) = known.keys.iter().find(is_set) {
        return Login::Found((*key).to_owned());
    }
    let (variable, below_home) = known.dir;
    let home = || value(env, "HOME").map(|home| Path::new(home).join(below_home));
    let dir = value(env, variable).filter(|dir| !dir.is_empty()).map(PathBuf::from).or_else(home);
    let Some(dir) = dir else { return Login::Unknown };
    let mut files = known.files.iter().map(|file| dir.join(file));
    match files.find(|file| file.metadata().is_ok_and(|about| about.len() > 0)) {
        Some(file) => Login::Found(file.display().to_string()),
        None if known.works_without || has_own_provider(known, &dir) => Login::Unknown,
        None => Login::Missing,
    }
}

/// Returns whether Codex is set up for another model than its own, with a key of its own.
fn has_own_provider(known: &Known, dir: &Path) -> bool {
    let config = std::fs::read_to_string(dir.join("config.toml")).unwrap_or_default();
    known.kind == Kind::Codex && config.lines().any(|line| line.starts_with("model_provider"))
}

fn value<'a>(env: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    env.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
}

#[cfg(test)]
mod tests;
