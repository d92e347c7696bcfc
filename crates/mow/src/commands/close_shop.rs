//! `mow close-shop`: closes a run. Saves deferred ideas as todos, releases claims, removes the team
//! from STATE.md and commits the planning files.
//!
//! Running it again changes nothing. Worktrees stay; `mow worktree prune` removes them.

mod ideas;

use std::fmt::Write;

use mow_core::view::{FastForwardRefusal, PhaseView, RunView};
use mow_engine::EngineError;
use mow_engine::client::{AgentPolicy, Client};
use mow_engine::lead::acquire_lead_lock;
use mow_store::claims::{self, Claims};
use mow_store::disk::{self, Lock, WAIT_DEFAULT, Writer};
use mow_store::state::{assignments, team};
use serde_json::{Value, json};

use super::plural::counted;
use super::run::confirm;
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
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
    let _lock = lock_out_lead(&run)?;
    let view = run.full_view()?;
    let open: Vec<_> = view.phases.iter().filter(|phase| !phase.status.is_over()).collect();
    check_closable(&view, &open, args.force)?;
    let ideas = ideas::collect_new(&run, &view)?;
    if !args.yes {
        let question = format!(
            "Close run {} ({}) and save {} as todos?",
            run.dir.run(),
            view.progress(),
            counted(ideas.len(), "deferred idea")
        );
        if !confirm(&question)? {
            return Err(Failure::refused("nothing was closed").hint("mow close-shop --yes"));
        }
    }
    let todos = ideas::save_as_todos(context, &ideas)?;
    failpoint::reach("shop.ideas.kept");
    let released = release_claims(context, &run)?;
    failpoint::reach("shop.claims.released");
    let stopped = stop_team(context, &view)?;
    failpoint::reach("shop.team.stopped");
    let message = format!("docs: close run {}", run.dir.run());
    let committed = parse_output(planning_commit::commit_planning_files(context, &message)?);
    failpoint::reach("shop.committed");
    let worktrees = parse_output(list_worktrees(context)?);
    let result = json!({
        "run": run.dir.run(),
        "open": open.iter().map(|phase| phase.number.to_string()).collect::<Vec<_>>(),
        "todos": todos,
        "claims_released": released,
        "team_stopped": stopped,
        "commit": committed,
        "worktrees": worktrees["worktrees"],
    });
    Ok(if context.wants_json() {
        Output::pretty_json(result)
    } else {
        Output::Text(render(&result))
    })
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

/// Refuses if a worker is alive, or without `force` if work is not merged or not in the branch.
fn check_closable(run: &RunView, open: &[&PhaseView], force: bool) -> Result<(), Failure> {
    let is_alive = |phase: &&PhaseView| phase.worker.is_some_and(|worker| worker.is_alive);
    if let Some(phase) = run.phases.iter().find(is_alive) {
        let message = format!("the worker of phase {} is still running", phase.number);
        return Err(Failure::refused(message)
            .hint(format!("continue the run with `{}`", resume_command(run))));
    }
    if force {
        return Ok(());
    }
    if !open.is_empty() {
        let names: Vec<_> =
            open.iter().map(|phase| format!("{} ({})", phase.number, phase.word())).collect();
        let message = format!("not merged: {}", names.join(", "));
        let hint = format!(
            "continue with `{}`, or close without them with `--force`",
            resume_command(run)
        );
        return Err(Failure::refused(message).hint(hint));
    }
    if let Some(FastForwardRefusal { reason, command }) = &run.refusal {
        let (run, target) = (&run.run, &run.target);
        let message = format!("the work of run {run} is not in `{target}` yet: {reason}");
        return Err(Failure::refused(message).hint(command.clone()));
    }
    Ok(())
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
    if !open.is_empty() {
        let line = format!("Not merged: {}.", open.join(", "));
        let _ = writeln!(text, "{}", styled(YELLOW, &line));
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
