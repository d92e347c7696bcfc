//! What a lead knows of the run's ref without asking, because it moved it itself.
//!
//! The commits of a worker cannot be older than the worker. So a ref that stood somewhere before the
//! worker was started, and that was moved by nobody but this process since, contains none of them.
//! When it stands anywhere else nothing is known, and git is asked.

use std::collections::{BTreeSet, VecDeque};

use mow_core::phase::PhaseNumber;

/// How many of the places are remembered where the ref stood.
const PLACES_MAX: usize = 256;

/// Where the ref stands, and who was started since it was watched.
#[derive(Debug, Default)]
pub(super) struct Watched {
    at: Option<String>,
    /// Where it stood while it was watched, the last place at the end.
    places: VecDeque<String>,
    started: BTreeSet<(PhaseNumber, u32)>,
}

impl Watched {
    /// Notes where the ref stands before a worker is started that has not been started before.
    pub(super) fn start(&mut self, phase: PhaseNumber, attempt: u32, at: Option<String>) {
        if self.at != at {
            let places = at.clone().into_iter().collect();
            *self = Self { at, places, started: BTreeSet::new() };
        }
        self.started.insert((phase, attempt));
    }

    /// Notes that this process moved the ref, or made it.
    pub(super) fn moved(&mut self, from: Option<&str>, to: &str) {
        if self.at.as_deref() == from {
            self.at = Some(to.to_owned());
            self.places.push_back(to.to_owned());
            let surplus = self.places.len().saturating_sub(PLACES_MAX);
            self.places.drain(..surplus);
        }
    }

    /// Returns whether the ref is known to have stood at one commit before it came to another one.
    pub(super) fn is_before(&self, one: &str, other: &str) -> bool {
        let place = |commit: &str| self.places.iter().position(|place| place == commit);
        place(one).zip(place(other)).is_some_and(|(one, other)| one <= other)
    }

    /// Returns where the ref stands without any commit of an attempt.
    ///
    /// Only once: whoever asks is about to merge it.
    pub(super) fn take(&mut self, phase: PhaseNumber, attempt: u32) -> Option<String> {
        let was_started = self.started.remove(&(phase, attempt));
        self.at.clone().filter(|_| was_started)
    }
}

#[cfg(test)]
mod tests;
