//! `mow dashboard …`: running phases, what happened lately, what waits for a person.
//!
//! Events and pins lie in the main worktree, whoever writes them from wherever.

mod render;

use std::path::PathBuf;

use clap::Subcommand;
use mow_store::dashboard::{EVENTS_KEPT, EVENTS_MAX, Event, State};
use mow_store::disk::{self, Append, Change, Keep, WAIT_DEFAULT, Writer};
use mow_store::project::Project;
use serde_json::json;

use super::chat_log;
use super::format::Width;
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Run;
use crate::terminal::{fit, width};

/// Commands on the dashboard.
#[derive(Debug, Subcommand)]
pub(crate) enum Dashboard {
    /// Draw it
    Render {
        #[command(flatten)]
        width: Width,
    },
    /// Add events, or drop old ones
    #[command(subcommand)]
    Event(EventCommand),
    /// Print what waits for a person, and when it was last drawn
    State,
    /// Forget all events and all that waits
    Clear,
}

/// Commands on the events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventCommand {
    /// Add an event; questions and errors are pinned until their phase goes on
    Add {
        /// The type, such as plan_complete or input_needed
        #[arg(long = "type", allow_hyphen_values = true)]
        kind: String,
        /// The phase it happened in
        #[arg(long, allow_hyphen_values = true)]
        phase: Option<String>,
        /// What happened; for input_needed the sort of input
        #[arg(long, allow_hyphen_values = true, default_value = "")]
        detail: String,
    },
    /// Drop all events but the last ones
    Prune {
        /// How many events to keep
        #[arg(long, allow_hyphen_values = true, default_value_t = EVENTS_KEPT)]
        keep: usize,
    },
}

impl Dashboard {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        let shared = context.shared()?;
        match self {
            Self::Render { width } => render::run(context, &shared, width.columns()),
            Self::Event(EventCommand::Add { kind, phase, detail }) => {
                let phase = phase.clone().filter(|phase| !phase.is_empty());
                let (kind, detail) = (kind.clone(), detail.clone());
                add(&shared, &Event { kind, phase, detail, ts: now() })
            }
            Self::Event(EventCommand::Prune { keep }) => {
                chat_log::prune(&shared, &events_path(&shared), *keep)
            }
            Self::State => Ok(Output::with_compact(load_state(&shared)?)),
            Self::Clear => clear(&shared),
        }
    }
}

/// `mow dashboard` without a subcommand: draws it for whoever looks, or says why there is none.
pub(super) fn show(context: &Context) -> Result<Output, Failure> {
    if !context.project.planned {
        return Err(Failure::refused("there is no .planning/ here").hint("mow init"));
    }
    let drawn = render::run(context, &context.shared()?, crate::terminal::columns(None))?;
    let Some(run) = Run::unfinished(context)?.filter(|_| !context.wants_json()) else {
        return Ok(drawn);
    };
    let Output::Drawn(text) = drawn else { return Ok(drawn) };
    Ok(Output::Drawn(text + &run_lines(&run)))
}

/// Says below the drawing how the run stands that is live or unfinished.
fn run_lines(run: &Run) -> String {
    let brief = run.brief();
    let led = match brief.lead {
        Some(pid) => format!("led by process {pid}"),
        None => format!("no lead is running, {} goes on", brief.go_on),
    };
    let mut text = format!("Run {}: {}; {led}\n", brief.run, brief.standing);
    for item in run.lead.open_items() {
        let question = fit(&item.ask.question, width().saturating_sub(30));
        text += &format!("? {question}  mow answer {} ...\n", item.id);
    }
    text
}

fn events_path(shared: &Project) -> PathBuf {
    shared.planning.join("dashboard-events.ndjson")
}

fn state_path(shared: &Project) -> PathBuf {
    shared.planning.join("dashboard-state.json")
}

fn load_state(shared: &Project) -> Result<State, Failure> {
    Ok(State::parse(&disk::read(&state_path(shared))?.unwrap_or_default()))
}

pub(super) fn add(shared: &Project, event: &Event) -> Result<Output, Failure> {
    if event.kind.trim().is_empty() {
        return Err(Failure::refused("--type is empty").hint("mow message format --help"));
    }
    let writer = Writer::open(shared, WAIT_DEFAULT)?;
    writer.create_dir(&shared.planning)?;
    let keep = Some(Keep { lines_max: EVENTS_MAX, lines_kept: EVENTS_KEPT });
    let line = event.line();
    // Events are there to look at: losing one in a power failure harms nothing.
    let options = Append { durable: false, keep };
    writer.append_line(&events_path(shared), line.trim_end().as_bytes(), options)?;
    writer.update(&state_path(shared), |old| {
        let mut state = State::parse(old.unwrap_or_default());
        Ok::<_, Failure>(state.note(event).then(|| state.render().into_bytes()))
    })?;
    Ok(Output::with_compact(event))
}

fn clear(shared: &Project) -> Result<Output, Failure> {
    let files = [("events", events_path(shared)), ("state", state_path(shared))];
    let mut removed = Vec::new();
    // Nothing is locked, and so nothing created, when there is nothing to remove.
    if files.iter().any(|(_, path)| path.exists()) {
        let writer = Writer::open(shared, WAIT_DEFAULT)?;
        for (name, path) in &files {
            if writer.remove_file(path)? == Change::Written {
                removed.push(*name);
            }
        }
    }
    Ok(Output::with_compact(json!({ "cleared": true, "removed": removed })))
}
