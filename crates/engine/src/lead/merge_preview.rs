//! Previews the merges of complete phases in memory, to report conflicts while other phases still
//! run.
//!
//! A preview changes no ref and no file; its only result is a note. It runs a while after a phase
//! is complete, since a wave that ends soon needs no preview.

use std::collections::BTreeSet;

use mow_core::lead::{Event, Input, Lead, Status};
use mow_core::money::Spending;
use mow_core::phase::PhaseNumber;
use mow_host::git::Git;
use mow_host::merge;

use super::merge::{PhaseMerge, conflicted_files};
use crate::EngineError;
use crate::run_context::RunContext;

/// How long after a phase is complete the preview runs.
const AFTER_MS: u64 = 2_000;
/// The most phases in one preview.
const PHASES_MAX: usize = 32;

/// Schedules previews, and remembers the notes that were made.
#[derive(Default)]
pub(super) struct MergePreview {
    due: Option<u64>,
    notes_made: BTreeSet<(PhaseNumber, String)>,
}

/// Complete phases with attempt and commit, to be merged on top of `tip`.
pub(super) struct PreviewJob {
    tip: String,
    phases: Vec<(PhaseNumber, u32, String)>,
}

impl MergePreview {
    /// Schedules a preview if one of the events completes a phase.
    pub(super) fn schedule(&mut self, events: &[Event], now: u64) {
        let completes =
            |event: &Event| matches!(event, Event::StatusChanged { to: Status::Complete, .. });
        if events.iter().any(completes) {
            self.due.get_or_insert(now + AFTER_MS);
        }
    }

    /// Returns when the next preview is due.
    pub(super) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Returns the preview that is due now, if at least two phases are complete.
    pub(super) fn take(&mut self, lead: &Lead, now: u64) -> Option<PreviewJob> {
        self.due.take_if(|due| *due <= now)?;
        let complete = lead.phases.values().filter(|state| state.status == Status::Complete);
        let phases: Vec<_> = complete
            .filter_map(|state| Some((state.spec.number, state.attempt, state.commit.clone()?)))
            .take(PHASES_MAX)
            .collect();
        (phases.len() > 1).then(|| PreviewJob { tip: lead.target.tip.clone(), phases })
    }

    /// Returns a note for the lead, unless the same note was made before.
    pub(super) fn note(&mut self, phase: PhaseNumber, text: String) -> Option<Input> {
        let is_new = self.notes_made.insert((phase, text.clone()));
        is_new.then_some(Input::Noted { phase, text })
    }
}

/// Merges the phases in memory, one on top of the other; returns a note for each conflict.
pub(super) fn preview_merges(
    ctx: &RunContext,
    job: PreviewJob,
) -> Result<Vec<(PhaseNumber, String)>, EngineError> {
    let git = Git::new(ctx.top());
    let (mut onto, mut notes) = (job.tip, Vec::new());
    let mut before: Vec<(PhaseNumber, String)> = Vec::new();
    for (number, attempt, commit) in job.phases {
        let phase = PhaseMerge::new(ctx, &number, attempt, Spending::default())?;
        let mut job = phase.job_at(&commit);
        job.run_ref.clone_from(&onto);
        let files = match merge::try_merge(&git, &job)? {
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
            if merge::try_merge(&git, &job)?.is_err() {
                with.push(format!("phase {other}"));
            }
        }
        if with.is_empty() {
            with.push("merged work".to_owned());
        }
        let files: Vec<_> = conflicted_files(&files).iter().map(ToString::to_string).collect();
        let (with, files) = (with.join(", "), files.join(", "));
        notes.push((number, format!("its merge will conflict with {with} in {files}")));
    }
    Ok(notes)
}
