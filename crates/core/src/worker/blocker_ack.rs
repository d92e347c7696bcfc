//! Waits until the lead has acknowledged a blocker in strict mode.
//!
//! A worker in strict mode pauses when a plan is blocked, and a person decides. If the lead does not
//! even acknowledge the blocker, nobody would be asked: then the worker notes that in STATUS.md, and
//! continues with independent plans as in skip mode.

use super::{Effect, Event, PhaseSnapshot, Worker};
use crate::machine::Decision;

/// What the worker knows of the lead's answer to the newest blocker of this attempt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BlockerAck {
    /// When the newest blocker was reported, in milliseconds since 1970; `None` once it is
    /// acknowledged.
    unacknowledged_since: Option<u64>,
    /// Whether the lead did not acknowledge a blocker in time.
    is_lead_unresponsive: bool,
}

impl BlockerAck {
    /// Takes note of a new blocker.
    pub(super) fn begin(&mut self, at: u64) {
        self.unacknowledged_since = Some(at);
    }

    /// Takes note of the lead's acknowledgement.
    pub(super) fn acknowledge(&mut self) {
        self.unacknowledged_since = None;
    }

    /// Takes note that the lead did not acknowledge the blocker in time.
    pub(super) fn give_up(&mut self) {
        *self = Self { unacknowledged_since: None, is_lead_unresponsive: true };
    }
}

impl Worker {
    /// Returns whether the worker waits for the lead to acknowledge a blocker.
    pub fn awaits_blocker_ack(&self) -> bool {
        self.blocker_deadline().is_some()
    }

    /// Returns when the worker stops waiting for the acknowledgement of a blocker.
    pub(super) fn blocker_deadline(&self) -> Option<u64> {
        let found = self.snapshot.as_ref().filter(|found| found.settings.strict)?;
        let timeout = found.settings.blocker_timeout_ms?;
        let since = self.blocker_ack.unacknowledged_since?;
        (!self.blocker_ack.is_lead_unresponsive).then(|| since.saturating_add(timeout))
    }

    /// Returns whether a blocked plan stops all other plans.
    pub(super) fn is_stopped_by_blocker(&self, found: &PhaseSnapshot) -> bool {
        let is_strict = found.settings.strict && !self.blocker_ack.is_lead_unresponsive;
        is_strict && !self.plans.blocked.is_empty()
    }

    /// Stops waiting when the time is over, and has that noted in STATUS.md.
    pub(super) fn end_overdue_blocker_wait(
        &self,
        now: u64,
        decision: &mut Decision<Event, (u64, Effect)>,
    ) {
        if self.blocker_deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        let since = self.blocker_ack.unacknowledged_since.unwrap_or(now);
        let seconds = now.saturating_sub(since) / 1_000;
        let plans: Vec<_> = self.plans.blocked.keys().map(String::as_str).collect();
        let text = format!(
            "Coordinator unresponsive: the lead has not acknowledged the blocker of {} for \
             {seconds} s. The worker continues with independent plans.",
            plans.join(", ")
        );
        decision.events.push(Event::BlockerUnanswered { text: text.clone() });
        decision.effects.push((Self::UNNUMBERED, Effect::NoteStatus { text }));
    }
}
