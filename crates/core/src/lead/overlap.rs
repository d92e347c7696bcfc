//! Serialises phases that change the same files, unless `force` is set.
//!
//! A phase that has begun claims the files that its plans name until it is merged or halts. Another
//! phase that names one of them waits without a worker. Only phases that have not begun wait, and
//! only for a phase that needs no person to continue, so there is no deadlock.

use super::index::waves;
use super::{Lead, PhaseSpec, PhaseState, Status};
use crate::file_scope;
use crate::phase::PhaseNumber;

/// The most phases of a wave that are compared with each other.
const COMPARED_MAX: usize = 200;

impl PhaseSpec {
    /// Groups phases by wave, in the order of the waves.
    pub fn by_wave(specs: &[Self]) -> Vec<Vec<&Self>> {
        let waves = waves(specs.iter().collect());
        let mut all = vec![Vec::new(); waves.values().copied().max().unwrap_or(0)];
        for spec in specs {
            all[waves[&spec.number] - 1].push(spec);
        }
        all
    }

    /// Returns each pair of phases of a wave whose plans name the same file, with one such file.
    pub fn overlaps<'a>(wave: &[&'a Self]) -> Vec<(PhaseNumber, PhaseNumber, &'a str)> {
        let with_plans =
            wave.iter().filter_map(|spec| Some((spec.number, spec.touches.as_deref()?)));
        let with_plans: Vec<_> = with_plans.take(COMPARED_MAX).collect();
        let mut pairs = Vec::new();
        for (n, (a, own)) in with_plans.iter().enumerate() {
            for (b, other) in &with_plans[n + 1..] {
                pairs.extend(file_scope::common_path(own, other).map(|path| (*a, *b, path)));
            }
        }
        pairs
    }
}

impl PhaseState {
    /// Returns the files that the plans name; `None` while the phase has no plans.
    pub fn files(&self) -> Option<&[String]> {
        self.planned_files.as_deref().or(self.spec.touches.as_deref())
    }

    /// Returns whether the current attempt runs and only looks ahead.
    pub fn looks_ahead(&self) -> bool {
        self.through.is_some() && self.status.holds_slot()
    }

    /// Returns the files that no other phase may change until this one is merged.
    pub(super) fn claimed_files(&self) -> &[String] {
        let has_begun = self.status.holds_slot() && self.through.is_none()
            || matches!(self.status, Status::Complete | Status::Merging);
        match self.files() {
            // Old work that stays as it is must not keep the named phases from starting.
            _ if !has_begun || self.is_left_out() => &[],
            Some(files) => files,
            None => &self.reserved_files,
        }
    }
}

impl Lead {
    /// Returns the phase that must be merged before this one may begin, because both change the same
    /// files, and one of these files.
    pub fn blocking_phase<'a>(&'a self, state: &'a PhaseState) -> Option<(PhaseNumber, &'a str)> {
        let own = state.files()?;
        let other = self.phases_claiming_files_of(state).min()?;
        Some((other, file_scope::common_path(self.index.claimed_files.paths_of(other), own)?))
    }

    /// Returns whether no other phase claims files that this phase changes.
    pub(super) fn is_free(&self, state: &PhaseState) -> bool {
        self.phases_claiming_files_of(state).next().is_none()
    }

    /// Returns the other phases that claim files of this phase.
    fn phases_claiming_files_of<'a>(
        &'a self,
        state: &'a PhaseState,
    ) -> impl Iterator<Item = PhaseNumber> + 'a {
        let own = state.files().filter(|_| !self.settings.force).unwrap_or_default();
        self.index.claimed_files.overlapping_owners(state.spec.number, own)
    }

    /// Returns a complete phase whose files a ready phase waits for, although its wave is open.
    pub(super) fn complete_phase_others_wait_for(&self) -> Option<PhaseNumber> {
        if self.settings.force {
            return None;
        }
        let is_wanted = |number: &PhaseNumber| {
            let claim = self.index.claimed_files.paths_of(*number);
            self.index.wanted_files.overlapping_owners(*number, claim).next().is_some()
        };
        self.index.to_merge.iter().map(|(_, number)| *number).find(is_wanted)
    }

    /// Returns whether no other phase can start while this one runs: all others depend on it.
    pub(super) fn is_only_startable(&self, state: &PhaseState) -> bool {
        self.index.unblocked.iter().all(|other| *other == state.spec.number)
    }

    /// Returns the files that a worker may change without asking the lead first.
    pub(super) fn cleared_files(&self, state: &PhaseState) -> Vec<String> {
        let is_free = self.settings.force || state.through.is_some();
        match state.files() {
            _ if is_free => vec![file_scope::EVERYTHING.to_owned()],
            // The plans may have become known only after the phase began.
            Some(_) if !self.is_free(state) => Vec::new(),
            Some(files) => files.to_vec(),
            None if self.is_only_startable(state) => vec![file_scope::EVERYTHING.to_owned()],
            None => Vec::new(),
        }
    }
}
