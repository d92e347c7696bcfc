//! `mow config-ensure-section`, `config-set`, `config-get` and `config nudge-dismiss`: reads and
//! changes `.planning/config.json`.
//!
//! A change replaces only the bytes of its own setting. The output is fixed by the contract.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use mow_engine::client::{Client, SettingRequest};
use mow_store::config::{self, Config};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::json_edit;
use serde_json::{Map, Value, json};

use crate::caller::caller;
use crate::context::{Context, home, today, with_env_overrides};
use crate::failure::Failure;
use crate::output::{Output, warn};

const FILE: &str = "config.json";

/// The subcommands of `mow config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Never show the hint about agent teams again
    NudgeDismiss,
}

impl ConfigCommand {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::NudgeDismiss => nudge_dismiss(context),
        }
    }
}

/// The arguments of `config-get`.
#[derive(Debug, Args)]
pub(crate) struct ConfigGetArgs {
    /// The setting, such as workflow.research
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    key: String,
}

/// The arguments of `config-set`.
#[derive(Debug, Args)]
pub(crate) struct ConfigSetArgs {
    /// The setting, such as workflow.research
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    key: String,
    /// true, false, a number or any other text
    #[arg(allow_hyphen_values = true)]
    value: String,
}

/// Changes config.json under the lock; creates the file and its directory if they are missing.
fn update(
    context: &Context,
    change: impl FnOnce(&[u8]) -> Result<Option<Vec<u8>>, Failure>,
) -> Result<(), Failure> {
    let writer = Writer::open(&context.project, WAIT_DEFAULT)?;
    let path = context.planning(FILE);
    let old = disk::read(&path)?.unwrap_or_default();
    if let Some(new) = change(&old)? {
        writer.create_dir(&context.project.planning)?;
        writer.replace(&path, &new)?;
    }
    Ok(())
}

fn invalid_config(error: &json_edit::JsonError) -> Failure {
    Failure::refused(format!(".planning/{FILE}: {error}"))
        .hint("fix the file, or let `mow validate health --repair` write a new one")
}

/// `mow config-ensure-section`.
pub(super) fn ensure_section(context: &Context) -> Result<Output, Failure> {
    if context.planning(FILE).exists() {
        return Ok(already_exists());
    }
    let text = serde_json::to_string_pretty(&new_config()?).expect("settings are plain JSON");
    let mut created = false;
    update(context, |old| {
        created = old.is_empty();
        Ok(created.then(|| text.into_bytes()))
    })?;
    if !created {
        return Ok(already_exists());
    }
    let answer = json!({ "created": true, "path": ".planning/config.json" });
    Ok(Output::with_raw(answer, "created"))
}

fn already_exists() -> Output {
    Output::with_raw(json!({ "created": false, "reason": "already_exists" }), "exists")
}

/// Returns the settings of a new project: the built-in defaults, overridden by the user's defaults.
fn new_config() -> Result<Map<String, Value>, Failure> {
    let settings = Config::default().settings();
    let defaults = json!({
        "model_profile": settings.model_profile,
        "commit_docs": settings.commit_docs,
        "search_gitignored": settings.search_gitignored,
        "branching_strategy": settings.branching_strategy,
        "phase_branch_template": settings.phase_branch_template,
        "milestone_branch_template": settings.milestone_branch_template,
        "workflow": {
            "research": settings.research,
            "plan_check": settings.plan_checker,
            "verifier": settings.verifier,
        },
        "parallelization": settings.parallelization,
        "brave_search": has_search_key(),
    });
    let Value::Object(mut defaults) = defaults else { unreachable!("settings are an object") };
    for (key, value) in user_defaults()? {
        match (defaults.get_mut(&key), value) {
            (Some(Value::Object(section)), Value::Object(overrides)) if key == "workflow" => {
                section.extend(overrides);
            }
            (_, value) => {
                defaults.insert(key, value);
            }
        }
    }
    Ok(defaults)
}

/// Loads the user's defaults; a file that is not JSON is ignored with a warning.
fn user_defaults() -> Result<Map<String, Value>, Failure> {
    let Some(home) = home() else { return Ok(Map::new()) };
    for file in [".mowism/defaults.json", ".gsd/defaults.json"] {
        let path = home.join(file);
        if let Some(bytes) = disk::read(&path)? {
            return Ok(json_edit::parse(&bytes).unwrap_or_else(|error| {
                warn(&format!("{}: {error}; the file is ignored", path.display()));
                Map::new()
            }));
        }
    }
    Ok(Map::new())
}

/// Returns whether the user has an API key for web search, in the environment or in a file.
pub(crate) fn has_search_key() -> bool {
    let in_environment = std::env::var_os("BRAVE_API_KEY").is_some_and(|key| !key.is_empty());
    let files = [".mowism/brave_api_key", ".gsd/brave_api_key"];
    in_environment || home().is_some_and(|home| files.iter().any(|file| home.join(file).exists()))
}

/// Changes one setting and no other byte of the file.
pub(super) fn set(context: &Context, key: &str, value: &Value) -> Result<(), Failure> {
    Ok(Client::of_project(&context.project).submit(SettingRequest { key, value }, &caller())?)
}

impl ConfigSetArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let value = config::parse_scalar(&self.value);
        set(context, &self.key, &value)?;
        let raw = format!("{}={}", self.key, raw_text(&value));
        Ok(Output::with_raw(json!({ "updated": true, "key": self.key, "value": value }), raw))
    }
}

impl ConfigGetArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let bytes = context.load(FILE)?.ok_or_else(|| {
            Failure::refused(".planning/config.json not found").hint("mow config-ensure-section")
        })?;
        let config =
            with_env_overrides(Config::parse(&bytes).map_err(|error| invalid_config(&error))?);
        let value = config.lookup(&self.key).ok_or_else(|| {
            Failure::refused(format!("Key not found: {}", self.key))
                .hint(format!("mow config-set {} VALUE", self.key))
        })?;
        let raw = raw_text(&value);
        Ok(Output::with_raw(value, raw))
    }
}

/// Returns a value for `--raw`: texts without quotes, everything else as JSON on one line.
fn raw_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn nudge_dismiss(context: &Context) -> Result<Output, Failure> {
    let date = today();
    update(context, |old| {
        let old = match json_edit::parse(old) {
            Ok(_) => old,
            Err(error) => {
                warn(&format!(".planning/{FILE}: {error}; the file is replaced"));
                b""
            }
        };
        let dismissed = json_edit::set(old, &["agent_teams_nudge_dismissed"], &json!(true))?;
        let dated = json_edit::set(&dismissed, &["agent_teams_nudge_dismissed_at"], &json!(date))?;
        Ok(Some(dated))
    })?;
    let answer = json!({ "dismissed": true, "dismissed_at": date });
    Ok(Output::with_raw(answer, "dismissed"))
}
