//! Pauses, resumes and cancels phases of a run.
//!
//! A command that would have no effect is refused at once, while the person still sees it.

use mow_core::lead::{Command, Lead, PhaseState, RunStatus, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::HaltReason;

use super::{Caller, Client, PersonRequest, Receipt, Refusal};

/// What a person can do with the phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseAction {
    /// Let the phases stop after a checkpoint.
    Pause,
    /// Let stopped phases continue.
    Resume,
    /// Give the phases up, after their current step.
    Cancel,
    /// Give the phases up at once.
    CancelNow,
}

/// Pauses, resumes or cancels one phase or all.
#[derive(Clone, Copy, Debug)]
pub struct SteerRequest {
    /// What to do.
    pub action: PhaseAction,
    /// The phase; `None` for all.
    pub phase: Option<PhaseNumber>,
}

impl PhaseAction {
    /// Returns the verb.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel | Self::CancelNow => "cancel",
        }
    }

    fn command(self, phase: Option<PhaseNumber>) -> Command {
        match self {
            Self::Pause => Command::Pause { phase },
            Self::Resume => Command::Resume { phase },
            Self::Cancel => Command::Cancel { phase, now: false },
            Self::CancelNow => Command::Cancel { phase, now: true },
        }
    }

    /// Returns whether the action would change a phase; `is_named` when the user named the phase.
    fn applies_to(self, state: &PhaseState, is_named: bool) -> bool {
        let status = state.status;
        match self {
            Self::Pause => {
                matches!(status, Status::Waiting | Status::Complete) || status.holds_slot()
            }
            // A worker that is stopping can still be resumed.
            Self::Resume if is_named => {
                matches!(status, Status::Paused | Status::Failed | Status::Cancelled)
                    || state.awaits_merge()
                    || status.holds_slot() && state.halt.is_some()
            }
            Self::Resume => {
                status == Status::Paused
                    || status.holds_slot() && state.halt_reason() == Some(HaltReason::Paused)
            }
            // A worker that ends after its current step can still be told to stop at once.
            Self::Cancel if status.holds_slot() => {
                state.halt_reason() != Some(HaltReason::Cancelled)
            }
            Self::Cancel | Self::CancelNow => {
                !matches!(status, Status::Merged | Status::Merging | Status::Cancelled)
            }
        }
    }
}

impl SteerRequest {
    /// Returns how many phases the request would affect now, or why it would be refused.
    ///
    /// While commands are queued, only the lead can tell; then the number may be 0.
    pub fn preview(&self, client: &Client<'_>) -> Result<usize, Refusal> {
        let (_, lead) = client.run()?;
        let named = match self.phase {
            Some(phase) => Some(lead.phases.get(&phase).ok_or(Refusal::UnknownPhase { phase })?),
            None => None,
        };
        let nothing_to_do = || Refusal::NothingToDo {
            action: self.action,
            phase: named.map(|state| (state.spec.number, state.status)),
        };
        if is_over(lead) {
            return Err(nothing_to_do());
        }
        let pending = client.pending()?;
        if pending.last() == Some(&self.action.command(self.phase)) {
            return Err(Refusal::AlreadyQueued { action: self.action });
        }
        let chosen = lead.phases.values().filter(|state| named.is_none_or(|n| n == *state));
        let affected = chosen.filter(|s| self.action.applies_to(s, named.is_some())).count();
        let closes_breaker =
            self.action == PhaseAction::Resume && named.is_none() && lead.starts.breaker_open;
        if affected == 0 && pending.is_empty() && !closes_breaker {
            return Err(nothing_to_do());
        }
        Ok(affected)
    }
}

impl PersonRequest for SteerRequest {
    type Receipt = Receipt;

    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<Receipt, Refusal> {
        let affected = self.preview(client)?;
        client.queue(self.action.command(self.phase), affected, caller)
    }
}

/// Changes the most workers of a live run that run at a time.
///
/// It holds until the next lead starts, which takes the number from its options and settings.
#[derive(Clone, Copy, Debug)]
pub struct WorkersRequest {
    /// The number; at least 1.
    pub max: usize,
}

impl PersonRequest for WorkersRequest {
    type Receipt = Receipt;

    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<Receipt, Refusal> {
        if is_over(client.run()?.1) {
            return Err(Refusal::RunOver);
        }
        // The next lead takes the number from its options and settings.
        if client.lead_pid()?.is_none() {
            return Err(Refusal::NoLead);
        }
        client.queue(Command::SetWorkers { max: self.max.max(1) }, 0, caller)
    }
}

/// Returns whether a run is done; a run that has not read the roadmap yet is not.
fn is_over(lead: &Lead) -> bool {
    lead.closed || !lead.phases.is_empty() && lead.status() == RunStatus::Done
}
