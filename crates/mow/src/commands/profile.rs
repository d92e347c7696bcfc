//! `mow set-profile`: selects the model profile, which assigns a model to every agent.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use mow_core::models::{self, FALLBACK_MODEL};
use mow_store::config::Config;
use serde_json::{Map, Value, json};

use super::config;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, DIM, styled};

/// The arguments of `set-profile`.
#[derive(Debug, Args)]
pub(crate) struct SetProfileArgs {
    /// The profile to use
    profile: Profile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Profile {
    /// The largest models for the most important agents
    Quality,
    /// Large models for planning, smaller ones for the rest
    Balanced,
    /// The smallest models that are sufficient
    Budget,
}

impl SetProfileArgs {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let name = match self.profile {
            Profile::Quality => "quality",
            Profile::Balanced => "balanced",
            Profile::Budget => "budget",
        };
        config::ensure_section(context)?;
        let previous = context.config()?.settings().model_profile;
        config::set(context, "model_profile", &json!(name))?;
        let settings = context.config()?;
        // An environment variable takes precedence over the file.
        let effective = settings.settings().model_profile;
        let model_row = |agent: &&'static str| ((*agent).to_owned(), model(&settings, agent));
        let all: Vec<_> = models::agents().iter().map(model_row).collect();
        if context.wants_json() {
            let models: Map<_, _> =
                all.into_iter().map(|(agent, model)| (agent, Value::from(model))).collect();
            let answer = json!({ "profile": effective, "previous": previous, "models": models });
            return Ok(Output::pretty_json(answer));
        }
        let mut text = format!("{} (was {previous})\n", styled(BOLD, &effective));
        if effective != name {
            let _ = writeln!(
                text,
                "The variable MOW_MODEL_PROFILE is `{effective}` and overrides the file."
            );
        }
        for (agent, model) in all {
            let _ = writeln!(text, "  {agent:<26} {model}");
        }
        text += &styled(DIM, "`inherit` means the model that the caller uses.\n");
        Ok(Output::Text(text))
    }
}

/// Returns the model of an agent: its override in the configuration, else the one of the profile.
pub(crate) fn model_of(config: &Config, agent: &str) -> Option<String> {
    let agent = agent.strip_prefix("gsd-").map_or(agent.to_owned(), |name| format!("mow-{name}"));
    let profile = config.settings().model_profile;
    let override_model = config.model_override(&agent);
    let model = override_model.or_else(|| models::model_of(&agent, &profile))?;
    Some(models::inherited_name(model).to_owned())
}

/// Returns the model of one of mow's own agents, with a fallback.
pub(crate) fn model(config: &Config, agent: &str) -> String {
    model_of(config, agent).unwrap_or_else(|| FALLBACK_MODEL.to_owned())
}
