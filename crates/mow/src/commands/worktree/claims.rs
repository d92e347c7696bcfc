//! Claims: `worktree claim`, `release`, `status`, `update-plan`, `clean` and `verify-result`.
//!
//! The shared claims file decides; STATE.md is written after it, so that a crash between the two
//! leaves a phase that is held and a table that the next call brings up to date.

use std::path::Path;

use mow_host::git::Git;
use mow_store::claims::{self, Claim, Claims, Taken};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::state::assignments::{self, Assignment};
use mow_store::state::verification::{self, Outcome};
use serde_json::json;

use super::place::{Living, phase_number, tell_released, worktree_top};
use crate::caller;
use crate::commands::commit::one_at_a_time;
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::runs::tell_live;

/// The arguments of `worktree verify-result`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyResult {
    /// The phase, such as 3 or 03
    phase: String,
    /// Which verification it was
    #[arg(long, allow_hyphen_values = true)]
    tier: String,
    /// Its result, such as pass
    #[arg(long, allow_hyphen_values = true)]
    result: String,
    /// What is in the way
    #[arg(long, allow_hyphen_values = true, default_value = "none")]
    blockers: String,
}

const FILE: &str = "STATE.md";

fn no_state() -> Failure {
    Failure::refused("STATE.md not found").hint("STATE.md lives in .planning/ of the project")
}

fn load_state(context: &Context) -> Result<Vec<u8>, Failure> {
    context.load(FILE)?.ok_or_else(no_state)
}

/// Changes the shared claims under the engine's lock.
fn change_claims<T>(
    context: &Context,
    mut change: impl FnMut(&mut Claims) -> T,
) -> Result<T, Failure> {
    let writer = Writer::open_engine(&context.project, WAIT_DEFAULT)?;
    let mut result = None;
    writer.update(&claims::path(&context.project), |old| {
        let before = parse(context, old.unwrap_or_default())?;
        let mut claims = before.clone();
        result = Some(change(&mut claims));
        Ok::<_, Failure>((claims != before).then(|| claims.render()))
    })?;
    Ok(result.expect("an update that succeeds has run the change"))
}

fn parse(context: &Context, bytes: &[u8]) -> Result<Claims, Failure> {
    Claims::parse(bytes).map_err(|error| {
        let path = claims::path(&context.project);
        Failure::refused(format!("{}: {error}", path.display()))
            .hint(format!("rm {} forgets all claims", path.display()))
    })
}

fn load_claims(context: &Context) -> Result<Claims, Failure> {
    let bytes = disk::read(&claims::path(&context.project))?;
    parse(context, &bytes.unwrap_or_default())
}

/// Changes STATE.md; `None` from the change leaves it as it is.
fn change_state(
    context: &Context,
    mut change: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> Result<(), Failure> {
    disk::update(&context.project, &context.planning(FILE), |old| {
        Ok::<_, Failure>(change(old.ok_or_else(no_state)?))
    })?;
    Ok(())
}

pub(super) fn claim(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    let state = load_state(context)?;
    let top = worktree_top(context);
    let worktree = top.display().to_string();
    let own = json!({
        "claimed": true, "already_claimed": true, "worktree": worktree, "phase": phase
    });
    if let Some(worker) = caller::worker(context)? {
        worker.must_own(&number)?;
        worker.send(&context.project, &json!({ "type": "claim", "phase": phase }))?;
        return Ok(Output::json(own));
    }
    let wanted = new_assignment(context, &worktree, phase)?;
    let living = Living::ask(context);
    let rows = assignments::parse(&state);
    let Claiming { taken, held: own_row, stale } = take(context, wanted.clone(), rows, &living)?;
    for row in &stale {
        tell_released(&row.phase, &row.worktree);
    }
    if let Taken::Held(holder) = taken {
        return Err(held(phase, &holder));
    }
    mirror(context, &own_row, &stale)?;
    if taken == Taken::Own {
        return Ok(Output::json(own));
    }
    if context.config()?.settings().commit_docs {
        let name = top.file_name().unwrap_or_default().to_string_lossy();
        commit_state(context, &format!("chore: claim phase {phase} for worktree {name}"));
    }
    Ok(Output::json(json!({
        "claimed": true, "already_claimed": false, "worktree": worktree, "phase": phase,
        "branch": wanted.branch, "agent": wanted.agent,
    })))
}

/// What happened to the shared file.
struct Claiming {
    taken: Taken,
    /// What this worktree holds, unless another one does.
    held: Assignment,
    /// The claims that were found stale on the way.
    stale: Vec<Assignment>,
}

/// Takes the phase in the shared file.
fn take(
    context: &Context,
    wanted: Assignment,
    rows: Vec<Assignment>,
    living: &Living,
) -> Result<Claiming, Failure> {
    let phase = wanted.phase.clone();
    let (live, stale_rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| living.has(&row.worktree));
    let project = claims::project_key(&context.project);
    let claim = Claim { project: project.clone(), assignment: wanted, run: None, attempt: None };
    change_claims(context, |claims| {
        let mut stale = claims.release_stale(|worktree| living.has(worktree));
        let is_known = |row: &Assignment| stale.iter().any(|other| other.is_for(&row.phase));
        let unknown: Vec<_> =
            stale_rows.iter().filter(|row| row.is_for(&phase) && !is_known(row)).collect();
        stale.extend(unknown.into_iter().cloned());
        let mut held = claim.assignment.clone();
        let taken = claims.take(claim.clone(), &live);
        if let Some(known) = claims.holder(&project, &phase) {
            held = known.assignment.clone();
        }
        Claiming { taken, held, stale }
    })
}

fn held(phase: &str, holder: &Assignment) -> Failure {
    Failure::refused(format!(
        "Cannot claim the same phase twice: phase {phase} is held by worktree {} since {}",
        holder.worktree, holder.started
    ))
    .hint(format!("mow worktree release {phase} in {}, or take another phase", holder.worktree))
}

/// Brings the table of STATE.md in line with the claim that this worktree holds.
fn mirror(context: &Context, own: &Assignment, stale: &[Assignment]) -> Result<(), Failure> {
    change_state(context, |old| {
        let is_own = |row: &Assignment| row.is_for(&own.phase) && row.worktree == own.worktree;
        let is_left = |row: &Assignment| {
            let is_stale = |gone: &Assignment| gone.worktree == row.worktree;
            stale.iter().any(is_stale) || row.is_for(&own.phase) && row.worktree != own.worktree
        };
        let cleared = assignments::remove(old, is_left);
        let bytes = cleared.as_deref().unwrap_or(old);
        if assignments::parse(bytes).iter().any(is_own) {
            return cleared;
        }
        Some(assignments::add(bytes, own))
    })
}

fn new_assignment(context: &Context, worktree: &str, phase: &str) -> Result<Assignment, Failure> {
    let in_git = context.project.repository.is_some();
    let branch = if in_git { context.git().current_branch()? } else { Some("unknown".to_owned()) };
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let agent = set("CLAUDE_SESSION_ID").or_else(|| set("HOSTNAME"));
    Ok(Assignment {
        worktree: worktree.to_owned(),
        branch: branch.unwrap_or_else(|| "HEAD".to_owned()),
        phase: phase.to_owned(),
        plan: assignments::NO_PLAN.to_owned(),
        status: "executing".to_owned(),
        started: now(),
        agent: agent.unwrap_or_else(|| "unknown".to_owned()),
    })
}

/// Commits STATE.md alone; a repository that does not take it loses nothing by that.
fn commit_state(context: &Context, message: &str) {
    let _lock = one_at_a_time(context);
    let git = Git::new(&context.project.root);
    let path = context.planning(FILE);
    let added = git.run(&[Path::new("add"), Path::new("--"), &path]);
    if added.is_ok() {
        let words = ["commit", "--quiet", "--only", "-m", message, "--"].map(Path::new);
        git.run(&[&words[..], &[&path]].concat()).ok();
    }
}

pub(crate) fn release(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    load_state(context)?;
    let worktree = worktree_top(context).display().to_string();
    let answer = |released: bool| {
        Output::json(json!({ "released": released, "worktree": worktree, "phase": phase }))
    };
    if let Some(worker) = caller::worker(context)? {
        worker.must_own(&number)?;
        worker.send(&context.project, &json!({ "type": "release", "phase": phase }))?;
        return Ok(answer(true));
    }
    let project = claims::project_key(&context.project);
    let mut released = change_claims(context, |claims| claims.release(&project, &worktree, phase))?;
    change_state(context, |old| {
        let removed = assignments::remove(old, |row| row.is_for(phase) && row.worktree == worktree);
        released |= removed.is_some();
        removed
    })?;
    Ok(answer(released))
}

pub(super) fn status(context: &Context) -> Result<Output, Failure> {
    let rows = context.load(FILE)?.map_or_else(Vec::new, |bytes| assignments::parse(&bytes));
    // The table can still be shown when the shared file cannot be read.
    let claims = load_claims(context).unwrap_or_else(|failure| {
        warn(&failure.message);
        Claims::default()
    });
    tell_live(context);
    Ok(Output::json(claims.with_rows(&claims::project_key(&context.project), rows)))
}

pub(super) fn update_plan(context: &Context, phase: &str, plan: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    load_state(context)?;
    let worktree = worktree_top(context).display().to_string();
    let answer = |updated: bool| {
        Output::json(
            json!({ "updated": updated, "worktree": worktree, "phase": phase, "plan": plan }),
        )
    };
    if let Some(worker) = caller::worker(context)? {
        worker.must_own(&number)?;
        let message = json!({ "type": "update_plan", "phase": phase, "plan": plan });
        worker.send(&context.project, &message)?;
        return Ok(answer(true));
    }
    let project = claims::project_key(&context.project);
    let mut updated =
        change_claims(context, |claims| claims.set_plan(&project, &worktree, phase, plan))?;
    change_state(context, |old| {
        let set = assignments::set_plan(old, &worktree, phase, plan);
        updated |= set.is_some();
        set
    })?;
    Ok(answer(updated))
}

pub(super) fn clean(context: &Context) -> Result<Output, Failure> {
    Ok(Output::json(match release_stale(context)? {
        Cleaned::Released(paths) => json!({ "cleaned": paths.len(), "released": paths }),
        Cleaned::Unknown(error) => json!({ "cleaned": 0, "released": [], "error": error }),
    }))
}

/// Does what `worktree clean` does, for commands that only want it done; never fails.
pub(crate) fn clean_silently(context: &Context) {
    // A worker leaves the shared files to the lead.
    if matches!(caller::worker(context), Ok(Some(_))) {
        return;
    }
    if let Err(failure) = release_stale(context) {
        warn(&format!("stale claims were not looked for: {}", failure.message));
    }
}

enum Cleaned {
    /// The worktrees whose claims were released.
    Released(Vec<String>),
    /// Git could not tell, for this reason.
    Unknown(String),
}

fn release_stale(context: &Context) -> Result<Cleaned, Failure> {
    let rows = context.load(FILE)?.map_or_else(Vec::new, |bytes| assignments::parse(&bytes));
    let known = load_claims(context)?.claims;
    if rows.is_empty() && known.is_empty() {
        return Ok(Cleaned::Released(Vec::new()));
    }
    let living = Living::ask(context);
    if let Living::Unknown(error) = living {
        return Ok(Cleaned::Unknown(error));
    }
    let mut gone: Vec<_> = rows.into_iter().filter(|row| !living.has(&row.worktree)).collect();
    if known.iter().any(|claim| !living.has(&claim.assignment.worktree)) {
        let stale =
            change_claims(context, |claims| claims.release_stale(|worktree| living.has(worktree)))?;
        let is_new = |claim: &Assignment| {
            !gone.iter().any(|row| row.worktree == claim.worktree && row.is_for(&claim.phase))
        };
        let unseen: Vec<_> = stale.into_iter().filter(is_new).collect();
        gone.extend(unseen);
    }
    if !gone.is_empty() && context.load(FILE)?.is_some() {
        change_state(context, |old| assignments::remove(old, |row| !living.has(&row.worktree)))?;
    }
    for row in &gone {
        tell_released(&row.phase, &row.worktree);
    }
    Ok(Cleaned::Released(gone.into_iter().map(|row| row.worktree).collect()))
}

pub(super) fn verify_result(context: &Context, args: &VerifyResult) -> Result<Output, Failure> {
    let VerifyResult { phase, tier, result, blockers } = args;
    let number = phase_number(phase)?;
    let date = today();
    let recorded = json!({
        "recorded": true, "phase": phase, "tier": tier, "result": result, "date": date,
        "blockers": blockers,
    });
    load_state(context)?;
    if let Some(worker) = caller::worker(context)? {
        worker.must_own(&number)?;
        let mut message = recorded.clone();
        message["type"] = json!("verify_result");
        worker.send(&context.project, &message)?;
        return Ok(Output::json(recorded));
    }
    let outcome = Outcome { phase, tier, result, date: &date, blockers };
    change_state(context, |old| Some(verification::record(old, &outcome)))?;
    Ok(Output::json(recorded))
}
