//! Keeps the run's ref where the lead has put it.
//!
//! What somebody else puts there would become a part of everything that is merged later, and nobody
//! would have checked it. So each move is noted before it is made, and the ref is looked at before
//! anything is built on it: one that stands elsewhere goes back, and what it stood at is kept for people.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mow_host::git::Git;
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use super::merge::{host, run_ref};
use crate::EngineError;
use crate::site::Site;

/// How the run's ref was found.
pub(super) enum Found {
    /// Where it should be.
    Steady,
    /// Nowhere: it was made.
    New,
    /// Elsewhere; says what people should know.
    MovedBack(String),
}

/// Where the run's ref has to be.
#[derive(Debug, Default)]
pub(super) struct Steady {
    /// Where it stands, once somebody has looked.
    place: Mutex<Option<String>>,
}

impl Steady {
    /// Makes sure that the ref stands where the lead left it; it begins where the run stands.
    ///
    /// Nobody else of ours may move it meanwhile.
    pub(super) fn look(&self, site: &Site, git: &Git, onto: &str) -> Result<Found, EngineError> {
        let (name, at) = (run_ref(site), git.commit_of(&run_ref(site))?);
        let mut place = self.place();
        let wanted = match &*place {
            Some(place) => place.clone(),
            // An earlier lead may have moved it, and died before it wrote that down.
            None if at.is_some() && at == noted(site)? => at.clone().unwrap_or_default(),
            None => onto.to_owned(),
        };
        let found = match at {
            Some(at) if at == wanted => Found::Steady,
            Some(at) => {
                let kept = rescue::keep(git, site.run.run(), &at).map_err(host)?;
                failpoint::reach("run.ref.kept");
                git.run(&["update-ref", "-m", "mow: moved back", &name, &wanted, &at])?;
                failpoint::reach("run.ref.moved_back");
                let rescued = kept.name.strip_prefix("refs/mow/rescue/").unwrap_or(&kept.name);
                Found::MovedBack(format!(
                    "somebody moved {name} to {}, which nobody has checked; it was moved back, and \
                     what it stood at is kept: mow rescue restore {rescued}",
                    at.get(..8).unwrap_or(&at),
                ))
            }
            None => {
                git.run(&["update-ref", &name, &wanted, ""])?;
                failpoint::reach("run.ref.made");
                Found::New
            }
        };
        *place = Some(wanted);
        Ok(found)
    }

    /// Returns whether the ref was found, or put, at a commit.
    pub(super) fn is_at(&self, commit: &str) -> bool {
        self.place().as_deref() == Some(commit)
    }

    /// Notes that the ref is about to be moved.
    pub(super) fn intend(&self, site: &Site, to: &str) -> Result<(), EngineError> {
        site.run.create()?;
        let writer = Writer::open_engine(&site.project, WAIT_DEFAULT)?;
        writer.replace(&note(site), format!("{to}\n").as_bytes())?;
        failpoint::reach("run.ref.noted");
        Ok(())
    }

    /// Notes that it was moved.
    pub(super) fn moved(&self, to: &str) {
        *self.place() = Some(to.to_owned());
    }

    fn place(&self) -> MutexGuard<'_, Option<String>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn note(site: &Site) -> PathBuf {
    site.run.path().join("target.next")
}

/// Returns where the ref was to be moved last.
fn noted(site: &Site) -> Result<Option<String>, EngineError> {
    let bytes = disk::read(&note(site))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
}
