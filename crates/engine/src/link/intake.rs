//! Turns the events of a link into inputs of the lead, and decides what the lead tells the link.
//!
//! Does no IO. The link may lose, repeat, delay and reorder events; the inputs are as if it did not.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mow_core::lead::{Event, Input, Lead, PhaseState, Status};
use mow_core::phase::PhaseNumber;

use super::hang_detector::HangDetector;
use super::{LinkEvent, WorkerKey};

/// A call of the link that follows from a batch of the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkCall {
    /// Deliver the events of a worker, with its records after number `through`.
    Open {
        /// The worker.
        key: WorkerKey,
        /// The number of the last record that the lead has recorded.
        through: u64,
    },
    /// The lead has recorded all records of a worker up to `through`.
    Confirm {
        /// The worker.
        key: WorkerKey,
        /// The number of the last recorded record.
        through: u64,
    },
    /// The attempt is over.
    Close {
        /// The worker.
        key: WorkerKey,
        /// The status of its phase.
        status: Status,
    },
}

/// What the lead knows of its workers through a link.
#[derive(Debug, Default)]
pub struct LinkIntake {
    workers: BTreeMap<WorkerKey, WorkerIntake>,
    /// Reports that were accepted and not taken.
    reports: Vec<Input>,
    warnings: Vec<String>,
    /// Workers with records that may not be confirmed yet.
    unconfirmed: BTreeSet<WorkerKey>,
    /// Workers that are gone, of which the lead does not know that yet.
    exits: BTreeSet<WorkerKey>,
    hang_detector: HangDetector,
}

/// What arrived from one worker.
#[derive(Debug, Default)]
struct WorkerIntake {
    is_open: bool,
    /// All records up to this one were accepted.
    accepted: u64,
    /// All records up to this one were part of a batch.
    taken: u64,
    confirmed: u64,
    /// The last record of a worker that is gone.
    last: Option<u64>,
}

impl WorkerIntake {
    fn after(through: u64) -> Self {
        Self { accepted: through, taken: through, ..Self::default() }
    }
}

impl LinkIntake {
    /// Sets how long a worker may be stopped before a person is asked.
    pub fn set_stopped_max(&mut self, after: Option<Duration>) {
        self.hang_detector.set_stopped_max(after);
    }

    /// Returns the calls with which a new lead takes over all workers of a run.
    ///
    /// The lead before may have died before it closed an attempt, so attempts are closed again.
    pub fn resume(&mut self, lead: &Lead) -> Vec<LinkCall> {
        let mut calls = Vec::new();
        for state in lead.phases.values().filter(|state| state.attempt > 0) {
            let key = key_of(state);
            if state.status.holds_slot() {
                calls.extend(self.open(state));
            } else {
                calls.push(LinkCall::Close { key, status: state.status });
            }
        }
        calls
    }

    /// Accepts an event, at the time `now` of the lead's clock.
    pub fn accept(&mut self, lead: &Lead, event: LinkEvent, now: u64) {
        match event {
            LinkEvent::Records { key, first, through, reports } => {
                let Some(worker) = self.current_worker(lead, key) else { return };
                let before = worker.accepted;
                if first > before + 1 || through <= before {
                    return;
                }
                worker.accepted = through;
                let new = reports.into_iter().filter(|(seq, _)| *seq > before);
                let WorkerKey { phase, attempt } = key;
                self.reports.extend(new.map(|(seq, report)| Input::Report {
                    phase,
                    attempt,
                    seq,
                    report,
                }));
                self.unconfirmed.insert(key);
            }
            LinkEvent::Health { key, sample, beats, is_stopped } => {
                if self.current_worker(lead, key).is_some() {
                    self.hang_detector.observe(key, (sample, beats), is_stopped, now);
                }
            }
            LinkEvent::Gone { key, last } => {
                let worker = self.current_worker(lead, key);
                if let Some(worker) = worker.filter(|worker| worker.last.is_none()) {
                    worker.last = Some(last);
                    self.exits.insert(key);
                }
            }
            LinkEvent::Warning { text } => self.warnings.push(text),
        }
    }

    /// Returns the warnings that arrived.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Returns the new reports, those of one worker in order.
    pub fn take_reports(&mut self) -> Vec<Input> {
        for key in &self.unconfirmed {
            if let Some(worker) = self.workers.get_mut(key) {
                worker.taken = worker.accepted;
            }
        }
        std::mem::take(&mut self.reports)
    }

    /// Returns which workers hang, are active again, or are gone. Call it after
    /// [`Self::take_reports`], in the same batch.
    ///
    /// A worker counts as gone when all its records were taken, and the lead knows that it was
    /// started.
    pub fn take_changes(&mut self, lead: &Lead, now: u64) -> Vec<Input> {
        let mut inputs = Vec::new();
        self.hang_detector.check(lead, now, &mut inputs);
        inputs.append(&mut self.take_exits(lead));
        inputs
    }

    /// Returns which workers are gone, without the check for workers that hang.
    pub fn take_exits(&mut self, lead: &Lead) -> Vec<Input> {
        let mut inputs = Vec::new();
        let workers = &self.workers;
        self.exits.retain(|key| {
            let Some(worker) = workers.get(key) else { return false };
            let is_complete = worker.last.is_some_and(|last| worker.taken >= last);
            let is_started = is_open_status(lead.phases.get(&key.phase));
            if is_complete && is_started {
                let WorkerKey { phase, attempt } = *key;
                inputs.push(Input::WorkerExited { phase, attempt });
            }
            !(is_complete && is_started)
        });
        inputs
    }

    /// Returns the calls that follow from the events of a batch, once they are recorded.
    pub fn after_batch(&mut self, lead: &Lead, events: &[Event]) -> Vec<LinkCall> {
        let (mut calls, mut over) = (Vec::new(), Vec::new());
        for event in events {
            let Event::StatusChanged { phase, .. } = event else { continue };
            let Some(state) = lead.phases.get(phase) else { continue };
            let current = Some(state).filter(|state| state.status.holds_slot());
            let mut closed = Vec::new();
            for key in self.keys_of(*phase) {
                if current.is_none_or(|state| state.attempt != key.attempt) {
                    self.forget(key);
                    closed.push(key);
                }
            }
            // A person can cancel or pause a phase that has no worker.
            let is_stopped = matches!(state.status, Status::Paused | Status::Cancelled);
            if closed.is_empty() && is_stopped && state.attempt > 0 {
                closed.push(key_of(state));
            }
            let status = state.status;
            over.extend(closed.into_iter().map(|key| LinkCall::Close { key, status }));
            calls.extend(current.and_then(|state| self.open(state)));
        }
        for key in std::mem::take(&mut self.unconfirmed) {
            let Some(worker) = self.workers.get_mut(&key) else { continue };
            let through = worker.taken;
            if through > worker.confirmed {
                worker.confirmed = through;
                calls.push(LinkCall::Confirm { key, through });
            }
        }
        calls.append(&mut over);
        calls
    }

    /// Registers the current attempt of a phase; returns the call that opens it if it has to be.
    fn open(&mut self, state: &PhaseState) -> Option<LinkCall> {
        let (key, through) = (key_of(state), state.read_through.unwrap_or(0));
        let worker = self.workers.entry(key).or_insert_with(|| WorkerIntake::after(through));
        if worker.is_open || !is_open_status(Some(state)) {
            return None;
        }
        worker.is_open = true;
        Some(LinkCall::Open { key, through: worker.accepted })
    }

    fn keys_of(&self, phase: PhaseNumber) -> Vec<WorkerKey> {
        let (first, last) =
            (WorkerKey { phase, attempt: 0 }, WorkerKey { phase, attempt: u32::MAX });
        self.workers.range(first..=last).map(|(key, _)| *key).collect()
    }

    fn forget(&mut self, key: WorkerKey) {
        self.workers.remove(&key);
        self.exits.remove(&key);
        self.unconfirmed.remove(&key);
    }

    /// Returns what arrived from a worker, if its attempt is the current one of its phase.
    fn current_worker(&mut self, lead: &Lead, key: WorkerKey) -> Option<&mut WorkerIntake> {
        let state = lead.phases.get(&key.phase)?;
        if state.attempt != key.attempt || !state.status.holds_slot() {
            return None;
        }
        let through = state.read_through.unwrap_or(0);
        Some(self.workers.entry(key).or_insert_with(|| WorkerIntake::after(through)))
    }
}

fn key_of(state: &PhaseState) -> WorkerKey {
    (state.spec.number, state.attempt).into()
}

/// Returns whether the worker of a phase is known to be started.
fn is_open_status(state: Option<&PhaseState>) -> bool {
    state.is_some_and(|state| matches!(state.status, Status::Running | Status::Ending))
}

#[cfg(test)]
mod tests;
