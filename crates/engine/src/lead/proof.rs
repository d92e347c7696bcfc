//! Looks whether a phase is what its worker says, before it is merged: a worker's word alone moves
//! nothing.
//!
//! Read are the commits of the phase and the beginning of the worker's journal, which was written
//! before any agent ran. A phase that does not pass is not merged, and is done again by another
//! attempt once a person wants that.

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;

use crate::EngineError;
use crate::marks::{Ledger, Ledgers, Marks};
use crate::site::Site;

/// What a worker says of its phase, and where it is to go.
pub(super) struct Claim<'a> {
    pub(super) phase: &'a PhaseNumber,
    pub(super) attempt: u32,
    /// The last commit of the phase.
    pub(super) commit: &'a str,
    /// Where the run stands.
    pub(super) onto: &'a str,
    pub(super) branch: &'a str,
}

/// A phase that is what its worker says.
pub(super) struct Proven {
    /// The commit to merge.
    pub(super) commit: String,
    /// All files that its commits changed, where these follow one another in a plain line.
    pub(super) touched: Option<Vec<String>>,
}

/// Returns the commit to merge, or why there is none.
pub(super) fn check(
    site: &Site,
    git: &Git,
    claim: &Claim<'_>,
    tip: Option<&str>,
) -> Result<Result<Proven, String>, EngineError> {
    let Claim { phase, attempt, commit, branch, .. } = *claim;
    let said = short(commit);
    let ledger = Ledger::load(&site.run, phase, attempt)?;
    let (Some(brief), Some((plans, _)), Some(_)) = (&ledger.brief, &ledger.frozen, &ledger.root)
    else {
        let text = "its journal does not say what the phase began with; another attempt will";
        return Ok(Err(text.to_owned()));
    };
    if tip != Some(commit) && git.commit_of(commit)?.is_none() {
        return Ok(Err(format!("it is reported as complete at {said}, which is no commit")));
    }
    let base = brief.base.clone();
    let plans = plans.clone();
    let mut ledgers = Ledgers::from([((site.run.run().to_owned(), attempt), ledger)]);
    let whose = (&site.run, phase);
    let marks = Marks::load(git, [&base, commit], whose, &mut ledgers)?;
    if !marks.closing.iter().any(|closing| closing == commit) {
        let text = "its worker has not closed the phase there; an agent may have said so";
        return Ok(Err(format!("it is reported as complete at {said}, but {text}")));
    }
    if !marks.history.is_based {
        let base = short(&base);
        return Ok(Err(format!("{said} does not build on {base}, where the phase began")));
    }
    let open = plans.iter().find(|plan| !plan.older && !marks.plans.contains_key(&plan.id));
    if let Some(plan) = open {
        return Ok(Err(format!("{said} has no closing commit of plan {}", plan.id)));
    }
    let line = marks.history.line(&base, commit);
    let touched = line.map(|line| {
        let changes = line.into_iter().flat_map(|one| &one.changes);
        changes.map(|change| change.path.clone()).collect()
    });
    match tip {
        Some(tip) if tip == commit => Ok(Ok(Proven { commit: commit.to_owned(), touched })),
        // Whoever settles a conflict does so on the branch of the phase.
        Some(tip) if settles(git, claim, tip)? => {
            Ok(Ok(Proven { commit: tip.to_owned(), touched: None }))
        }
        Some(tip) => Ok(Err(format!(
            "branch {branch} was moved to {} after its worker ended at {said}; to go back: git \
             branch -f {branch} {said}",
            short(tip)
        ))),
        None => Ok(Ok(Proven { commit: commit.to_owned(), touched })),
    }
}

/// Returns whether a tip is what was reported and has taken in where the run stands.
fn settles(git: &Git, claim: &Claim<'_>, tip: &str) -> Result<bool, EngineError> {
    Ok(git.is_ancestor(claim.commit, tip)?
        && git.is_ancestor(claim.onto, tip)?
        && !git.is_ancestor(claim.onto, claim.commit)?)
}

fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}
