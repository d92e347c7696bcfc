//! The messages that wake the main loop of the lead, sent by its threads.

use mow_core::lead::Outcome;
use mow_core::money::AgentSpending;
use mow_core::phase::PhaseNumber;

/// Why the main loop of the lead wakes up.
pub(super) enum WakeReason {
    /// A watched file changed.
    FilesChanged,
    /// An effect ended: its number and outcome.
    EffectFinished(u64, Outcome),
    /// A worker and all its processes have ended: phase and attempt.
    WorkerGone(PhaseNumber, u32),
    /// The write of the planning files ended, successfully or not.
    ProjectionWritten,
    /// A warning to show now.
    Warning(String),
    /// A notice that is recorded in the journal.
    Notice(String),
    /// A note about a phase, such as an expected conflict.
    PhaseNote(PhaseNumber, String),
    /// What an agent of the lead used for a phase.
    Spent(PhaseNumber, AgentSpending),
    /// SIGINT, SIGTERM or SIGHUP arrived.
    Interrupted,
}
