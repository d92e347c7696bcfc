//! `mow dashboard`: shows running phases, recent events, and notices that wait for a person.
//!
//! Events and pinned notices are stored in the main worktree, also when a command in another
//! worktree adds them. The subcommands are in [`crate::compat::dashboard`].

pub(crate) mod render;

use std::path::PathBuf;

use mow_core::view::RunView;
use mow_store::dashboard::{DashboardState, EVENTS_KEPT, EVENTS_MAX, Event};
use mow_store::disk::{self, AppendOptions, LineLimit, WAIT_DEFAULT, Writer};
use mow_store::project::Project;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, resume_command};
use crate::terminal::{fit_line, width};
use crate::wire::dashboard::DashboardJson;
use crate::wire::ps::RunSummaryJson;

/// Runs `mow dashboard` without a subcommand: draws the dashboard and the state of the run.
pub(crate) fn show(context: &Context) -> Result<Output, Failure> {
    if !context.project.planned {
        return Err(Failure::refused("there is no .planning/ here").hint("mow init"));
    }
    let (shared, width) = (context.main_project()?, crate::terminal::drawing_width(None));
    let run = Run::unfinished(context)?.map(|run| run.view());
    if context.wants_json() {
        let run = run.as_ref().map(RunSummaryJson::of);
        let counts = render::counts(context, &shared, width)?;
        return Ok(Output::pretty_json(DashboardJson::new(counts, run)));
    }
    let drawn = render::run(context, &shared, width)?;
    match (drawn, run) {
        (Output::Verbatim(text), Some(run)) => Ok(Output::Verbatim(text + &run_lines(&run))),
        (drawn, _) => Ok(drawn),
    }
}

/// Returns the lines about an unfinished run, which are shown below the dashboard.
fn run_lines(run: &RunView) -> String {
    let advice = match run.lead {
        Some(_) => String::new(),
        None => format!(", continue with `{}`", resume_command(run)),
    };
    let (name, progress, lead) = (&run.run, run.progress(), run.lead_text());
    let mut text = format!("Run {name}: {progress}; {lead}{advice}\n");
    for question in &run.questions {
        let line = fit_line(&question.question, width().saturating_sub(30));
        text += &format!("? {line}  mow answer {} ...\n", question.id);
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
