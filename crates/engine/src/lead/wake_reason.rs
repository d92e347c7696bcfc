//! The messages that wake the main loop of the lead, sent by its threads.

use mow_core::lead::Outcome;
use mow_core::money::AgentSpending;
use mow_core::phase::PhaseNumber;

/// The most messages that wait for the main loop of the lead.
///
/// A burst has one message for each running effect and each ended worker. When the queue is full,
/// other threads wait until the loop has read, so that no outcome is lost. The loop itself never
/// sends, and a thread that the loop waits for never waits for the queue.
pub(super) const QUEUE_MAX: usize = 1024;

/// Why the main loop of the lead wakes up.
pub(super) enum WakeReason {
    /// A watched file changed.
    FilesChanged,
    /// An effect ended: its number and outcome.
    EffectFinished(u64, Outcome),
    /// The link to the workers has events.
    WorkerChanged,
    /// The write of the planning files ended, successfully or not.
    ProjectionWritten,
    /// A notice that is recorded in the journal.
    Notice(String),
    /// A note about a phase, such as an expected conflict.
    PhaseNote(PhaseNumber, String),
    /// What an agent of the lead used for a phase.
    Spent(PhaseNumber, AgentSpending),
    /// SIGINT, SIGTERM or SIGHUP arrived.
    Interrupted,
}
