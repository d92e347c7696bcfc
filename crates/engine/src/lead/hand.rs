//! Merges phases by hand, outside of a run, the way a run does it.
//!
//! The reference that is merged onto is one for the target branch. It goes away once the branch has
//! followed; what a crash left of it is taken up by the next merge by hand.

use std::path::Path;
use std::sync::mpsc;

use mow_core::lead::{Clash, Outcome};
use mow_core::money::{Money, Spent};
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::merge::{self as host_merge, MergeOutcome, Planned};
use mow_host::rescue;
use mow_store::project::Project;
use mow_store::run_files::RunDir;

use super::effects::Repository;
use super::merge::{Phase, clashes, follow, host};
use super::run_ref::run_ref;
use super::world::Wake;
use super::{take_lead, target, trial};
use crate::EngineError;
use crate::site::Site;

/// What is to be merged by hand.
#[derive(Clone, Copy, Debug)]
pub struct ByHand<'a> {
    /// The project.
    pub project: &'a Project,
    /// The program itself.
    pub exe: &'a Path,
    /// The phases, in this order.
    pub phases: &'a [PhaseNumber],
    /// The branch to merge into; `None` for the one that a run would take.
    pub into: Option<&'a str>,
    /// Whether to say only what would come of it.
    pub dry_run: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Handled {
    /// The branch.
    pub target: String,
    /// What came of each phase, with its branch.
    pub phases: Vec<(PhaseNumber, String, HandOutcome)>,
    /// Why the branch did not follow, and the command that makes it.
    pub behind: Option<(String, String)>,
    /// What agents used that settled conflicts, by phase.
    pub spent: Vec<(PhaseNumber, Spent)>,
}

/// What came of one phase.
#[derive(Clone, Debug)]
pub enum HandOutcome {
    /// It is in the target, or would be.
    Merged {
        /// The merge; nothing for a dry run.
        commit: Option<String>,
        /// What people should know about it.
        note: String,
    },
    /// It was in the target before.
    AlreadyMerged,
    /// It conflicts; nothing was changed.
    Conflict {
        /// In which files.
        files: Vec<Clash>,
        /// What a person can do.
        settle: String,
    },
    /// It could not be merged.
    Failed {
        /// Why.
        reason: String,
    },
}

/// Merges phases one after the other, and lets the branch follow.
///
/// What cannot be merged is left out, and the others go on without it.
pub fn by_hand(job: ByHand<'_>) -> Result<Handled, EngineError> {
    let project = job.project.in_main_worktree()?;
    let _lock = take_lead(&project)?;
    let git = Git::new(project.repository.as_ref().map_or(&project.root, |r| &r.top));
    let (target, tip) = target(&project, &git, job.into)?;
    let name = format!("by-hand-{}", target.replace('%', "%25").replace('/', "%2F"));
    let run = RunDir::new(&project.engine_dir.join("by-hand"), &name)?;
    let site = Site::at(project, run, job.exe);
    let mut handled = Handled { target, phases: Vec::new(), behind: None, spent: Vec::new() };
    if job.dry_run {
        try_all(&site, &git, job.phases, &tip, &mut handled)?;
        return Ok(handled);
    }
    begin(&site, &git, &tip)?;
    let (sender, news) = mpsc::channel();
    let free = Repository::new(&site, sender);
    for number in job.phases {
        let branch = site.worktree(number)?.branch;
        let head = head_of(&git, &branch)?;
        let before = git.commit_of(&run_ref(&site))?;
        let is_in = before.is_some_and(|tip| git.is_ancestor(&head, &tip).unwrap_or(false));
        let outcome = phase(&site, number)?.merge(&head, (None, None), &free)?;
        handled.phases.push((*number, branch, told(outcome, is_in)));
    }
    end(&site, &git, &mut handled, &free)?;
    handled.spent = news.try_iter().filter_map(spent).collect();
    Ok(handled)
}

fn spent(news: Wake) -> Option<(PhaseNumber, Spent)> {
    match news {
        Wake::Spent(phase, spent) => Some((phase, spent)),
        _ => None,
    }
}

fn phase<'a>(site: &'a Site, number: &'a PhaseNumber) -> Result<Phase<'a>, EngineError> {
    Phase::new(site, number, 0, Money::default())
}

fn head_of(git: &Git, branch: &str) -> Result<String, EngineError> {
    git.commit_of(&format!("refs/heads/{branch}"))?.ok_or_else(|| {
        EngineError::refused(format!("there is no branch {branch}"), "git branch --list")
    })
}

fn told(outcome: Outcome, is_in: bool) -> HandOutcome {
    match outcome {
        Outcome::Merged { .. } if is_in => HandOutcome::AlreadyMerged,
        Outcome::Merged { commit, note } => HandOutcome::Merged { commit: Some(commit), note },
        Outcome::Conflict { files, settle } => HandOutcome::Conflict { files, settle },
        Outcome::Failed { reason } => HandOutcome::Failed { reason },
        _ => HandOutcome::Failed { reason: "git gave no answer".to_owned() },
    }
}

/// Brings the reference to where the branch is, unless it is ahead because of an earlier merge whose
/// branch has not followed yet.
fn begin(site: &Site, git: &Git, tip: &str) -> Result<(), EngineError> {
    let name = run_ref(site);
    let old = git.commit_of(&name)?;
    if let Some(old) = &old {
        if git.is_ancestor(tip, old)? {
            return Ok(());
        }
        if !git.is_ancestor(old, tip)? {
            rescue::keep(git, site.run.run(), old).map_err(host)?;
        }
    }
    let from = old.unwrap_or_default();
    git.run(&["update-ref", "-m", "mow: merge by hand", &name, tip, &from])?;
    Ok(())
}

/// Lets the branch follow; the reference goes when it has.
fn end(
    site: &Site,
    git: &Git,
    handled: &mut Handled,
    free: &Repository,
) -> Result<(), EngineError> {
    trial::clear(site)?;
    let name = run_ref(site);
    let Some(tip) = git.commit_of(&name)? else { return Ok(()) };
    match follow(site, &handled.target, ["", &tip], free)? {
        Outcome::Refused { reason, command } => handled.behind = Some((reason, command)),
        Outcome::Failed { reason } => handled.behind = Some((reason, String::new())),
        _ => {
            for (number, _, outcome) in &handled.phases {
                if matches!(outcome, HandOutcome::Merged { .. } | HandOutcome::AlreadyMerged) {
                    phase(site, number)?.finish(&tip)?;
                }
            }
            let tip = git.commit_of(&name)?.unwrap_or(tip);
            if git.is_ancestor(&tip, &format!("refs/heads/{}", handled.target))? {
                git.run(&["update-ref", "-d", &name, &tip])?;
            }
        }
    }
    Ok(())
}

/// Says what would come of merging the phases, each on top of those before it.
fn try_all(
    site: &Site,
    git: &Git,
    phases: &[PhaseNumber],
    tip: &str,
    handled: &mut Handled,
) -> Result<(), EngineError> {
    let mut onto = tip.to_owned();
    for number in phases {
        let head = head_of(git, &site.worktree(number)?.branch)?;
        let phase = phase(site, number)?;
        let mut job = phase.job(git, &head)?;
        // By commits alone, so that nothing is known of earlier merges but what they brought.
        (job.run_ref, job.message) = (onto.clone(), format!("Merge phase {number}"));
        let outcome = match host_merge::plan(git, &job).map_err(host)? {
            Planned::Ready(ready) => {
                onto = host_merge::sketch(git, &ready)?;
                let left = ready.left_out.join(", ");
                let note = if left.is_empty() { left } else { format!("left out: {left}") };
                HandOutcome::Merged { commit: None, note }
            }
            Planned::Not(MergeOutcome::Conflict { files }) => {
                let settle = phase.how_to_settle(&handled.target, &files);
                HandOutcome::Conflict { files: clashes(&files), settle }
            }
            Planned::Not(_) => HandOutcome::AlreadyMerged,
        };
        handled.phases.push((*number, phase.place.branch.clone(), outcome));
    }
    Ok(())
}
