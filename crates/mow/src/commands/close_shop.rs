//! `mow close-shop`: ends the work of a run for good: ideas for later are kept as todos, claims are
//! released, the team is stopped, and the planning files are committed.
//!
//! Doing it again changes nothing. Worktrees stay; `mow worktree prune` removes them.

mod ideas;

use std::fmt::Write;

use mow_core::lead::Track;
use mow_engine::EngineError;
use mow_engine::lead::take_lead;
use mow_store::claims::{self, Claims};
use mow_store::disk::{self, Lock, WAIT_DEFAULT, Writer};
use mow_store::state::{assignments, team};
use serde_json::{Value, json};

use super::run::confirm;
use super::steer::must_be_person;
use super::worktree::Worktree;
use super::{commit, worktree};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::Run;
use crate::terminal::{BOLD, CYAN, GREEN, YELLOW, fit, painted};

/// The arguments of `close-shop`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Also when phases are not merged
    #[arg(long)]
    force: bool,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    must_be_person()?;
    // What all worktrees share is written where the main one has it.
    let context = &Context { project: context.shared()?, ..*context };
    let run = Run::load(context, None)?;
    let _lock = alone(&run)?;
    let open: Vec<_> = run.lead.phases.values().filter(|track| !track.status.is_over()).collect();
    check(&run, &open, args.force)?;
    let ideas = ideas::new(&run)?;
    if !args.yes {
        let question = format!(
            "Close run {} ({}), and keep {} ideas for later as todos?",
            run.dir.run(),
            run.standing(),
            ideas.len()
        );
        if !confirm(&question)? {
            return Err(Failure::refused("nothing was closed").hint("mow close-shop --yes"));
        }
    }
    let todos = ideas::keep(context, &ideas)?;
    failpoint::reach("shop.ideas.kept");
    let released = release_claims(context, &run)?;
    failpoint::reach("shop.claims.released");
    let stopped = stop_team(context, &run)?;
    failpoint::reach("shop.team.stopped");
    let message = format!("docs: close run {}", run.dir.run());
    let committed = parsed(commit::planning(context, &message)?);
    failpoint::reach("shop.committed");
    let worktrees = parsed(prunable(context)?);
    let done = json!({
        "run": run.dir.run(),
        "open": open.iter().map(|track| track.spec.number.to_string()).collect::<Vec<_>>(),
        "todos": todos,
        "claims_released": released,
        "team_stopped": stopped,
        "commit": committed,
        "worktrees": worktrees["worktrees"],
    });
    Ok(if context.wants_json() { Output::json_lines(done) } else { Output::Text(text(&done)) })
}

/// Takes the place of the lead, so that none begins meanwhile.
fn alone(run: &Run) -> Result<Lock, Failure> {
    match take_lead(&run.project) {
        Err(EngineError::Led { .. }) => {
            let message = format!("run {} is live: its lead is at work", run.dir.run());
            Err(Failure::refused(message).hint("mow ps shows what it does; mow cancel ends it"))
        }
        lock => Ok(lock?),
    }
}

/// Refuses what would leave work behind.
fn check(run: &Run, open: &[&Track], force: bool) -> Result<(), Failure> {
    let alive = run.lead.phases.values().find(|t| t.attempt > 0 && run.worker_is_alive(t));
    if let Some(track) = alive {
        let message = format!("the worker of phase {} is at work", track.spec.number);
        return Err(Failure::refused(message).hint(format!("{} takes it up", run.go_on())));
    }
    if force {
        return Ok(());
    }
    if !open.is_empty() {
        let named: Vec<_> = open
            .iter()
            .map(|track| format!("{} ({})", track.spec.number, track.status.name()))
            .collect();
        let message = format!("not merged: {}", named.join(", "));
        let hint = format!("{} goes on; --force closes without them", run.go_on());
        return Err(Failure::refused(message).hint(hint));
    }
    if let Some((reason, command)) = &run.lead.follow_refused {
        let message = format!("{} did not follow the run: {reason}", run.lead.target);
        return Err(Failure::refused(message).hint(command.clone()));
    }
    Ok(())
}

/// Gives up the claims that the run still holds; returns their phases.
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

/// Takes the team and the rows of the run's worktrees out of STATE.md.
fn stop_team(context: &Context, run: &Run) -> Result<bool, Failure> {
    let mut stopped = false;
    let home = worktree::home(context)?;
    let is_ours = |row: &assignments::Assignment| {
        run.lead.phases.keys().any(|phase| row.is_for(&phase.to_string()))
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

/// Asks which worktrees could go.
fn prunable(context: &Context) -> Result<Output, Failure> {
    let as_json = Context { json: true, raw: false, project: context.project.clone() };
    Worktree::Prune { yes: false }.run(&as_json)
}

/// Reads the answer of another command.
fn parsed(output: Output) -> Value {
    let (Output::Json { text, .. } | Output::Text(text)) = output else { return Value::Null };
    serde_json::from_str(&text).unwrap_or_default()
}

fn text(done: &Value) -> String {
    let list = |key: &str| done[key].as_array().cloned().unwrap_or_default();
    let word = |value: &Value| fit(value.as_str().unwrap_or_default(), usize::MAX);
    let title = format!("Run {} is closed.", word(&done["run"]));
    let mut text = format!("{}\n", painted(BOLD, &painted(GREEN, &title)));
    let open: Vec<_> = list("open").iter().map(word).collect();
    if !open.is_empty() {
        let line = format!("Not merged: {}.", open.join(", "));
        let _ = writeln!(text, "{}", painted(YELLOW, &line));
    }
    for todo in list("todos") {
        let _ =
            writeln!(text, "Kept for later: {} ({})", word(&todo["title"]), word(&todo["file"]));
    }
    let committed = match done["commit"]["hash"].as_str() {
        Some(hash) => format!("Planning files are committed: {hash}."),
        None => match done["commit"]["error"].as_str() {
            Some(error) => format!("Planning files are not committed: {error}"),
            None => "Planning files had nothing to commit.".to_owned(),
        },
    };
    let _ = writeln!(text, "{committed}");
    let trees = list("worktrees");
    for tree in &trees {
        let fate = tree["kept"].as_str().map_or("merged".to_owned(), |why| format!("kept: {why}"));
        let _ = writeln!(text, "  {}  {fate}", word(&tree["path"]));
    }
    if trees.iter().any(|tree| tree["kept"].is_null()) {
        let command = painted(CYAN, "mow worktree prune --yes");
        let _ = writeln!(text, "{command}  removes the merged worktrees");
    }
    text
}
