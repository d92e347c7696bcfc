//! `mow close-shop`: closes a run. Finishes pending merges, saves deferred ideas as todos, releases
//! claims, writes the end of the session to STATE.md and commits the planning files.
//!
//! Running it again changes nothing. Worktrees stay; `mow worktree prune` removes them.

mod ideas;
mod session_end;

use std::fmt::Write;

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use mow_core::view::{FastForwardRefusal, PhaseView, RunView};
use mow_engine::EngineError;
use mow_engine::client::{AgentPolicy, Client, CloseRequest};
use mow_engine::lead::acquire_lead_lock;
use mow_engine::run_context::RunContext;
use mow_store::claims::{self, Claims};
use mow_store::disk::{self, Lock, WAIT_DEFAULT, Writer};
use mow_store::state::{assignments, team};
use serde_json::{Value, json};

use super::plural::counted;
use super::run::{confirm, current_program};
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Output, notice};
use crate::runs::{Run, resume_command};
use crate::terminal::{BOLD, CYAN, GREEN, YELLOW, fit_line, styled};
use crate::{planning_commit, worktrees};

/// The arguments of `close-shop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
    /// Close the run even if some phases are not merged
    #[arg(long)]
    force: bool,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    // Files that all worktrees share are in the main worktree.
    let context = &Context { project: context.main_project()?, ..*context };
    Client::of_project(&context.project).check_caller(AgentPolicy::Refuse, &caller())?;
    let run = Run::load(context, None)?;
    drop(lock_out_lead(&run)?);
    let before = run.full_view()?;
    check_can_close(&before, args.force)?;
    if !args.yes && !confirm(&question(&before, ideas::collect_new(&run, &before)?.len()))? {
        return Err(Failure::refused("nothing was closed").hint("mow close-shop --yes"));
    }
    let run = close_run(context, &run, args.force)?;
    let _lock = lock_out_lead(&run)?;
    let view = run.full_view()?;
    let result = close_files(context, &run, (&before, &view))?;
    Ok(if context.wants_json() {
        Output::pretty_json(result)
    } else {
        Output::Text(render(&result))
    })
}

/// Returns the question that a person confirms.
fn question(run: &RunView, ideas: usize) -> String {
    let pending = run.phases.iter().filter(|phase| is_pending_merge(phase)).count();
    let merges = if pending == 0 {
        String::new()
    } else {
        format!(", merge {}", counted(pending, "complete phase"))
    };
    let ideas = counted(ideas, "deferred idea");
    format!("Close run {} ({}){merges} and save {ideas} as todos?", run.run, run.progress())
}

/// Acquires the lead lock, so that no lead can start meanwhile.
fn lock_out_lead(run: &Run) -> Result<Lock, Failure> {
    match acquire_lead_lock(&run.project) {
        Err(EngineError::LeadRunning { .. }) => {
            let message = format!("run {} is still running", run.dir.run());
            Err(Failure::refused(message).hint("`mow ps` shows what it does; `mow cancel` ends it"))
        }
        lock => Ok(lock?),
    }
}

/// Returns whether the work of a phase is done and waits for its merge.
///
/// A worker may have completed its phase after its lead died; the last report is read later.
fn is_pending_merge(phase: &PhaseView) -> bool {
    phase.status.holds_slot() || matches!(phase.status, Status::Complete | Status::Merging)
}

/// Refuses if a worker is alive, or without `force` if a phase cannot be merged now.
fn check_can_close(run: &RunView, force: bool) -> Result<(), Failure> {
    let is_alive = |phase: &&PhaseView| phase.worker.is_some_and(|worker| worker.is_alive);
    if let Some(phase) = run.phases.iter().find(is_alive) {
        let message = format!("the worker of phase {} is still running", phase.number);
        return Err(Failure::refused(message)
            .hint(format!("continue the run with `{}`", resume_command(run))));
    }
    // A queued command may cancel the phases that are not merged.
    let is_open = |phase: &PhaseView| !phase.status.is_over() && !is_pending_merge(phase);
    if force || run.is_closed || run.queued_commands > 0 || !run.phases.iter().any(is_open) {
        return Ok(());
    }
    Err(not_merged(run))
}

/// The refusal to close a run with phases that are not merged.
fn not_merged(run: &RunView) -> Failure {
    let open = run.phases.iter().filter(|phase| !phase.status.is_over());
    let names: Vec<_> = open.map(|phase| format!("{} ({})", phase.number, phase.word())).collect();
    let message = format!("not merged: {}", names.join(", "));
    let hint =
        format!("continue with `{}`, or close without them with `--force`", resume_command(run));
    Failure::refused(message).hint(hint)
}

/// Finishes the pending merges of a run and closes it in its journal; returns the closed run.
fn close_run(context: &Context, run: &Run, force: bool) -> Result<Run, Failure> {
    let exe = current_program()?;
    let receipt = run.client().submit(CloseRequest { exe: &exe, force }, &caller())?;
    receipt.notices.iter().for_each(|text| notice(text));
    failpoint::reach("shop.run.closed");
    let run = Run::load(context, Some(run.dir.run()))?;
    let view = run.full_view()?;
    if view.is_closed {
        return Ok(run);
    }
    if !view.phases.iter().all(|phase| phase.status.is_over()) {
        return Err(not_merged(&view));
    }
    let FastForwardRefusal { reason, command } = view.refusal.clone().unwrap_or_else(|| {
        let (reason, command) = ("the branch was not fast-forwarded", "mow run --all");
        FastForwardRefusal { reason: reason.to_owned(), command: command.to_owned() }
    });
    let message = format!("the work of run {} is not in `{}` yet: {reason}", view.run, view.target);
    Err(Failure::refused(message).hint(command))
}

/// Brings all files of a closed run to their end; returns what was done.
fn close_files(
    context: &Context,
    run: &Run,
    (before, view): (&RunView, &RunView),
) -> Result<Value, Failure> {
    let ideas = ideas::collect_new(run, view)?;
    let todos = ideas::save_as_todos(context, &ideas)?;
    failpoint::reach("shop.ideas.kept");
    let released = release_claims(context, run)?;
    failpoint::reach("shop.claims.released");
    let stopped = stop_team(context, view)?;
    session_end::write_session(context, view)?;
    failpoint::reach("shop.team.stopped");
    let chat_logs = session_end::prune_chat_logs(context)?;
    failpoint::reach("shop.chat.removed");
    let message = format!("docs: close run {}", run.dir.run());
    let committed = parse_output(planning_commit::commit_planning_files(context, &message)?);
    failpoint::reach("shop.committed");
    let worktrees = parse_output(list_worktrees(context)?);
    let open: Vec<_> = view.phases.iter().filter(|phase| !phase.status.is_over()).collect();
    Ok(json!({
        "run": run.dir.run(),
        "merged": merged_now(before, view),
        "open": open.iter().map(|phase| phase.number.to_string()).collect::<Vec<_>>(),
        "kept": kept_work(run, &open)?,
        "todos": todos,
        "claims_released": released,
        "team_stopped": stopped,
        "chat_logs_removed": chat_logs,
        "commit": committed,
        "worktrees": worktrees["worktrees"],
    }))
}

/// Returns the phases that were merged while the run was closed.
fn merged_now(before: &RunView, after: &RunView) -> Vec<String> {
    let was_merged = |number: PhaseNumber| {
        before.phase(number).is_some_and(|phase| phase.status == Status::Merged)
    };
    let merged = after.phases.iter().filter(|phase| phase.status == Status::Merged);
    let new = merged.filter(|phase| !was_merged(phase.number));
    new.map(|phase| phase.number.to_string()).collect()
}

/// Returns the branches and worktrees of phases that are not merged; they stay.
fn kept_work(run: &Run, open: &[&PhaseView]) -> Result<Vec<Value>, Failure> {
    let ctx = RunContext::new(&run.project, run.dir.run(), std::path::Path::new(""))?;
    let mut kept = Vec::new();
    for phase in open {
        let place = ctx.worktree(&phase.number)?;
        if place.path.exists() {
            kept.push(json!({
                "phase": phase.number.to_string(),
                "branch": place.branch,
                "worktree": place.path.display().to_string(),
            }));
        }
    }
    Ok(kept)
}

/// Releases the claims that the run still holds; returns their phases.
fn release_claims(context: &Context, run: &Run) -> Result<Vec<String>, Failure> {
    let (mut phases, path) = (Vec::new(), claims::path(&context.project));
    let key = claims::project_key(&context.project);
    if disk::read(&path)?.is_some() {
        let writer = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
        writer.update(&path, |old| {
            phases.clear();
            let mut claims = Claims::parse(old.unwrap_or_default())?;
            claims.claims.retain(|claim| {
                let is_ours = claim.project == key && claim.run.as_deref() == Some(run.dir.run());
                if is_ours {
                    phases.push(claim.assignment.phase.clone());
                }
                !is_ours
            });
            Ok::<_, Failure>((!phases.is_empty()).then(|| claims.render()))
        })?;
    }
    Ok(phases)
}

/// Removes the team and the rows of the run's worktrees from STATE.md; returns whether there was a
/// team.
fn stop_team(context: &Context, run: &RunView) -> Result<bool, Failure> {
    let mut stopped = false;
    let home = worktrees::home(context)?;
    let is_ours = |row: &assignments::Assignment| {
        run.phases.iter().any(|phase| row.is_for(&phase.number.to_string()))
            && std::path::Path::new(&row.worktree).starts_with(home.path())
    };
    disk::update(&context.project, &context.planning("STATE.md"), |old| {
        let Some(old) = old else { return Ok(None) };
        stopped = team::parse(old).is_some();
        let bytes = team::stop(old);
        Ok::<_, Failure>(Some(assignments::remove(&bytes, is_ours).unwrap_or(bytes)))
    })?;
    Ok(stopped)
}

/// Lists the worktrees and whether `mow worktree prune` would remove them.
fn list_worktrees(context: &Context) -> Result<Output, Failure> {
    let as_json = Context { json: true, raw: false, project: context.project.clone() };
    worktrees::prune::run(&as_json, false)
}

/// Parses the JSON output of another command.
fn parse_output(output: Output) -> Value {
    let (Output::Json { text, .. } | Output::Text(text)) = output else { return Value::Null };
    serde_json::from_str(&text).unwrap_or_default()
}

/// Returns the output for people.
fn render(result: &Value) -> String {
    let list = |key: &str| result[key].as_array().cloned().unwrap_or_default();
    let text_of = |value: &Value| fit_line(value.as_str().unwrap_or_default(), usize::MAX);
    let title = format!("Run {} is closed.", text_of(&result["run"]));
    let mut text = format!("{}\n", styled(BOLD, &styled(GREEN, &title)));
    let open: Vec<_> = list("open").iter().map(text_of).collect();
    let merged: Vec<_> = list("merged").iter().map(text_of).collect();
    if !merged.is_empty() {
        let _ = writeln!(text, "Merged: {}.", merged.join(", "));
    }
    if !open.is_empty() {
        let line = format!("Not merged: {}.", open.join(", "));
        let _ = writeln!(text, "{}", styled(YELLOW, &line));
    }
    for kept in list("kept") {
        let [phase, branch, worktree] =
            ["phase", "branch", "worktree"].map(|key| text_of(&kept[key]));
        let _ = writeln!(text, "Phase {phase} is kept: branch {branch}, worktree {worktree}");
    }
    for todo in list("todos") {
        let _ = writeln!(
            text,
            "Saved as todo: {} ({})",
            text_of(&todo["title"]),
            text_of(&todo["file"])
        );
    }
    let committed = match result["commit"]["hash"].as_str() {
        Some(hash) => format!("Committed the planning files: {hash}."),
        None => match result["commit"]["error"].as_str() {
            Some(error) => format!("Planning files were not committed: {error}"),
            None => "The planning files have no changes to commit.".to_owned(),
        },
    };
    let _ = writeln!(text, "{committed}");
    let trees = list("worktrees");
    for tree in &trees {
        let state =
            tree["kept"].as_str().map_or("merged".to_owned(), |reason| format!("kept: {reason}"));
        let _ = writeln!(text, "  {}  {state}", text_of(&tree["path"]));
    }
    if trees.iter().any(|tree| tree["kept"].is_null()) {
        let command = styled(CYAN, "mow worktree prune --yes");
        let _ = writeln!(text, "{command}  removes the merged worktrees");
    }
    text
}
