//! The state of one phase in a run that may be live, read from the lead's journal as it grows.

use mow_core::lead::{Lead, PhaseState, Status};
use mow_core::machine::Machine;
use mow_core::phase::PhaseNumber;
use mow_engine::lead::parse_events;
use mow_host::life_lock;
use mow_store::journal::JournalReader;
use mow_store::project::Project;
use mow_store::run_files::{self, RunDir};

use crate::failure::Failure;
use crate::runs::{find_phase, lead_pid};
use crate::terminal::fit_line;

/// A phase of a run.
pub(super) struct WatchedPhase {
    project: Project,
    dir: RunDir,
    /// The phase as the person named it.
    word: String,
    journal: JournalReader,
    lead: Lead,
}

impl WatchedPhase {
    pub(super) fn new(project: Project, dir: RunDir, word: &str) -> Self {
        let journal = JournalReader::new(&dir.journal()).without_sync();
        Self { project, dir, word: word.to_owned(), journal, lead: Lead::default() }
    }

    pub(super) fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// Reads the new records of the journal.
    pub(super) fn refresh(&mut self) -> Result<(), Failure> {
        for record in self.journal.poll()? {
            for event in parse_events(&self.dir, &record)? {
                self.lead.apply(&event, record.at);
            }
        }
        Ok(())
    }

    fn state(&self) -> Result<&PhaseState, Failure> {
        find_phase(&self.lead, self.dir.run(), &self.word)
    }

    pub(super) fn number(&self) -> Result<PhaseNumber, Failure> {
        Ok(self.state()?.spec.number)
    }

    /// Returns the newest attempt; `None` before the first one. An unknown phase is a failure.
    pub(super) fn newest_attempt(&self) -> Result<Option<u32>, Failure> {
        if self.lead.phases.is_empty() && self.has_live_lead()? {
            // The lead has not read the roadmap yet.
            return Ok(None);
        }
        Ok(Some(self.state()?.attempt).filter(|attempt| *attempt > 0))
    }

    /// Returns whether the phase has ended, or nothing is alive that would continue it.
    pub(super) fn is_over(&self) -> Result<bool, Failure> {
        // The processes are looked at even before the lead has read the roadmap.
        let state = if self.lead.phases.is_empty() { None } else { Some(self.state()?) };
        let ended = |state: &PhaseState| {
            matches!(state.status, Status::Merged | Status::Failed | Status::Cancelled)
        };
        if state.is_some_and(ended) {
            return Ok(true);
        }
        let lock = state.map(|state| self.dir.life_lock(&state.spec.number, state.attempt));
        // An unreadable lock counts as not held. The result is only shown, never acted on.
        let has_worker = lock.is_some_and(|lock| life_lock::is_alive(&lock).unwrap_or(false));
        Ok(!has_worker && !self.has_live_lead()?)
    }

    /// Returns whether a lead works on this run. A lead works on the newest run only.
    fn has_live_lead(&self) -> Result<bool, Failure> {
        let newest = run_files::latest_run(&self.project)?;
        Ok(newest.as_deref() == Some(self.dir.run()) && lead_pid(&self.project)?.is_some())
    }

    /// Returns the line above the entries of an attempt.
    pub(super) fn title(&self, attempt: u32) -> Result<String, Failure> {
        let (spec, run) = (&self.state()?.spec, self.dir.run());
        let text = format!("Phase {} {}, attempt {attempt}, run {run}", spec.number, spec.name);
        Ok(fit_line(&text, usize::MAX))
    }

    /// Returns a sentence about why nothing more is shown.
    pub(super) fn describe(&self) -> Result<String, Failure> {
        let state = self.state()?;
        let (number, why) = (state.spec.number, self.lead.explain_status(state));
        Ok(format!("phase {number} is {}: {why}", state.status.name()))
    }

    /// Returns the failure for a phase that has no attempt.
    pub(super) fn not_started(&self) -> Failure {
        let failure = Failure::refused(format!("phase {} has not started yet", self.word));
        match self.has_live_lead() {
            Ok(true) => failure.hint(format!("wait for it with mow logs {} --follow", self.word)),
            _ => failure.hint(format!("mow run {}", self.word)),
        }
    }

    /// Returns the failure for an attempt that does not exist.
    pub(super) fn no_such_attempt(&self, wanted: u32, newest: u32) -> Failure {
        Failure::refused(format!("phase {} has no attempt {wanted}", self.word))
            .hint(format!("its newest attempt is {newest}"))
    }
}
