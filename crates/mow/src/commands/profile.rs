//! `mow set-profile`: which models the roles get, as a whole.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use mow_core::models;
use serde_json::{Map, Value, json};

use super::{config, utility};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, DIM, painted};

/// The arguments of `set-profile`.
#[derive(Debug, Args)]
pub(crate) struct SetProfile {
    /// The profile
    profile: Profile,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Profile {
    /// The largest models where it matters
    Quality,
    /// Large models for planning, smaller ones for the rest
    Balanced,
    /// The smallest models that will do
    Budget,
}

impl SetProfile {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let name = match self.profile {
            Profile::Quality => "quality",
            Profile::Balanced => "balanced",
            Profile::Budget => "budget",
        };
        config::ensure_section(context)?;
        let before = context.config()?.settings().model_profile;
        config::set(context, "model_profile", &json!(name))?;
        let settings = context.config()?;
        // A variable of the environment goes before the file.
        let counts = settings.settings().model_profile;
        let model = |agent: &&'static str| ((*agent).to_owned(), utility::model(&settings, agent));
        let all: Vec<_> = models::agents().iter().map(model).collect();
        if context.wants_json() {
            let models: Map<_, _> =
                all.into_iter().map(|(agent, model)| (agent, Value::from(model))).collect();
            let answer = json!({ "profile": counts, "previous": before, "models": models });
            return Ok(Output::json_lines(answer));
        }
        let mut text = format!("{} (was {before})\n", painted(BOLD, &counts));
        if counts != name {
            let _ = writeln!(text, "MOW_MODEL_PROFILE says {counts}, and goes before the file");
        }
        for (agent, model) in all {
            let _ = writeln!(text, "  {agent:<26} {model}");
        }
        text += &painted(DIM, "inherit is the model that the caller runs with\n");
        Ok(Output::Text(text))
    }
}
