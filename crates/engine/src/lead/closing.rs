//! Closes a run: finishes its pending merges as a lead, starts nothing, and records the end.

use std::path::Path;

use mow_core::lead::{Caller, Hold, Input, Lead, RunStatus};
use mow_host::git::Git;
use mow_store::project::Project;
use mow_store::run_files::{self, RunDir};

use super::{LeadSession, PhaseSelection, RunObserver, RunOptions, load_run};
use crate::EngineError;
use crate::run_context::RunContext;

/// How a session closes its run once nothing more can be merged.
#[derive(Clone, Debug)]
pub(super) struct Closing {
    by: Caller,
    /// Whether to close the run even if some work is not in the branch.
    force: bool,
    /// Whether the run was done before: then its planning files are written already.
    pub(super) was_done: bool,
}

impl Closing {
    /// Returns the input that closes the run; `None` while work is missing in the branch.
    pub(super) fn input(&self, ctx: &RunContext, lead: &Lead) -> Option<Input> {
        let is_complete = || lead.is_over() && is_in_branch(ctx, lead);
        (self.force || is_complete()).then(|| Input::Close { by: self.by.clone() })
    }
}

/// Returns whether the user's branch has all that the run has merged.
fn is_in_branch(ctx: &RunContext, lead: &Lead) -> bool {
    let branch = format!("refs/heads/{}", lead.target.branch);
    lead.target.refusal.is_none()
        || Git::new(ctx.top()).is_ancestor(&lead.target.tip, &branch).unwrap_or(false)
}

/// Closes the newest run of a project: merges what is complete, withdraws its questions and records
/// that it is closed. Does nothing if there is no run or if it is closed.
///
/// Without `force` the run stays open if work is missing in the branch afterwards.
pub fn close_run(
    project: &Project,
    exe: &Path,
    (by, force): (&Caller, bool),
    observer: &mut dyn RunObserver,
) -> Result<(), EngineError> {
    let Some((_, lead)) = open_run(project)? else { return Ok(()) };
    let was_done = lead.status() == RunStatus::Done;
    let options = RunOptions {
        project,
        exe,
        selection: PhaseSelection::default(),
        target: None,
        max_workers: None,
        force: false,
    };
    let mut session = LeadSession::open_chosen(options, open_run)?;
    if session.lead.run.is_empty() {
        return Ok(());
    }
    for input in &mut session.begin {
        if let Input::LeadStarted { settings } = input {
            // Complete phases do not wait for their wave any more.
            settings.merge_at_once = true;
            // The person named none, and means all of them.
            settings.left_out.clear();
        }
    }
    session.begin.push(Input::Hold(Hold::Draining));
    session.closing = Some(Closing { by: by.clone(), force, was_done });
    session.run(observer, false)?;
    Ok(())
}

/// Loads the newest run of a project if nobody has closed it.
fn open_run(project: &Project) -> Result<Option<(String, Lead)>, EngineError> {
    let project = project.in_main_worktree()?;
    let Some(run) = run_files::latest_run(&project)? else { return Ok(None) };
    let (lead, records) = load_run(&RunDir::new(&project.engine_dir, &run)?)?;
    Ok((!records.is_empty() && !lead.closed).then_some((run, lead)))
}
