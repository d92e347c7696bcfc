//! Detects workers that are stopped (SIGSTOP) or hang, by the heartbeat on their life lock.
//!
//! The loop of a worker updates the mtime of its life lock every few seconds, whatever it runs.
//! Polling costs one system call per worker. No process is ended here: the lead asks a person.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mow_core::inbox::QuestionKind;
use mow_core::lead::{Input, Lead, PhaseState, Status};
use mow_core::phase::PhaseNumber;
use mow_host::{life_lock, process};

use crate::run_context::RunContext;
use crate::watch::POLL_INTERVAL;

/// How long a worker may be stopped before a person is asked.
const STOPPED_MAX: Duration = Duration::from_secs(60);
/// How many heartbeats a worker must miss until it counts as hung.
const MISSED_BEATS: u32 = 12;

/// The observations of all running workers.
#[derive(Debug)]
pub(super) struct WorkerHealth {
    stopped_max_ms: u64,
    polled_at: u64,
    workers: BTreeMap<(PhaseNumber, u32), WorkerObservation>,
}

#[derive(Debug)]
struct WorkerObservation {
    beat: Option<SystemTime>,
    beat_seen_at: u64,
    stopped_since: Option<u64>,
    /// Whether the lead was told that the worker hangs.
    is_reported: bool,
}

impl Default for WorkerHealth {
    fn default() -> Self {
        let stopped_max_ms = millis(STOPPED_MAX);
        Self { stopped_max_ms, polled_at: 0, workers: BTreeMap::new() }
    }
}

impl WorkerHealth {
    /// Sets how long a worker may be stopped, from `multi_phase.stuck_after_min`; at most the
    /// default.
    pub(super) fn set_stopped_max(&mut self, after: Option<Duration>) {
        self.stopped_max_ms = millis(after.unwrap_or(STOPPED_MAX).min(STOPPED_MAX));
    }

    /// Polls all running workers, at most twice per poll interval; adds inputs for changes.
    pub(super) fn poll(
        &mut self,
        ctx: &RunContext,
        lead: &Lead,
        now: u64,
        inputs: &mut Vec<Input>,
    ) {
        if now < self.polled_at + millis(POLL_INTERVAL) / 2 {
            return;
        }
        self.polled_at = now;
        let is_running = |state: &&PhaseState| state.status == Status::Running;
        let live: Vec<_> = lead.live().filter(is_running).collect();
        let keys: Vec<_> = live.iter().map(|state| (state.spec.number, state.attempt)).collect();
        self.workers.retain(|key, _| keys.contains(key));
        for state in live {
            let phase = state.spec.number;
            let is_hung = |kind| kind == QuestionKind::Hung;
            let asked = lead.inbox.open().any(|i| i.phase == Some(phase) && is_hung(i.ask.kind));
            let lock = ctx.run.life_lock(&phase, state.attempt);
            inputs.extend(self.poll_worker(state, &lock, asked, now));
        }
    }

    /// Polls one worker; returns an input if it hangs now or is active again.
    fn poll_worker(
        &mut self,
        state: &PhaseState,
        lock: &Path,
        asked: bool,
        now: u64,
    ) -> Option<Input> {
        let (phase, attempt) = (state.spec.number, state.attempt);
        let beat = life_lock::last_heartbeat(lock);
        let fresh = || WorkerObservation {
            beat,
            beat_seen_at: now,
            stopped_since: None,
            is_reported: false,
        };
        let observation = self.workers.entry((phase, attempt)).or_insert_with(fresh);
        if observation.beat != beat {
            (observation.beat, observation.beat_seen_at) = (beat, now);
        }
        let holder = life_lock::holder(lock).ok().flatten();
        let is_stopped = holder.is_some_and(process::is_stopped);
        observation.stopped_since =
            if is_stopped { observation.stopped_since.or(Some(now)) } else { None };
        let signs = hang_reason(observation, now, self.stopped_max_ms);
        match signs {
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
