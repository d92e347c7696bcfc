//! Tries the merges of a wave before it closes, so that conflicts are known while others still work.
//!
//! Nothing depends on it, and nothing of it can be seen but a note. It comes a while after a phase
//! is complete: a wave that closes soon needs none.

use std::collections::BTreeSet;

use mow_core::lead::{Event, Input, Lead, Status};
use mow_core::money::Money;
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::merge;

use super::merge::{Phase, clashes, host};
use crate::EngineError;
use crate::site::Site;

/// How long after a phase is complete its merge is tried.
const AFTER_MS: u64 = 2_000;
/// How many phases are tried at once.
const PHASES_MAX: usize = 32;

/// What is to be tried, and when.
#[derive(Default)]
pub(super) struct Foresight {
    due: Option<u64>,
    told: BTreeSet<(PhaseNumber, String)>,
}

/// Phases that wait for their merge, with their attempts and commits, on top of a commit.
pub(super) struct Waiting {
    tip: String,
    phases: Vec<(PhaseNumber, u32, String)>,
}

impl Foresight {
    /// Looks whether a phase is complete now.
    pub(super) fn heed(&mut self, events: &[Event], now: u64) {
        let is_it = |event: &Event| matches!(event, Event::Moved { to: Status::Complete, .. });
        if events.iter().any(is_it) {
            self.due.get_or_insert(now + AFTER_MS);
        }
    }

    /// Returns when something is to be tried.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Returns what is to be tried now: two phases at least, for one alone is merged soon enough.
    pub(super) fn take(&mut self, lead: &Lead, now: u64) -> Option<Waiting> {
        self.due.take_if(|due| *due <= now)?;
        let complete = lead.phases.values().filter(|track| track.status == Status::Complete);
        let phases: Vec<_> = complete
            .filter_map(|track| Some((track.spec.number, track.attempt, track.commit.clone()?)))
            .take(PHASES_MAX)
            .collect();
        (phases.len() > 1).then(|| Waiting { tip: lead.tip.clone(), phases })
    }

    /// Returns a note for the lead, unless it was made before.
    pub(super) fn note(&mut self, phase: PhaseNumber, text: String) -> Option<Input> {
        let is_new = self.told.insert((phase, text.clone()));
        is_new.then_some(Input::Noted { phase, text })
    }
}

/// Merges the phases in memory, one on top of the other; returns what people should know.
pub(super) fn foresee(
    site: &Site,
    waiting: Waiting,
) -> Result<Vec<(PhaseNumber, String)>, EngineError> {
    let git = Git::new(site.top());
    let (mut onto, mut notes) = (waiting.tip, Vec::new());
    let mut before: Vec<(PhaseNumber, String)> = Vec::new();
    for (number, attempt, commit) in waiting.phases {
        let phase = Phase::new(site, &number, attempt, Money::default())?;
        let mut job = phase.job_at(&commit);
        job.run_ref.clone_from(&onto);
        let files = match merge::glimpse(&git, &job).map_err(host)? {
            Ok(next) => {
                onto = next;
                before.push((number, commit));
                continue;
            }
            Err(files) => files,
        };
        let mut with = Vec::new();
        for (other, commit) in &before {
            job.run_ref.clone_from(commit);
            if merge::glimpse(&git, &job).map_err(host)?.is_err() {
                with.push(format!("phase {other}"));
            }
        }
        if with.is_empty() {
            with.push("what is merged".to_owned());
        }
        let files: Vec<_> = clashes(&files).iter().map(ToString::to_string).collect();
        let (with, files) = (with.join(", "), files.join(", "));
        notes.push((number, format!("its merge will conflict with {with} in {files}")));
    }
    Ok(notes)
}
