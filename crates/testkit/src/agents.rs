//! Finds the installed coding agents and configures each to talk only to a [`ScriptedLlm`].
//!
//! `cargo xtask agents` installs them. A test that needs them fails where they are missing: a skipped
//! agent would be untested.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::llm::ScriptedLlm;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

impl Agent {
    /// All agents.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode];

    /// The name of the program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The model to ask for, where the agent must be told by its arguments; any name would do.
    pub fn model(self) -> &'static str {
        match self {
            Self::Claude => "claude-sonnet-4-5",
            // Codex lets this one write files by a tool of its own. One that it does not know writes
            // them by the shell and sees the tools of MCP servers without looking for them; newer ones
            // are offered nothing but JavaScript.
            Self::Codex => "gpt-5.5",
            Self::Gemini => "gemini-2.5-pro",
            Self::OpenCode => "scripted/scripted",
        }
    }
}

/// Variables for a program.
pub type Environment = Vec<(String, String)>;

/// The installed agents.
#[derive(Debug)]
pub struct Agents {
    bin: PathBuf,
}

impl Agents {
    /// Finds them where `cargo xtask agents` put them.
    #[track_caller]
    pub fn find() -> Self {
        let set =
            |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = || set("MOW_CI_CACHE").or_else(|| Some(env::home_dir()?.join(".cache/mow-ci")));
        let home = || set("MOW_AGENTS").or_else(|| Some(cache()?.join("agents")));
        let bin = set("MOW_AGENTS_BIN").or_else(|| Some(home()?.join("node_modules/.bin")));
        let bin = bin.expect("there is a home directory, or MOW_AGENTS_BIN is set");
        for agent in Agent::ALL {
            let path = bin.join(agent.program());
            assert!(path.exists(), "{} is missing; run `cargo xtask agents`", path.display());
        }
        Self { bin }
    }

    /// The full path of an agent's program.
    pub fn program(&self, agent: Agent) -> PathBuf {
        self.bin.join(agent.program())
    }

    /// A `PATH` on which the agents come first, with the node they run on.
    pub fn path(&self) -> String {
        format!("{}:/usr/local/bin:/usr/bin:/bin", self.bin.display())
    }

    /// Returns the variables that make an agent use this server, and writes its settings below `home`.
    /// The variables of several agents can be combined for one program.
    pub fn environment(&self, agent: Agent, llm: &ScriptedLlm, home: &Path) -> Environment {
        let home = home.join(agent.program());
        fs::create_dir_all(&home).expect("directories can be made");
        let url = llm.url();
        let own = match agent {
            Agent::Claude => claude(&url, &home),
            Agent::Codex => codex(&url, &home),
            Agent::Gemini => gemini(&url, &home),
            Agent::OpenCode => open_code(&url, &home),
        };
        let shared = [
            ("PATH", self.path()),
            // Requests to other hosts go to the server as a proxy, which refuses and records them.
            ("HTTPS_PROXY", url.clone()),
            ("HTTP_PROXY", url.clone()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ];
        let pairs = shared.into_iter().chain(own);
        pairs.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn claude(url: &str, home: &Path) -> Vec<(&'static str, String)> {
    let mut list = vec![
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", "scripted".to_owned()),
        ("CLAUDE_CONFIG_DIR", home.display().to_string()),
        // A permanent scripted failure should not be retried for a minute.
        ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
    ];
    let quiet = [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_STARTUP_FAILURE_RESULTS",
    ];
    list.extend(quiet.map(|name| (name, "1".to_owned())));
    list
}

fn codex(url: &str, home: &Path) -> Vec<(&'static str, String)> {
    let model = Agent::Codex.model();
    let settings = format!(
        r#"model = "{model}"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
apps = false
plugins = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
supports_websockets = false
"#
    );
    fs::write(home.join("config.toml"), settings).expect("files can be written");
    vec![("CODEX_HOME", home.display().to_string()), ("OPENAI_API_KEY", "scripted".to_owned())]
}

fn gemini(url: &str, home: &Path) -> Vec<(&'static str, String)> {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    let folder = home.join(".gemini");
    fs::create_dir_all(&folder).expect("directories can be made");
    fs::write(folder.join("settings.json"), settings.to_string()).expect("files can be written");
    vec![
        ("GEMINI_CLI_HOME", home.display().to_string()),
        ("GEMINI_API_KEY", "scripted".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
        ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
    ]
}

fn open_code(url: &str, home: &Path) -> Vec<(&'static str, String)> {
    let settings = json!({
        "model": Agent::OpenCode.model(),
        "small_model": Agent::OpenCode.model(),
        "autoupdate": false,
        "share": "disabled",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "scripted" },
            "models": { "scripted": {} },
        } },
    });
    // Without this, OpenCode downloads its plugin package.
    let folder = home.join("XDG_CONFIG_HOME/opencode");
    fs::create_dir_all(folder.join("node_modules")).expect("directories can be made");
    let lock = json!({ "packages": { "": { "dependencies": { "@opencode-ai/plugin": "*" } } } });
    fs::write(folder.join("package-lock.json"), lock.to_string()).expect("files can be written");
    let mut list = vec![("OPENCODE_CONFIG_CONTENT", settings.to_string())];
    let places = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];
    list.extend(places.map(|name| (name, home.join(name).display().to_string())));
    let quiet = [
        "OPENCODE_DISABLE_AUTOUPDATE",
        "OPENCODE_DISABLE_MODELS_FETCH",
        "OPENCODE_DISABLE_LSP_DOWNLOAD",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    ];
    list.extend(quiet.map(|name| (name, "1".to_owned())));
    list
}
