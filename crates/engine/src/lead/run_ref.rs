//! The ref that a run merges onto. Nobody but the lead may move it.
//!
//! What somebody else puts there would become a part of everything that is merged later, and nobody
//! would have checked it. So each move is noted before it is made, and the ref is looked at before
//! anything is built on it: one that stands elsewhere goes back, and what it stood at is kept for people.
//!
//! That saves questions, too: the commits of a worker cannot be older than the worker, so a ref that
//! only merges of other phases have moved since it was started contains none of them.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::rescue;
use mow_store::disk::{self, WAIT_DEFAULT, Writer};

use super::merge::host;
use crate::EngineError;
use crate::site::Site;

/// How many of the places are remembered where the ref stood.
const PLACES_MAX: usize = 256;

/// Returns the name of a run's ref.
pub(super) fn run_ref(site: &Site) -> String {
    format!("refs/mow/run/{}/target", site.run.run())
}

/// What this process knows of the run's ref, and its only way to move it.
#[derive(Debug, Default)]
pub(super) struct RunRef {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Where it stood since somebody looked; now it stands at the last of them.
    places: VecDeque<String>,
    /// Whose commits it cannot contain.
    started: BTreeSet<(PhaseNumber, u32)>,
}

impl RunRef {
    /// Makes sure that the ref stands where the lead left it; it begins where the run stands. Returns
    /// what people should know.
    ///
    /// Nobody else of ours may move it meanwhile.
    pub(super) fn look(
        &self,
        site: &Site,
        git: &Git,
        onto: &str,
    ) -> Result<Option<String>, EngineError> {
        let (name, at) = (run_ref(site), git.commit_of(&run_ref(site))?);
        let mut known = self.known();
        let wanted = match known.place() {
            Some(place) => place.to_owned(),
            // An earlier lead may have moved it, and died before it wrote that down.
            None if at.is_some() && at == noted(site)? => at.clone().unwrap_or_default(),
            None => onto.to_owned(),
        };
        let told = match at {
            Some(at) if at == wanted => None,
            Some(at) => Some(move_back(site, git, (&at, &wanted))?),
            None => {
                git.run(&["update-ref", &name, &wanted, ""])?;
                failpoint::reach("run.ref.made");
                None
            }
        };
        known.come_to(&wanted);
        Ok(told)
    }

    /// Moves the ref from one commit to another; `None` when it does not stand there any more.
    ///
    /// Whoever has not looked, as a merge by hand, may find it anywhere.
    pub(super) fn advance<T>(
        &self,
        site: &Site,
        (from, to): (&str, &str),
        swap: impl FnOnce() -> Result<Option<T>, EngineError>,
    ) -> Result<Option<T>, EngineError> {
        let mut known = self.known();
        match known.place() {
            None => return swap(),
            Some(place) if place != from => return Ok(None),
            Some(_) => {}
        }
        intend(site, to)?;
        let swapped = swap()?;
        if swapped.is_some() {
            known.come_to(to);
        }
        Ok(swapped)
    }

    /// Notes that a worker is about to be started that has not been started before.
    pub(super) fn start(&self, phase: PhaseNumber, attempt: u32) {
        self.known().started.insert((phase, attempt));
    }

    /// Notes that commits of people were merged, who may have merged those of workers.
    pub(super) fn take_in(&self) {
        self.known().started.clear();
    }

    /// Returns where the ref stands if it contains no commit of an attempt.
    ///
    /// Only once: whoever asks is about to merge it.
    pub(super) fn place_without(&self, phase: PhaseNumber, attempt: u32) -> Option<String> {
        let mut known = self.known();
        let was_started = known.started.remove(&(phase, attempt));
        known.place().filter(|_| was_started).map(str::to_owned)
    }

    /// Returns whether the ref is known to have stood at one commit before it came to another one.
    pub(super) fn is_before(&self, one: &str, other: &str) -> bool {
        let known = self.known();
        let place = |commit: &str| known.places.iter().position(|place| place == commit);
        place(one).zip(place(other)).is_some_and(|(one, other)| one <= other)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn place(&self) -> Option<&str> {
        self.places.back().map(String::as_str)
    }

    fn come_to(&mut self, place: &str) {
        if self.place() != Some(place) {
            self.places.push_back(place.to_owned());
            let surplus = self.places.len().saturating_sub(PLACES_MAX);
            self.places.drain(..surplus);
        }
    }
}

/// Moves the ref back to where the lead left it; returns what people should know.
fn move_back(site: &Site, git: &Git, (at, wanted): (&str, &str)) -> Result<String, EngineError> {
    let name = run_ref(site);
    let kept = rescue::keep(git, site.run.run(), at).map_err(host)?;
    failpoint::reach("run.ref.kept");
    git.run(&["update-ref", "-m", "mow: moved back", &name, wanted, at])?;
    failpoint::reach("run.ref.moved_back");
    let (rescued, short) = (kept.short_name(), at.get(..8).unwrap_or(at));
    Ok(format!(
        "somebody moved {name} to {short}, which nobody has checked; it was moved back, and what it \
         stood at is kept: mow rescue restore {rescued}"
    ))
}

/// Notes where the ref is about to be moved.
fn intend(site: &Site, to: &str) -> Result<(), EngineError> {
    site.run.create()?;
    let writer = Writer::open_engine(&site.project, WAIT_DEFAULT)?;
    writer.replace(&note(site), format!("{to}\n").as_bytes())?;
    failpoint::reach("run.ref.noted");
    Ok(())
}

/// Returns where the ref was to be moved last.
fn noted(site: &Site) -> Result<Option<String>, EngineError> {
    let bytes = disk::read(&note(site))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()))
}

fn note(site: &Site) -> PathBuf {
    site.run.path().join("target.next")
}

#[cfg(test)]
mod tests;
