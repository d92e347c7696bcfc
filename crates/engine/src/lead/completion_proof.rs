//! Verifies a worker's report that a phase is complete, before the phase is merged.
//!
//! The report alone is not trusted. The proof is in the sealed commits of the phase, and in the
//! beginning of the worker's journal, which was written before any agent ran. A phase that is not
//! proven is not merged; another attempt does it again when a person wants that.

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;

use crate::EngineError;
use crate::run_context::RunContext;
use crate::sealed_commits::{AttemptJournal, AttemptJournals, SealedCommits};

/// What a worker reported about its phase, and the commit to merge onto.
pub(super) struct CompletionReport<'a> {
    pub(super) phase: &'a PhaseNumber,
    pub(super) attempt: u32,
    /// The commit that is reported as the last one of the phase.
    pub(super) commit: &'a str,
    /// The commit of the run's ref.
    pub(super) onto: &'a str,
    pub(super) branch: &'a str,
}

/// A phase whose completion is proven.
pub(super) struct VerifiedPhase {
    /// The commit to merge.
    pub(super) commit: String,
    /// All files that the commits of the phase changed; `None` if its history is not linear.
    pub(super) touched: Option<Vec<String>>,
}

/// Returns the commit to merge, or why the completion is not proven.
pub(super) fn verify(
    ctx: &RunContext,
    git: &Git,
    reported: &CompletionReport<'_>,
    tip: Option<&str>,
) -> Result<Result<VerifiedPhase, String>, EngineError> {
    let CompletionReport { phase, attempt, commit, branch, .. } = *reported;
    let reported_at = short(commit);
    let journal = AttemptJournal::load(&ctx.run, phase, attempt)?;
    let (Some(brief), Some((plans, _)), Some(_)) = (&journal.brief, &journal.frozen, &journal.root)
    else {
        let text = "its journal does not say what the phase began with; another attempt will";
        return Ok(Err(text.to_owned()));
    };
    if tip != Some(commit) && git.commit_of(commit)?.is_none() {
        return Ok(Err(format!("it is reported as complete at {reported_at}, which is no commit")));
    }
    let base = brief.base.clone();
    let plans = plans.clone();
    let mut journals = AttemptJournals::from([((ctx.run.run().to_owned(), attempt), journal)]);
    let phase_of_run = (&ctx.run, phase);
    let commits = SealedCommits::load(git, [&base, commit], phase_of_run, &mut journals)?;
    if !commits.closing.iter().any(|closing| closing == commit) {
        let text = "its worker has not closed the phase there; an agent may have reported that";
        return Ok(Err(format!("it is reported as complete at {reported_at}, but {text}")));
    }
    if !commits.history.starts_at_base {
        let base = short(&base);
        return Ok(Err(format!("{reported_at} does not build on {base}, where the phase began")));
    }
    let open = plans.iter().find(|plan| !plan.older && !commits.plans.contains_key(&plan.id));
    if let Some(plan) = open {
        return Ok(Err(format!("{reported_at} has no closing commit of plan {}", plan.id)));
    }
    let line = commits.history.linear_range(&base, commit);
    let touched = line.map(|line| {
        let changes = line.into_iter().flat_map(|one| &one.changes);
        changes.map(|change| change.path.clone()).collect()
    });
    match tip {
        Some(tip) if tip == commit => Ok(Ok(VerifiedPhase { commit: commit.to_owned(), touched })),
        // A person who resolves a conflict does so on the branch of the phase.
        Some(tip) if merges_run_ref(git, reported, tip)? => {
            Ok(Ok(VerifiedPhase { commit: tip.to_owned(), touched: None }))
        }
        Some(tip) => Ok(Err(format!(
            "branch {branch} was moved to {} after its worker ended at {reported_at}; to go back: \
             git branch -f {branch} {reported_at}",
            short(tip)
        ))),
        None => Ok(Ok(VerifiedPhase { commit: commit.to_owned(), touched })),
    }
}

/// Returns whether the tip is the reported commit with the run's ref merged into it.
fn merges_run_ref(
    git: &Git,
    reported: &CompletionReport<'_>,
    tip: &str,
) -> Result<bool, EngineError> {
    Ok(git.is_ancestor(reported.commit, tip)?
        && git.is_ancestor(reported.onto, tip)?
        && !git.is_ancestor(reported.onto, reported.commit)?)
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
