//! Phases that change the same files: one after the other, unless a person wants it otherwise.
//!
//! A phase that has begun keeps the files that its plans name until it is merged or halts. Another
//! one that names them, too, waits without a worker. Only phases that have not begun wait, and only
//! for one that moves by itself, so nobody waits in a circle.

use super::index::waves;
use super::{Lead, PhaseSpec, Status, Track};
use crate::phase::PhaseNumber;
use crate::touch;

/// How many phases of a wave are compared with each other.
const COMPARED_MAX: usize = 200;

impl PhaseSpec {
    /// Returns some phases by their waves, in order.
    pub fn by_wave(specs: &[Self]) -> Vec<Vec<&Self>> {
        let waves = waves(specs.iter().collect());
        let mut all = vec![Vec::new(); waves.values().copied().max().unwrap_or(0)];
        for spec in specs {
            all[waves[&spec.number] - 1].push(spec);
        }
        all
    }

    /// Finds the phases of a wave whose plans change the same files, with one of these.
    pub fn overlaps<'a>(wave: &[&'a Self]) -> Vec<(PhaseNumber, PhaseNumber, &'a str)> {
        let known = wave.iter().filter_map(|spec| Some((spec.number, spec.touches.as_deref()?)));
        let known: Vec<_> = known.take(COMPARED_MAX).collect();
        let mut found = Vec::new();
        for (n, (a, own)) in known.iter().enumerate() {
            for (b, other) in &known[n + 1..] {
                found.extend(touch::common(own, other).map(|path| (*a, *b, path)));
            }
        }
        found
    }
}

impl Track {
    /// Returns the files that its plans change; `None` while it has no plans.
    pub fn touches(&self) -> Option<&[String]> {
        self.planned.as_deref().or(self.spec.touches.as_deref())
    }

    /// Returns whether its current attempt only looks ahead.
    pub fn looks_ahead(&self) -> bool {
        self.through.is_some() && self.status.holds_slot()
    }

    /// Returns the files that others must leave alone until it is merged.
    pub(super) fn claim(&self) -> &[String] {
        let has_begun = self.status.holds_slot() && self.through.is_none()
            || matches!(self.status, Status::Complete | Status::Merging);
        match self.touches() {
            _ if !has_begun => &[],
            Some(files) => files,
            None => &self.reserved,
        }
    }
}

impl Lead {
    /// Returns a phase that must be merged before another one may begin, because both change the
    /// same files, and one of these.
    pub fn in_the_way<'a>(&'a self, track: &'a Track) -> Option<(PhaseNumber, &'a str)> {
        let own = track.touches()?;
        let other = self.claimants(track).min()?;
        Some((other, touch::common(self.claims.paths_of(other), own)?))
    }

    /// Returns whether nobody else keeps files that a phase changes.
    pub(super) fn is_free(&self, track: &Track) -> bool {
        self.claimants(track).next().is_none()
    }

    /// Returns phases that keep files that another one changes, too, the first among them.
    fn claimants<'a>(&'a self, track: &'a Track) -> impl Iterator<Item = PhaseNumber> + 'a {
        let own = track.touches().filter(|_| !self.settings.force).unwrap_or_default();
        self.claims.others(track.spec.number, own)
    }

    /// Returns a complete phase that others of an open wave wait for.
    pub(super) fn wanted_early(&self) -> Option<PhaseNumber> {
        if self.settings.force {
            return None;
        }
        let is_wanted = |number: &PhaseNumber| {
            let claim = self.claims.paths_of(*number);
            self.wants.others(*number, claim).next().is_some()
        };
        self.to_merge.iter().map(|(_, number)| *number).find(is_wanted)
    }

    /// Returns whether all other phases come after this one: nothing can begin beside it.
    pub(super) fn is_alone(&self, track: &Track) -> bool {
        let mut others = self.phases.values().filter(|other| {
            other.unmet == 0 && !other.status.is_over() && other.spec.number != track.spec.number
        });
        others.next().is_none()
    }

    /// Returns the files that the plans of a phase may change without asking.
    pub(super) fn clear_for(&self, track: &Track) -> Vec<String> {
        let is_free = self.settings.force || track.through.is_some();
        match track.touches() {
            _ if is_free => vec![touch::EVERYTHING.to_owned()],
            // What it changes may have become known only after it was let begin.
            Some(_) if !self.is_free(track) => Vec::new(),
            Some(files) => files.to_vec(),
            None if self.is_alone(track) => vec![touch::EVERYTHING.to_owned()],
            None => Vec::new(),
        }
    }
}
