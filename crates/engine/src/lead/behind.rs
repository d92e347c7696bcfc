//! A branch that stands behind what runs did: the lead died while it brought it along, or could not.
//!
//! The next run begins from what is in the root, so this comes first, before anything is chosen.

use std::path::Path;
use std::sync::mpsc;

use mow_core::lead::{Lead, Outcome, Standing};
use mow_host::follow::{self, AGAIN};
use mow_host::git::Git;
use mow_store::disk::Lock;
use mow_store::project::Project;
use mow_store::run_files;
use mow_store::worktree_home::worktrees_lock;

use super::effects::{CHANGED_WITHIN, Repository};
use super::world::Wake;
use super::{load, merge, take_lead};
use crate::EngineError;
use crate::site::Site;

/// A branch that has not followed a run.
#[derive(Clone, Debug)]
pub struct Behind {
    /// The run.
    pub run: String,
    /// The branch.
    pub branch: String,
    /// Why it did not follow.
    pub reason: String,
    /// The command that makes it.
    pub command: String,
}

/// Lets the branch come to where a lead was bringing it when it died, and follow the last run once
/// more where it did not; returns why it still does not, and the command that makes it.
///
/// Nothing is done beside a lead: it brings the branch along itself.
pub fn catch_up(
    project: &Project,
    exe: &Path,
    mut tell: impl FnMut(&str),
) -> Result<Option<Behind>, EngineError> {
    let project = project.in_main_worktree()?;
    let top = project.top();
    let last = refused_last(&project, exe)?;
    if last.is_none() && !follow::is_begun(top)? {
        return Ok(None);
    }
    let _lock = match take_lead(&project) {
        Err(EngineError::Led { .. }) => return Ok(None),
        lock => lock?,
    };
    // Leads of other projects in the repository may be bringing the same branch along.
    let _alone = Lock::acquire(&worktrees_lock(&project), CHANGED_WITHIN)?;
    // Half of the files are there then, and must not be taken for the user's.
    let planning = project.planning_below_top();
    if let Some(branch) = follow::finish(top, &[planning])? {
        tell(&format!("{branch} was on its way to what a run did, and is there now"));
    }
    last.map_or(Ok(None), |(site, lead)| follow_last(&site, lead, tell))
}

/// Returns the last run if it is over and its branch did not follow.
fn refused_last(project: &Project, exe: &Path) -> Result<Option<(Site, Lead)>, EngineError> {
    let Some(run) = run_files::latest(project)? else { return Ok(None) };
    let site = Site::new(project, &run, exe)?;
    let (lead, _) = load(&site.run)?;
    let is_so = lead.follow_refused.is_some() && lead.standing() == Standing::Done;
    Ok(is_so.then_some((site, lead)))
}

fn follow_last(
    site: &Site,
    lead: Lead,
    mut tell: impl FnMut(&str),
) -> Result<Option<Behind>, EngineError> {
    let (sender, news) = mpsc::channel();
    let (places, free) = ([&*lead.stands_at, &*lead.tip], Repository::new(site, sender));
    let full = format!("refs/heads/{}", lead.target);
    let stands_at = || Git::new(site.top()).commit_of(&full);
    let before = stands_at()?;
    let outcome = merge::follow(site, &lead.target, places, &free)?;
    for news in news.try_iter() {
        if let Wake::Told(told) = news {
            tell(&told);
        }
    }
    let (run, branch) = (site.run.run().to_owned(), lead.target);
    Ok(match outcome {
        Outcome::Refused { reason, command } => Some(Behind { run, branch, reason, command }),
        Outcome::Failed { reason } => {
            Some(Behind { run, branch, reason, command: AGAIN.to_owned() })
        }
        _ => {
            if stands_at()? != before {
                tell(&format!("{branch} has what run {run} did now"));
            }
            None
        }
    })
}
