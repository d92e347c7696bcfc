//! Small contract commands: slugs, timestamps, paths, models and web search.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use jiff::Timestamp;
use mow_core::models::FALLBACK_MODEL;
use mow_core::slug::slug;
use serde::Serialize;
use serde_json::json;

use crate::commands::profile::model_of;
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::Output;

/// The arguments of `generate-slug`.
#[derive(Debug, Args)]
pub(crate) struct GenerateSlugArgs {
    /// The text to turn into a name for a directory or branch
    #[arg(allow_hyphen_values = true, value_parser = NonEmptyStringValueParser::new())]
    text: String,
}

impl GenerateSlugArgs {
    pub(crate) fn run(&self) -> Output {
        let slug = slug(&self.text);
        Output::with_raw(json!({ "slug": slug }), slug)
    }
}

/// The arguments of `current-timestamp`.
#[derive(Debug, Args)]
pub(crate) struct CurrentTimestampArgs {
    /// The format: `full`, `date`, or `filename` (without colons)
    format: Option<String>,
}

impl CurrentTimestampArgs {
    pub(crate) fn run(&self) -> Output {
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
pub(crate) struct VerifyPathExistsArgs {
    /// The path, relative to the current directory or absolute
    path: PathBuf,
}

impl VerifyPathExistsArgs {
    pub(crate) fn run(&self, context: &Context) -> Output {
        let kind = fs::metadata(context.path_from_cwd(&self.path)).ok().map(|meta| {
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
pub(crate) struct ResolveModelArgs {
    /// The agent, such as mow-executor
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    agent: String,
}

impl ResolveModelArgs {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let config = context.config()?;
        let profile = config.settings().model_profile;
        let (model, known) = match model_of(&config, &self.agent) {
            Some(model) => (model, true),
            None => (FALLBACK_MODEL.to_owned(), false),
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

/// The arguments of `websearch`.
#[derive(Debug, Args)]
pub(crate) struct WebsearchArgs {
    /// The search text
    #[arg(allow_hyphen_values = true)]
    query: Option<String>,
    /// The number of results
    #[arg(long, allow_hyphen_values = true, value_name = "N")]
    limit: Option<String>,
    /// The maximum age of the results: day, week or month
    #[arg(long, allow_hyphen_values = true, value_name = "AGE")]
    freshness: Option<String>,
}

impl WebsearchArgs {
    /// Reports that mow has no web search, because agents bring their own.
    pub(crate) fn run(&self) -> Output {
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
