//! Which ready phases can start, and which wait for a phase that claims the same files.
//!
//! The scheduler asks after every event which phase starts next. To search all ready phases each
//! time would cost time in the square of the phases. So each blocked phase is listed under one
//! phase that blocks it, and is looked at again only when that phase changes its claim.

use std::collections::{BTreeMap, BTreeSet};

use crate::file_scope::FileOwners;
use crate::phase::PhaseNumber;

/// The sort key of a ready phase: phases that have executed before come first.
pub(super) type ReadyKey = (bool, PhaseNumber);

/// The phases that may start, by whether another phase claims their files.
#[derive(Clone, Debug, Default)]
pub(super) struct StartablePhases {
    /// Phases whose files nobody claims.
    free: BTreeSet<ReadyKey>,
    /// The files of these phases.
    free_files: FileOwners<PhaseNumber>,
    /// The other phases, each with one phase that claims a file of it.
    blocked: BTreeMap<PhaseNumber, (ReadyKey, PhaseNumber)>,
    /// For each phase that blocks others, the phases that are listed under it.
    waiting: BTreeMap<PhaseNumber, BTreeSet<PhaseNumber>>,
}

/// Two lists are equal if the same phases are free and blocked. Which one of several blocking
/// phases a phase is listed under depends on the order of events.
impl PartialEq for StartablePhases {
    fn eq(&self, other: &Self) -> bool {
        self.free == other.free && self.blocked.keys().eq(other.blocked.keys())
    }
}

impl StartablePhases {
    /// Returns the first phase whose files nobody claims.
    pub(super) fn first(&self) -> Option<PhaseNumber> {
        self.free.first().map(|(_, number)| *number)
    }

    /// Adds a ready phase with the files that it wants, or updates it.
    pub(super) fn insert(
        &mut self,
        key: ReadyKey,
        files: &[String],
        claims: &FileOwners<PhaseNumber>,
    ) {
        let number = key.1;
        self.remove(key);
        match claims.overlapping_owners(number, files).next() {
            Some(blocker) => {
                self.blocked.insert(number, (key, blocker));
                self.waiting.entry(blocker).or_default().insert(number);
            }
            None => {
                self.free.insert(key);
                self.free_files.set(number, files);
            }
        }
    }

    /// Removes a phase that is not ready any more.
    pub(super) fn remove(&mut self, key: ReadyKey) {
        let number = key.1;
        if self.free.remove(&key) {
            self.free_files.set(number, &[]);
        }
        if let Some((_, blocker)) = self.blocked.remove(&number)
            && let Some(waiting) = self.waiting.get_mut(&blocker)
        {
            waiting.remove(&number);
            if waiting.is_empty() {
                self.waiting.remove(&blocker);
            }
        }
    }

    /// Updates the phases that a changed claim of a phase blocks or blocked.
    pub(super) fn claim_changed(
        &mut self,
        owner: PhaseNumber,
        claims: &FileOwners<PhaseNumber>,
        wanted: &FileOwners<PhaseNumber>,
    ) {
        for number in self.waiting.remove(&owner).unwrap_or_default() {
            let Some((key, blocker)) = self.blocked.get_mut(&number) else { continue };
            let files = wanted.paths_of(number);
            match claims.overlapping_owners(number, files).next() {
                Some(next) => {
                    *blocker = next;
                    self.waiting.entry(next).or_default().insert(number);
                }
                None => {
                    self.free.insert(*key);
                    self.free_files.set(number, files);
                    self.blocked.remove(&number);
                }
            }
        }
        let claim = claims.paths_of(owner);
        while let Some(key) = self.free_phase_with(owner, claim) {
            self.insert(key, wanted.paths_of(key.1), claims);
        }
    }

    /// Returns a free phase that wants one of some files.
    fn free_phase_with(&self, owner: PhaseNumber, files: &[String]) -> Option<ReadyKey> {
        let number = self.free_files.overlapping_owners(owner, files).next()?;
        [(false, number), (true, number)].into_iter().find(|key| self.free.contains(key))
    }

    /// Fails if a phase is listed under one that claims none of its files.
    pub(super) fn check(
        &self,
        claims: &FileOwners<PhaseNumber>,
        wanted: &FileOwners<PhaseNumber>,
    ) -> Result<(), String> {
        for (number, (_, blocker)) in &self.blocked {
            let (claim, files) = (claims.paths_of(*blocker), wanted.paths_of(*number));
            if crate::file_scope::common_path(claim, files).is_none() {
                return Err(format!(
                    "phase {number} waits for {blocker}, which claims no such file"
                ));
            }
        }
        Ok(())
    }
}
