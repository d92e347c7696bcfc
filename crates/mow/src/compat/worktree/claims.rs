//! `worktree claim`, `status`, `update-plan`, `clean` and `verify-result`.
//!
//! The claims file, which all worktrees share, decides who holds a phase. STATE.md is written after
//! it: a crash between the two leaves the phase claimed, and the next call updates the table.

use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::life_lock;
use mow_store::claims::{self, Claim, ClaimOutcome};
use mow_store::compat::state::verification::{self, VerificationResult};
use mow_store::run_files::RunDir;
use mow_store::state::assignments::{self, Assignment};
use serde_json::json;

use crate::caller;
use crate::context::{Context, now, today};
use crate::failure::Failure;
use crate::output::{Output, notice};
use crate::planning_commit::lock_commits;
use crate::runs::{has_live_lead, notice_live_run};
use crate::worktrees::claims::{
    FILE, StaleClaims, change_claims, change_state, load_assignments, load_state, release_stale,
};
use crate::worktrees::locations::{ExistingWorktrees, notice_released, phase_number, worktree_top};

/// The arguments of `worktree verify-result`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyResultArgs {
    /// The phase, such as 3 or 03
    phase: String,
    /// The tier of the verification
    #[arg(long, allow_hyphen_values = true)]
    tier: String,
    /// The result, such as pass
    #[arg(long, allow_hyphen_values = true)]
    result: String,
    /// The blockers that the verification found
    #[arg(long, allow_hyphen_values = true, default_value = "none")]
    blockers: String,
}

pub(super) fn claim(context: &Context, phase: &str) -> Result<Output, Failure> {
    let number = phase_number(phase)?;
    let state = load_state(context)?;
    let top = worktree_top(context);
    let worktree = top.display().to_string();
    let already_own = json!({
        "claimed": true, "already_claimed": true, "worktree": worktree, "phase": phase
    });
    if let Some(worker) = caller::calling_worker(context)? {
        worker.require_own_phase(&number)?;
        worker.send_message(&context.project, &json!({ "type": "claim", "phase": phase }))?;
        return Ok(Output::json(already_own));
    }
    let row = new_assignment(context, &worktree, phase)?;
    let existing = ExistingWorktrees::list(context);
    let rows = assignments::parse(&state);
    let ClaimChange { outcome, own_row, mut stale, dead } =
        claim_in_shared_file(context, row.clone(), rows, &existing)?;
    for row in &stale {
        notice_released(&row.phase, &row.worktree);
    }
    for row in &dead {
        notice(&format!(
            "released the claim of worktree {} on phase {}: its lead and its worker are dead",
            row.worktree, row.phase
        ));
    }
    stale.extend(dead);
    if let ClaimOutcome::HeldByOther(holder) = outcome {
        return Err(held_by_other(phase, &holder));
    }
    update_state_table(context, &own_row, &stale)?;
    if outcome == ClaimOutcome::AlreadyOwn {
        return Ok(Output::json(already_own));
    }
    if context.config()?.settings().commit_docs {
        let name = top.file_name().unwrap_or_default().to_string_lossy();
        commit_state(context, &format!("chore: claim phase {phase} for worktree {name}"));
    }
    Ok(Output::json(json!({
        "claimed": true, "already_claimed": false, "worktree": worktree, "phase": phase,
        "branch": row.branch, "agent": row.agent,
    })))
}

/// The result of a change to the claims file.
struct ClaimChange {
    outcome: ClaimOutcome,
    /// The claim of this worktree, unless another worktree holds the phase.
    own_row: Assignment,
    /// Stale claims that were released at the same time.
    stale: Vec<Assignment>,
    /// Claims of runs on this phase that were released because no process of the run lives.
    dead: Vec<Assignment>,
}

/// Claims the phase in the shared claims file, and releases stale claims.
fn claim_in_shared_file(
    context: &Context,
    row: Assignment,
    rows: Vec<Assignment>,
    existing: &ExistingWorktrees,
) -> Result<ClaimChange, Failure> {
    let phase = row.phase.clone();
    let (live, stale_rows): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| existing.contains(&row.worktree));
    let project = claims::project_key(&context.project);
    let claim = Claim { project: project.clone(), assignment: row, run: None, attempt: None };
    change_claims(context, |claims| {
        let mut stale = claims.release_stale(|worktree| existing.contains(worktree));
        let is_known = |row: &Assignment| stale.iter().any(|other| other.is_for(&row.phase));
        let only_in_state: Vec<_> =
            stale_rows.iter().filter(|row| row.is_for(&phase) && !is_known(row)).collect();
        stale.extend(only_in_state.into_iter().cloned());
        let dead = claims.release_if(|claim| {
            claim.project == project
                && claim.assignment.is_for(&phase)
                && has_dead_run(context, claim)
        });
        let is_released = |row: &Assignment| {
            dead.iter().any(|old| row.is_for(&phase) && old.worktree == row.worktree)
        };
        let rows: Vec<_> = live.iter().filter(|row| !is_released(row)).cloned().collect();
        let mut own_row = claim.assignment.clone();
        let outcome = claims.take(claim.clone(), &rows);
        if let Some(holder) = claims.holder(&project, &phase) {
            own_row = holder.assignment.clone();
        }
        ClaimChange { outcome, own_row, stale, dead }
    })
}

/// Returns whether a run made the claim, and neither its lead nor the worker of the phase lives.
fn has_dead_run(context: &Context, claim: &Claim) -> bool {
    let (Some(run), Some(attempt)) = (&claim.run, &claim.attempt) else { return false };
    let Some(phase) = PhaseNumber::parse(&claim.assignment.phase) else { return false };
    let Ok(dir) = RunDir::new(&context.project.engine_dir, run) else { return false };
    let Ok(attempt) = attempt.parse() else { return false };
    // What cannot be read may be alive.
    let has_worker = life_lock::is_alive(&dir.life_lock(&phase, attempt)).unwrap_or(true);
    !has_worker && !has_live_lead(context)
}

fn held_by_other(phase: &str, holder: &Assignment) -> Failure {
    Failure::refused(format!(
        "Cannot claim the same phase twice: phase {phase} is held by worktree {} since {}",
        holder.worktree, holder.started
    ))
    .hint(format!("mow worktree release {phase} in {}, or take another phase", holder.worktree))
}

/// Updates the table in STATE.md to show the claim of this worktree and no stale claims.
fn update_state_table(
    context: &Context,
    own: &Assignment,
    stale: &[Assignment],
) -> Result<(), Failure> {
    change_state(context, |old| {
        let is_own = |row: &Assignment| row.is_for(&own.phase) && row.worktree == own.worktree;
        let is_outdated = |row: &Assignment| {
            let is_stale = |gone: &Assignment| gone.worktree == row.worktree;
            stale.iter().any(is_stale) || row.is_for(&own.phase) && row.worktree != own.worktree
        };
        let cleared = assignments::remove(old, is_outdated);
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

/// Commits STATE.md alone. A failed commit is ignored, because the claim itself is already written.
fn commit_state(context: &Context, message: &str) {
    let _lock = lock_commits(context);
    let git = Git::new(&context.project.root);
    let path = context.planning(FILE);
    let added = git.run(&[Path::new("add"), Path::new("--"), &path]);
    if added.is_ok() {
        let arguments = ["commit", "--quiet", "--only", "-m", message, "--"].map(Path::new);
        git.run(&[&arguments[..], &[&path]].concat()).ok();
    }
}

pub(super) fn status(context: &Context) -> Result<Output, Failure> {
    let assignments = load_assignments(context)?;
    notice_live_run(context);
    Ok(Output::json(assignments))
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
    if let Some(worker) = caller::calling_worker(context)? {
        worker.require_own_phase(&number)?;
        let message = json!({ "type": "update_plan", "phase": phase, "plan": plan });
        worker.send_message(&context.project, &message)?;
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
        StaleClaims::Released(paths) => json!({ "cleaned": paths.len(), "released": paths }),
        StaleClaims::Unknown(error) => json!({ "cleaned": 0, "released": [], "error": error }),
    }))
}

pub(super) fn verify_result(context: &Context, args: &VerifyResultArgs) -> Result<Output, Failure> {
    let VerifyResultArgs { phase, tier, result, blockers } = args;
    let number = phase_number(phase)?;
    let date = today();
    let recorded = json!({
        "recorded": true, "phase": phase, "tier": tier, "result": result, "date": date,
        "blockers": blockers,
    });
    load_state(context)?;
    if let Some(worker) = caller::calling_worker(context)? {
        worker.require_own_phase(&number)?;
        let mut message = recorded.clone();
        message["type"] = json!("verify_result");
        worker.send_message(&context.project, &message)?;
        return Ok(Output::json(recorded));
    }
    let outcome = VerificationResult { phase, tier, result, date: &date, blockers };
    change_state(context, |old| Some(verification::record(old, &outcome)))?;
    Ok(Output::json(recorded))
}
