//! Detects workers that are stopped (SIGSTOP) or hang, from the health samples of a link.
//!
//! The loop of a worker shows a heartbeat every few seconds, whatever it runs. Only the lead's
//! clock is used. No process is ended here: the lead asks a person.

use std::collections::BTreeMap;
use std::time::Duration;

use mow_core::inbox::QuestionKind;
use mow_core::lead::{Input, Lead, PhaseState, Status};

use super::WorkerKey;
use crate::watch::POLL_INTERVAL;

/// How long a worker may be stopped before a person is asked.
const STOPPED_MAX: Duration = Duration::from_secs(60);
/// How many heartbeats a worker must miss until it counts as hung.
const MISSED_BEATS: u32 = 12;

/// The observations of all running workers.
#[derive(Debug)]
pub struct HangDetector {
    stopped_max_ms: u64,
    checked_at: u64,
    /// Whether a sample arrived since the last check.
    has_samples: bool,
    workers: BTreeMap<WorkerKey, WorkerObservation>,
}

#[derive(Debug)]
struct WorkerObservation {
    sample: u64,
    beats: u64,
    beat_seen_at: u64,
    stopped_since: Option<u64>,
    /// Whether the lead was told that the worker hangs.
    is_reported: bool,
}

impl Default for HangDetector {
    fn default() -> Self {
        Self {
            stopped_max_ms: millis(STOPPED_MAX),
            checked_at: 0,
            has_samples: false,
            workers: BTreeMap::new(),
        }
    }
}

impl HangDetector {
    /// Sets how long a worker may be stopped, from `multi_phase.stuck_after_min`; at most the
    /// default.
    pub fn set_stopped_max(&mut self, after: Option<Duration>) {
        self.stopped_max_ms = millis(after.unwrap_or(STOPPED_MAX).min(STOPPED_MAX));
    }

    /// Takes a health sample of a worker.
    pub(super) fn observe(
        &mut self,
        key: WorkerKey,
        (sample, beats): (u64, u64),
        is_stopped: bool,
        now: u64,
    ) {
        let observation = self.observation(key, now);
        if sample <= observation.sample {
            return;
        }
        observation.sample = sample;
        if observation.beats != beats {
            (observation.beats, observation.beat_seen_at) = (beats, now);
        }
        observation.stopped_since =
            if is_stopped { observation.stopped_since.or(Some(now)) } else { None };
        self.has_samples = true;
    }

    fn observation(&mut self, key: WorkerKey, now: u64) -> &mut WorkerObservation {
        self.workers.entry(key).or_insert_with(|| WorkerObservation {
            sample: 0,
            beats: 0,
            beat_seen_at: now,
            stopped_since: None,
            is_reported: false,
        })
    }

    /// Checks all running workers after new samples, and twice per poll interval without any; adds
    /// inputs for changes.
    pub(super) fn check(&mut self, lead: &Lead, now: u64, inputs: &mut Vec<Input>) {
        let is_due = now >= self.checked_at + millis(POLL_INTERVAL) / 2;
        if !is_due && !self.has_samples {
            return;
        }
        (self.checked_at, self.has_samples) = (now, false);
        let key_of = |state: &PhaseState| WorkerKey::from((state.spec.number, state.attempt));
        let is_running = |state: &PhaseState| state.status == Status::Running;
        self.workers.retain(|key, _| {
            let state = lead.phases.get(&key.phase);
            state.is_some_and(|state| is_running(state) && state.attempt == key.attempt)
        });
        for state in lead.live().filter(|state| is_running(state)) {
            let phase = state.spec.number;
            let is_hung = |kind| kind == QuestionKind::Hung;
            let asked = lead.inbox.open().any(|i| i.phase == Some(phase) && is_hung(i.ask.kind));
            inputs.extend(self.check_worker(key_of(state), asked, now));
        }
    }

    /// Checks one worker; returns an input if it hangs now or is active again.
    fn check_worker(&mut self, key: WorkerKey, asked: bool, now: u64) -> Option<Input> {
        let WorkerKey { phase, attempt } = key;
        let stopped_max_ms = self.stopped_max_ms;
        let observation = self.observation(key, now);
        match hang_reason(observation, now, stopped_max_ms) {
            Some(signs) if !observation.is_reported => {
                observation.is_reported = true;
                Some(Input::WorkerHung { phase, attempt, signs })
            }
            None if asked || observation.is_reported => {
                observation.is_reported = false;
                Some(Input::WorkerActive { phase, attempt })
            }
            _ => None,
        }
    }
}

/// Returns why a worker counts as hung; `None` if it does not.
fn hang_reason(observation: &WorkerObservation, now: u64, stopped_max_ms: u64) -> Option<String> {
    if let Some(since) = observation.stopped_since.filter(|since| now >= since + stopped_max_ms) {
        let seconds = (now - since) / 1_000;
        return Some(format!("its process has been stopped for {seconds} s"));
    }
    let silent = now.saturating_sub(observation.beat_seen_at);
    let hangs = silent >= millis(POLL_INTERVAL * MISSED_BEATS);
    hangs.then(|| format!("it has shown no activity for {} s", silent / 1_000))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
