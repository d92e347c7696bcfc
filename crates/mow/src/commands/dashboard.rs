//! `mow dashboard`: shows running phases, recent events, and notices that wait for a person.
//!
//! Events and pinned notices are stored in the main worktree, also when a command in another
//! worktree adds them. The subcommands are in [`crate::compat::dashboard`].

pub(crate) mod render;

use std::path::PathBuf;

use mow_store::dashboard::{DashboardState, EVENTS_KEPT, EVENTS_MAX, Event};
use mow_store::disk::{self, AppendOptions, LineLimit, WAIT_DEFAULT, Writer};
use mow_store::project::Project;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Run;
use crate::terminal::{fit_line, width};

/// Runs `mow dashboard` without a subcommand: draws the dashboard and the state of the run.
pub(crate) fn show(context: &Context) -> Result<Output, Failure> {
    if !context.project.planned {
        return Err(Failure::refused("there is no .planning/ here").hint("mow init"));
    }
    let drawn =
        render::run(context, &context.main_project()?, crate::terminal::drawing_width(None))?;
    let Some(run) = Run::unfinished(context)?.filter(|_| !context.wants_json()) else {
        return Ok(drawn);
    };
    let Output::Verbatim(text) = drawn else { return Ok(drawn) };
    Ok(Output::Verbatim(text + &run_lines(&run)))
}

/// Returns the lines about an unfinished run, which are shown below the dashboard.
fn run_lines(run: &Run) -> String {
    let overview = run.overview();
    let lead = match overview.lead {
        Some(pid) => format!("running (process {pid})"),
        None => format!("not running, continue with `{}`", overview.resume_command),
    };
    let mut text = format!("Run {}: {}; {lead}\n", overview.run, overview.progress);
    for item in run.lead.inbox.open() {
        let question = fit_line(&item.ask.question, width().saturating_sub(30));
        text += &format!("? {question}  mow answer {} ...\n", item.id);
    }
    text
}

/// Returns the path of the event log.
pub(crate) fn events_path(shared: &Project) -> PathBuf {
    shared.planning.join("dashboard-events.ndjson")
}

/// Returns the path of the file with the pinned notices.
pub(crate) fn state_path(shared: &Project) -> PathBuf {
    shared.planning.join("dashboard-state.json")
}

pub(crate) fn load_state(shared: &Project) -> Result<DashboardState, Failure> {
    Ok(DashboardState::parse(&disk::read(&state_path(shared))?.unwrap_or_default()))
}

/// Appends an event and pins or unpins the notice of its phase.
pub(crate) fn add_event(shared: &Project, event: &Event) -> Result<Output, Failure> {
    if event.kind.trim().is_empty() {
        return Err(Failure::refused("--type is empty").hint("mow message format --help"));
    }
    let writer = Writer::open(shared, WAIT_DEFAULT)?;
    writer.create_dir(&shared.planning)?;
    let keep = Some(LineLimit { lines_max: EVENTS_MAX, lines_kept: EVENTS_KEPT });
    let line = event.line();
    // Events are only displayed, so losing one in a power failure does no harm.
    let options = AppendOptions { durable: false, line_limit: keep };
    writer.append_line(&events_path(shared), line.trim_end().as_bytes(), options)?;
    writer.update(&state_path(shared), |old| {
        let mut state = DashboardState::parse(old.unwrap_or_default());
        Ok::<_, Failure>(state.record_event(event).then(|| state.render().into_bytes()))
    })?;
    Ok(Output::with_compact(event))
}
