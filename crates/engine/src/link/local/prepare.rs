//! Prepares the worktree of a phase: claims the phase, checks it out, copies planning files into
//! it.
//!
//! Every step can be repeated after a crash. Files that would be replaced go to a rescue ref first.

use std::path::Path;

use mow_core::phase::PhaseNumber;
use mow_host::commit::{self, Paths};
use mow_host::git::Git;
use mow_host::life_lock;
use mow_host::phase_worktree::{self, PreparedWorktree, WorktreeSpec};
use mow_host::shell_words;
use mow_host::{in_progress, rescue};
use mow_store::claims::{self, Claim, ClaimOutcome, Claims};
use mow_store::disk::{self, WAIT_DEFAULT, Writer};
use mow_store::project::Project;
use mow_store::state::assignments::{Assignment, NO_PLAN};
use mow_store::{manifest, phase_dirs, planning_copy, roadmap};
use serde_json::json;

use super::worktree::{change_manifest, is_newer, project_in};
use super::{look_ahead, status};
use crate::EngineError;
use crate::clock::now_text;
use crate::link::PrepareJob;
use crate::repository_lock::RepositoryLock;
use crate::run_context::{PhaseWorktree, RunContext};

/// The trailer of the commit that restores a stash.
const STASH_KEY: &str = "Mow-Stash";

/// Makes the worktree of a phase, or reuses the existing one; returns the commit after which the
/// work of the phase begins.
pub(super) fn prepare(
    ctx: &RunContext,
    job: &PrepareJob,
    repository: &RepositoryLock,
) -> Result<String, EngineError> {
    let (phase, attempt) = (&job.key.phase, job.key.attempt);
    for earlier in 1..attempt {
        let lock = ctx.run.life_lock(phase, earlier);
        if life_lock::is_alive(&lock).map_err(EngineError::io("look for a worker"))? {
            let reason = format!("the worker of attempt {earlier} is still alive");
            return Err(refused(phase, reason));
        }
    }
    failpoint::reach("prepare.begun");
    let worktree = ctx.worktree(phase)?;
    let spec = WorktreeSpec {
        path: worktree.path.clone(),
        branch: worktree.branch.clone(),
        base: job.base.clone(),
        live_file: status::path_in_worktree(ctx, &worktree, phase),
    };
    let prepared =
        repository.exclusively(|| match claim_phase(ctx, phase, attempt, &worktree)? {
            Some(holder) => Err(refused(phase, holder)),
            None => Ok(phase_worktree::create_without_files(ctx.top(), &spec)?),
        })?;
    phase_worktree::write_files(&prepared)?;
    failpoint::reach("prepare.made");
    repository.exclusively(|| set_up_worktree(ctx, job, &worktree, prepared))
}

fn refused(phase: &PhaseNumber, reason: String) -> EngineError {
    EngineError::refused(reason, format!("mow resume {phase} tries again"))
}

/// Sets up a checked-out worktree: planning files, look-ahead files, stashed work, manifest entry.
fn set_up_worktree(
    ctx: &RunContext,
    job: &PrepareJob,
    worktree: &PhaseWorktree,
    prepared: PreparedWorktree,
) -> Result<String, EngineError> {
    let PrepareJob { key, base, renew } = job;
    let (git, phase) = (Git::at_top(&worktree.path), &key.phase);
    if *renew && prepared.is_behind_base {
        // Plans and work of an earlier run continue on top of what was merged since.
        if let Some(reason) = merge_target(&git, worktree, base)? {
            return Err(refused(phase, reason));
        }
    }
    // The work of the phase consists of the commits after its fork from the target.
    let fork = match prepared.head == *base {
        true => prepared.head,
        false => git.run(&["merge-base", "HEAD", base])?.text(),
    };
    copy_planning_files(ctx, worktree, phase)?;
    failpoint::reach("prepare.planned");
    copy_uncommitted_changes(ctx, worktree, phase, &fork)?;
    if *renew {
        look_ahead::commit_to_branch(ctx, worktree, phase)?;
    }
    restore_stash(worktree, phase, &fork)?;
    failpoint::reach("prepare.stashed");
    add_to_manifest(ctx, worktree, phase)?;
    failpoint::reach("prepare.noted");
    Ok(fork)
}

/// Merges the target into the branch of a phase; returns why that is impossible.
///
/// A merge that a person has started in the worktree is left alone.
fn merge_target(
    git: &Git,
    worktree: &PhaseWorktree,
    base: &str,
) -> Result<Option<String>, EngineError> {
    let (branch, path) = (&worktree.branch, shell_words::quote(&worktree.path.to_string_lossy()));
    if in_progress::is_merging(&worktree.path) {
        let how = format!("git -C {path} commit, or git -C {path} merge --abort");
        return Ok(Some(format!("a merge is in progress in its worktree; finish it: {how}")));
    }
    rescue::rescue_before_checkout(git, branch, base)?;
    let answer = git.ask(&["merge", "--quiet", "--no-edit", base])?;
    if answer.success {
        return Ok(None);
    }
    let files = git.conflicts()?;
    if in_progress::is_merging(&worktree.path) {
        git.run(&["merge", "--abort"])?;
    }
    if files.is_empty() {
        let error = answer.error_line();
        return Ok(Some(format!("the target cannot be merged into branch {branch}: {error}")));
    }
    let files = files.join(", ");
    let how = format!("to resolve that: git -C {path} merge {base}, then mow run");
    Ok(Some(format!("branch {branch} conflicts with the target in {files}; {how}")))
}

/// Makes the worktree of a phase that starts soon, so that the phase need not wait for it.
pub(super) fn make_worktree_ahead(
    ctx: &RunContext,
    phase: &PhaseNumber,
    base: &str,
) -> Result<(), EngineError> {
    let worktree = ctx.worktree(phase)?;
    if !worktree.path.exists() {
        let job = WorktreeSpec {
            path: worktree.path,
            branch: worktree.branch,
            base: base.to_owned(),
            live_file: None,
        };
        phase_worktree::prepare(ctx.top(), &job)?;
        failpoint::reach("ahead.made");
    }
    Ok(())
}

/// Claims the phase for its worktree; returns the holder if another worktree has claimed it.
fn claim_phase(
    ctx: &RunContext,
    phase: &PhaseNumber,
    attempt: u32,
    worktree: &PhaseWorktree,
) -> Result<Option<String>, EngineError> {
    let project = &ctx.project;
    let key = claims::project_key(project);
    let path = worktree.path.display().to_string();
    let claim = Claim {
        project: key.clone(),
        assignment: Assignment {
            worktree: path.clone(),
            branch: worktree.branch.clone(),
            phase: phase.padded(),
            plan: NO_PLAN.to_owned(),
            status: "executing".to_owned(),
            started: now_text(),
            agent: format!("phase-{}-worker", phase.padded()),
        },
        run: Some(ctx.run.run().to_owned()),
        attempt: Some(attempt.to_string()),
    };
    let mut held = None;
    let writer = Writer::open_engine(project, WAIT_DEFAULT)?;
    writer.update(&claims::path(project), |old| {
        let mut claims = Claims::parse(old.unwrap_or_default()).unwrap_or_default();
        claims.release_stale(|worktree| Path::new(worktree).is_dir());
        if claims.holder(&key, &phase.to_string()).is_some_and(|held| held.run.is_some()) {
            // The claim is of an earlier attempt, in this run or in a run whose lead is gone.
            claims.release(&key, &path, &phase.to_string());
        }
        if let ClaimOutcome::HeldByOther(other) = claims.take(claim.clone(), &[]) {
            held = Some(format!("{} has it since {}", other.worktree, other.started));
            return Ok(None);
        }
        Ok::<_, EngineError>(Some(claims.render()))
    })?;
    failpoint::reach("claim.taken");
    Ok(held)
}

/// Copies the planning files to the worktree if they are not committed; keeps the phase's own
/// files.
fn copy_planning_files(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
) -> Result<(), EngineError> {
    let root = worktree.path.join(ctx.below_top());
    if ctx.commits_docs()? && root.join(".planning").is_dir() {
        return Ok(());
    }
    let project = project_in(ctx, worktree)?;
    let own = phase_dirs::find(&project.planning, &phase.to_string());
    let own = own.map(|dir| Path::new("phases").join(dir.name));
    let from = &ctx.project.planning;
    let keeps = |file: &Path| {
        own.as_ref().is_some_and(|own| file.starts_with(own))
            && !is_newer(&from.join(file), &project.planning.join(file))
    };
    rescue_removed_files(ctx, worktree, &project, &keeps)?;
    let differing = planning_copy::mirror(from, &project, keeps)?;
    match differing.first() {
        None => Ok(()),
        Some(file) => Err(EngineError::refused(
            format!("{} differs from the main root after copying", file.display()),
            "run the command again",
        )),
    }
}

/// Rescues planning files that only the worktree has, before the copy removes them.
fn rescue_removed_files(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    project: &Project,
    keeps: &impl Fn(&Path) -> bool,
) -> Result<(), EngineError> {
    let main = &ctx.project.planning;
    let mut kept = Vec::new();
    for file in planning_copy::differing_files(&project.planning, main)? {
        if !keeps(&file) && !main.join(&file).exists() {
            let bytes = disk::read(&project.planning.join(&file))?.unwrap_or_default();
            let name = ctx.below_top().join(".planning").join(&file);
            kept.push((name.display().to_string(), bytes));
        }
    }
    rescue::keep_files(&Git::at_top(&worktree.path), &worktree.branch, &kept)?;
    Ok(())
}

/// Copies uncommitted changes in the phase's directory of the main root to the worktree: a
/// corrected plan, or all files of a new phase.
///
/// If the phase changed the same file, the newer one counts.
fn copy_uncommitted_changes(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
    fork: &str,
) -> Result<(), EngineError> {
    let Some(dir) = phase_dirs::find(&ctx.project.planning, &phase.to_string()) else {
        return Ok(());
    };
    let project = project_in(ctx, worktree)?;
    let target = project.planning.join("phases").join(&dir.name);
    let git = Git::at_top(&worktree.path);
    let below = ctx.below_top().join(".planning/phases").join(&dir.name);
    let root = Git::new(&ctx.project.root);
    let text = |git: &Git, commit: &str, file: &Path| -> Result<Option<Vec<u8>>, EngineError> {
        let name = format!("{commit}:{}", below.join(file).display());
        let answer = git.ask(&["cat-file", "blob", &name])?;
        Ok(answer.success.then_some(answer.stdout))
    };
    let mut changed = Vec::new();
    let mut elsewhere = None;
    for file in planning_copy::differing_files(&dir.path, &target)? {
        let before = text(&git, fork, &file)?;
        // If another branch is checked out in the root, its committed files are not meant for this
        // phase.
        let is_elsewhere = match elsewhere {
            Some(known) => known,
            None => *elsewhere.insert(!root.is_ancestor(fork, "HEAD")?),
        };
        if is_elsewhere
            && before.is_some()
            && disk::read(&dir.path.join(&file))? == text(&root, "HEAD", &file)?
        {
            continue;
        }
        let (ours, theirs) = (disk::read(&dir.path.join(&file))?, disk::read(&target.join(&file))?);
        let is_ours = theirs == before || is_newer(&dir.path.join(&file), &target.join(&file));
        if ours != before && is_ours {
            changed.push(file);
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let writer = Writer::open(&project, WAIT_DEFAULT)?;
    for file in changed {
        writer.create_dir(target.join(&file).parent().unwrap_or(&target))?;
        writer.copy(&dir.path.join(&file), &target.join(&file))?;
        failpoint::reach("prepare.change.brought");
    }
    Ok(())
}

/// Restores stashed work of a phase as a commit, since a task starts from commits only.
///
/// The commit names the stash, so that the same stash is not restored twice.
fn restore_stash(
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
    fork: &str,
) -> Result<(), EngineError> {
    let bytes = disk::read(&worktree.home.manifest())?.unwrap_or_default();
    let known = manifest::parse(&bytes).ok();
    let entry = known.as_ref().and_then(|manifest| manifest.worktree(&worktree.name));
    let Some(stash) = entry.and_then(|entry| entry.text("stash_ref")) else { return Ok(()) };
    let git = Git::at_top(&worktree.path);
    if let Some(stash) = git.commit_of(&stash)? {
        if commit::find_commit_with_trailer(&git, fork, STASH_KEY, &stash)?.is_none() {
            apply_stash(&git, worktree, phase, &stash)?;
            failpoint::reach("stash.applied");
            let subject = format!("wip({}): bring back stashed work", phase.padded());
            let marks = [("Mow-Phase", &*phase.to_string()), (STASH_KEY, &stash)];
            commit::commit_paths(&git, &Paths::All, &subject, &marks)?;
            failpoint::reach("stash.committed");
        }
        rescue::drop_stash(&git, &worktree.branch, &stash)?;
        failpoint::reach("stash.dropped");
    }
    change_manifest(worktree, &[("stash_ref", json!(null))])
}

/// Applies a stash to a worktree.
///
/// Files in its way are rescued and reset. Most often they are the stash itself, applied by a lead
/// that died before it could commit.
fn apply_stash(
    git: &Git,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
    stash: &str,
) -> Result<(), EngineError> {
    rescue::rescue_before_checkout(git, &worktree.branch, stash)?;
    let apply = ["stash", "apply", "--quiet", stash];
    if git.ask(&apply)?.success {
        return Ok(());
    }
    rescue::reset_to(git, &worktree.branch, "HEAD")?;
    let again = git.ask(&apply)?;
    if again.success {
        return Ok(());
    }
    Err(EngineError::refused(
        format!("the stashed work of phase {phase} does not apply: {}", again.error_line()),
        format!("git stash apply {stash}"),
    ))
}

fn add_to_manifest(
    ctx: &RunContext,
    worktree: &PhaseWorktree,
    phase: &PhaseNumber,
) -> Result<(), EngineError> {
    let head = Git::at_top(&worktree.path).commit_of("HEAD")?;
    let bytes = disk::read(&worktree.home.manifest())?.unwrap_or_default();
    let known = manifest::parse(&bytes).ok();
    let is_known = known.is_some_and(|manifest| manifest.worktree(&worktree.name).is_some());
    let path = worktree.path.strip_prefix(&worktree.home.root).unwrap_or(&worktree.path);
    let mut fields = vec![
        ("path", json!(path.display().to_string())),
        ("branch", json!(worktree.branch)),
        ("phase", json!(phase.padded())),
        ("phase_name", json!(phase_name(ctx, phase)?)),
        ("status", json!("active")),
        ("last_commit", json!(head)),
    ];
    if !is_known {
        fields.insert(4, ("created", json!(now_text())));
        fields.extend([
            ("stash_ref", json!(null)),
            ("merged", json!(false)),
            ("merged_at", json!(null)),
        ]);
    }
    change_manifest(worktree, &fields)
}

/// Returns the phase's name in the roadmap, else in the name of its directory.
fn phase_name(ctx: &RunContext, phase: &PhaseNumber) -> Result<Option<String>, EngineError> {
    let planning = &ctx.project.planning;
    let bytes = disk::read(&planning.join("ROADMAP.md"))?.unwrap_or_default();
    let entries = roadmap::parse(&bytes).entries;
    let named = entries.into_iter().find(|entry| entry.phase.number == *phase);
    let in_roadmap = named.map(|entry| entry.phase.name).filter(|name| !name.is_empty());
    let from_dir = || phase_dirs::find(planning, &phase.to_string())?.label().map(str::to_owned);
    Ok(in_roadmap.or_else(from_dir))
}
