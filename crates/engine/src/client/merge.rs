//! Merges finished phases without a run.

use std::path::{Path, PathBuf};

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_store::phase_dirs::{self, PhaseFileKind};
use mow_store::{disk, manifest};

use super::{Caller, Client, PersonRequest, Refusal};
use crate::EngineError;
use crate::lead::{ManualMerge, ManualMergeResult, merge_manually};
use crate::run_context::{BY_HAND, RunContext};

/// Merges finished phases.
#[derive(Clone, Debug)]
pub struct MergeRequest<'a> {
    /// The mow program.
    pub exe: &'a Path,
    /// The phases; empty for all finished ones.
    pub phases: &'a [PhaseNumber],
    /// The target branch; `None` for the one that a run would use.
    pub into: Option<&'a str>,
    /// Whether to compute the result without changing anything.
    pub dry_run: bool,
}

/// What was merged, and what was not.
#[derive(Clone, Debug)]
pub struct MergeReceipt {
    /// The result of the merge.
    pub result: ManualMergeResult,
    /// The phases that are not finished, each with its branch.
    pub skipped: Vec<(PhaseNumber, String, UnfinishedReason)>,
}

/// Why a phase is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnfinishedReason {
    /// The phase has no worktree.
    NoWorktree {
        /// Where it should be.
        path: PathBuf,
    },
    /// The worktree has no directory of the phase.
    NoDirectory,
    /// Some plans have no summary, or there are no plans.
    OpenPlans {
        /// How many have a summary.
        done: usize,
        /// How many there are.
        total: usize,
    },
    /// The worktree has uncommitted work.
    UncommittedWork {
        /// The worktree.
        path: PathBuf,
    },
}

impl PersonRequest for MergeRequest<'_> {
    type Receipt = MergeReceipt;

    fn carry_out(self, client: &Client<'_>, _: &Caller) -> Result<MergeReceipt, Refusal> {
        let project = client.project;
        if project.repository.is_none() {
            return Err(Refusal::NoRepository);
        }
        if let Some(pid) = client.lead_pid()? {
            return Err(Refusal::LeadRunning { holder: format!("process {pid}") });
        }
        // The context only finds worktrees; no run of this name is created.
        let ctx = RunContext::new(project, BY_HAND, self.exe)?;
        let (phases, skipped) = select_phases(&ctx, self.phases)?;
        let job = ManualMerge {
            project,
            exe: self.exe,
            phases: &phases,
            into: self.into,
            dry_run: self.dry_run,
        };
        let result = merge_manually(job).map_err(|error| match error {
            EngineError::LeadRunning { holder } => Refusal::LeadRunning { holder },
            error => error.into(),
        })?;
        Ok(MergeReceipt { result, skipped })
    }
}

type SkippedPhases = Vec<(PhaseNumber, String, UnfinishedReason)>;

/// Returns the phases to merge, and the skipped ones with the reason.
fn select_phases(
    ctx: &RunContext,
    named: &[PhaseNumber],
) -> Result<(Vec<PhaseNumber>, SkippedPhases), Refusal> {
    let numbers = if named.is_empty() { phases_with_worktree(ctx)? } else { named.to_vec() };
    let (mut phases, mut skipped) = (Vec::new(), Vec::new());
    for phase in numbers {
        match reason_unfinished(ctx, &phase)? {
            None => phases.push(phase),
            Some(reason) if named.is_empty() => {
                skipped.push((phase, ctx.worktree(&phase)?.branch, reason));
            }
            Some(reason) => return Err(Refusal::Unfinished { phase, reason }),
        }
    }
    Ok((phases, skipped))
}

/// Returns the phases that have a worktree, in their order.
fn phases_with_worktree(ctx: &RunContext) -> Result<Vec<PhaseNumber>, Refusal> {
    let home = ctx.home()?;
    let bytes = disk::read(&home.manifest())?.unwrap_or_default();
    let manifest = manifest::parse(&bytes).map_err(|error| Refusal::BadManifest {
        path: home.manifest().display().to_string(),
        problem: error.to_string(),
    })?;
    let phase_of = |(name, entry): &(String, manifest::ManifestEntry)| {
        entry.phase().or_else(|| home.phase_in(name))
    };
    let mut all: Vec<_> = manifest.worktrees.iter().filter_map(phase_of).collect();
    all.sort_unstable();
    Ok(all)
}

/// Returns why a phase is not finished; `None` when it is finished.
fn reason_unfinished(
    ctx: &RunContext,
    number: &PhaseNumber,
) -> Result<Option<UnfinishedReason>, Refusal> {
    let worktree = ctx.worktree(number)?;
    if !worktree.path.join(".git").exists() {
        return Ok(Some(UnfinishedReason::NoWorktree { path: worktree.path }));
    }
    let Some(dir) = phase_dirs::find(&ctx.planning_in(&worktree.path), &number.to_string()) else {
        return Ok(Some(UnfinishedReason::NoDirectory));
    };
    let ids = |kind: PhaseFileKind| -> Vec<String> {
        dir.files_of(kind).filter_map(|file| kind.id(file).map(str::to_owned)).collect()
    };
    let (plans, summaries) = (ids(PhaseFileKind::Plan), ids(PhaseFileKind::Summary));
    let (done, total) = (plans.iter().filter(|id| summaries.contains(id)).count(), plans.len());
    if total == 0 || done < total {
        return Ok(Some(UnfinishedReason::OpenPlans { done, total }));
    }
    // A merge always leaves out planning files that do not belong to the phase.
    let planning = ctx.project.planning_below_top();
    let own = format!("{planning}/phases/{}", dir.name);
    // mow writes these two files before any work is done, so they do not count as work.
    let notes =
        ["STATUS", "CHECKPOINT"].map(|name| format!(":(exclude,top,glob){own}/*-{name}.md"));
    let own = [&[format!(":(top){own}")][..], &notes].concat();
    let code = [":(top)".to_owned(), format!(":(exclude,top){planning}")];
    let git = Git::at_top(&worktree.path);
    for paths in [&own[..], &code] {
        let paths: Vec<_> = paths.iter().map(String::as_str).collect();
        let status = ["status", "--porcelain", "-z", "--"];
        if !git.run(&[&status[..], &paths].concat())?.stdout.is_empty() {
            return Ok(Some(UnfinishedReason::UncommittedWork { path: worktree.path }));
        }
    }
    Ok(None)
}
