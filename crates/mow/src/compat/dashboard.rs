//! `mow dashboard render`, `event`, `state` and `clear` draw the dashboard and change its events.
//!
//! `mow dashboard` without a subcommand belongs to the product.

use clap::Subcommand;
use mow_store::dashboard::{EVENTS_KEPT, Event};
use mow_store::disk::{WAIT_DEFAULT, WriteOutcome, Writer};
use mow_store::project::Project;
use serde_json::json;

use super::chat_log;
use super::format::WidthArgs;
use crate::commands::dashboard::{add_event, events_path, load_state, render, state_path};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;

/// The subcommands of `mow dashboard`.
#[derive(Debug, Subcommand)]
pub(crate) enum DashboardCommand {
    /// Draw the dashboard
    Render {
        #[command(flatten)]
        width: WidthArgs,
    },
    /// Add events, or drop old events
    #[command(subcommand)]
    Event(DashboardEventCommand),
    /// Print the pinned events and when the dashboard was last drawn
    State,
    /// Delete all events and pins
    Clear,
}

/// The subcommands of `mow dashboard event`.
#[derive(Debug, Subcommand)]
pub(crate) enum DashboardEventCommand {
    /// Add an event; questions and errors stay pinned until the next event of their phase
    Add {
        /// The event type, such as plan_complete or input_needed
        #[arg(long = "type", allow_hyphen_values = true)]
        kind: String,
        /// The phase of the event
        #[arg(long, allow_hyphen_values = true)]
        phase: Option<String>,
        /// A description; for input_needed the type of input
        #[arg(long, allow_hyphen_values = true, default_value = "")]
        detail: String,
    },
    /// Drop all events except the last ones
    Prune {
        /// The number of events to keep
        #[arg(long, allow_hyphen_values = true, default_value_t = EVENTS_KEPT)]
        keep: usize,
    },
}

impl DashboardCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let shared = context.main_project()?;
        match self {
            Self::Render { width } => render::run(context, &shared, width.columns()),
            Self::Event(DashboardEventCommand::Add { kind, phase, detail }) => {
                let phase = phase.clone().filter(|phase| !phase.is_empty());
                let (kind, detail) = (kind.clone(), detail.clone());
                add_event(&shared, &Event { kind, phase, detail, ts: now() })
            }
            Self::Event(DashboardEventCommand::Prune { keep }) => {
                chat_log::prune_lines(&shared, &events_path(&shared), *keep)
            }
            Self::State => Ok(Output::with_compact(load_state(&shared)?)),
            Self::Clear => clear(&shared),
        }
    }
}

fn clear(shared: &Project) -> Result<Output, Failure> {
    let files = [("events", events_path(shared)), ("state", state_path(shared))];
    let mut removed = Vec::new();
    // With nothing to remove nothing is locked, so that the call creates no file.
    if files.iter().any(|(_, path)| path.exists()) {
        let writer = Writer::open(shared, WAIT_DEFAULT)?;
        for (name, path) in &files {
            if writer.remove_file(path)? == WriteOutcome::Written {
                removed.push(*name);
            }
        }
    }
    Ok(Output::with_compact(json!({ "cleared": true, "removed": removed })))
}
