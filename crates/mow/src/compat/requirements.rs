//! `mow requirements mark-complete` ticks requirements in REQUIREMENTS.md.

use clap::Subcommand;
use mow_store::disk;
use mow_store::requirements::{self, MarkOutcome};
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow requirements`.
#[derive(Debug, Subcommand)]
pub(crate) enum RequirementsCommand {
    /// Tick requirements and mark their table rows complete
    MarkComplete {
        /// The requirement ids, separated by commas or spaces
        #[arg(required = true, allow_hyphen_values = true)]
        ids: Vec<String>,
    },
}

const FILE: &str = "REQUIREMENTS.md";

impl RequirementsCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let Self::MarkComplete { ids } = self;
        mark_complete(context, &ids.join(" "))
    }
}

fn mark_complete(context: &Context, typed: &str) -> Result<Output, Failure> {
    let split = typed.split(|c: char| c.is_whitespace() || ",[]".contains(c));
    let ids: Vec<&str> = split.filter(|id| !id.is_empty()).collect();
    if ids.is_empty() {
        return Err(Failure::refused("requirement ids required")
            .hint("mow requirements mark-complete AUTH-01,AUTH-02"));
    }
    if context.load(FILE)?.is_none() {
        let reason = "REQUIREMENTS.md not found";
        let value = json!({ "updated": false, "reason": reason, "ids": ids });
        return Ok(Output::with_raw(value, "no requirements file"));
    }
    let mut marked = MarkOutcome::default();
    disk::update(&context.project, &context.planning(FILE), |old| {
        let (bytes, outcome) = requirements::mark_complete(old.unwrap_or_default(), &ids);
        marked = outcome;
        Ok::<_, Failure>(Some(bytes))
    })?;
    let raw = format!("{}/{} requirements marked complete", marked.marked.len(), ids.len());
    let value = json!({
        "updated": !marked.marked.is_empty(),
        "marked_complete": marked.marked,
        "not_found": marked.not_found,
        "total": ids.len(),
        "already_complete": marked.already_complete,
    });
    Ok(Output::with_raw(value, raw))
}
