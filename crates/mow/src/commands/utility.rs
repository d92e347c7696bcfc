//! Small commands without files of their own: slugs, times, paths, models, web search.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use jiff::Timestamp;
use mow_core::models::{self, FALLBACK};
use mow_core::slug::slug;
use mow_store::config::Config;
use serde::Serialize;
use serde_json::json;

use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `generate-slug`.
#[derive(Debug, Args)]
pub(crate) struct GenerateSlug {
    /// The text to make fit for a directory or a branch
    #[arg(allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    text: String,
}

impl GenerateSlug {
    pub(super) fn run(&self) -> Output {
        let slug = slug(&self.text);
        Output::with_raw(json!({ "slug": slug }), slug)
    }
}

/// The arguments of `current-timestamp`.
#[derive(Debug, Args)]
pub(crate) struct CurrentTimestamp {
    /// `full`, `date`, or `filename` for one without colons
    format: Option<String>,
}

impl CurrentTimestamp {
    pub(super) fn run(&self) -> Output {
        let timestamp = match self.format.as_deref() {
            Some("date") => today(),
            Some("filename") => Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S").to_string(),
            _ => now(),
        };
        Output::with_raw(json!({ "timestamp": timestamp }), timestamp)
    }
}

/// The arguments of `verify-path-exists`.
#[derive(Debug, Args)]
pub(crate) struct VerifyPathExists {
    /// The path, relative to the current directory or absolute
    path: PathBuf,
}

impl VerifyPathExists {
    pub(super) fn run(&self, context: &Context) -> Output {
        let kind = fs::metadata(context.named(&self.path)).ok().map(|meta| {
            if meta.is_dir() {
                "directory"
            } else if meta.is_file() {
                "file"
            } else {
                "other"
            }
        });
        let exists = kind.is_some();
        Output::with_raw(json!({ "exists": exists, "type": kind }), exists.to_string())
    }
}

/// The arguments of `resolve-model`.
#[derive(Debug, Args)]
pub(crate) struct ResolveModel {
    /// The agent, such as mow-executor
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    agent: String,
}

impl ResolveModel {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let config = context.config()?;
        let profile = config.settings().model_profile;
        let (model, known) = match model_of(&config, &self.agent) {
            Some(model) => (model, true),
            None => (FALLBACK.to_owned(), false),
        };
        let raw = model.clone();
        let unknown_agent = (!known).then_some(true);
        Ok(Output::with_raw(ModelJson { model, profile, unknown_agent }, raw))
    }
}

#[derive(Serialize)]
struct ModelJson {
    model: String,
    profile: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_agent: Option<bool>,
}

/// Returns the model of an agent: the one that is set for it, else the profile's.
fn model_of(config: &Config, agent: &str) -> Option<String> {
    let agent = agent.strip_prefix("gsd-").map_or(agent.to_owned(), |name| format!("mow-{name}"));
    let profile = config.settings().model_profile;
    let set = config.model_override(&agent);
    let model = set.or_else(|| models::model_of(&agent, &profile))?;
    Some(models::passed_on(model).to_owned())
}

/// Returns the model of an agent that mow itself names.
pub(super) fn model(config: &Config, agent: &str) -> String {
    model_of(config, agent).unwrap_or_else(|| FALLBACK.to_owned())
}

/// The arguments of `websearch`.
#[derive(Debug, Args)]
pub(crate) struct Websearch {
    /// What to look for
    #[arg(allow_hyphen_values = true)]
    query: Option<String>,
    /// How many results
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    limit: Option<String>,
    /// How old they may be: day, week or month
    #[arg(long, allow_hyphen_values = true, value_name = "AGE")]
    freshness: Option<String>,
}

impl Websearch {
    /// Says that there is no search: agents bring their own.
    pub(super) fn run(&self) -> Output {
        let has_key = std::env::var_os("BRAVE_API_KEY").is_some_and(|key| !key.is_empty());
        let answer = if !has_key {
            json!({ "available": false, "reason": "BRAVE_API_KEY not set" })
        } else if self.query.as_deref().is_none_or(|query| query.trim().is_empty()) {
            json!({ "available": false, "error": "Query required" })
        } else {
            let reason = "mow does not search the web: use the agent's own search";
            json!({ "available": false, "reason": reason })
        };
        Output::with_raw(answer, "")
    }
}
