//! Simulates stuck commands, stopped workers, delayed file notifications and wrong clocks.

use mow_core::file_scope;
use mow_core::lead::Input;
use mow_core::worker::{self, Effect};
use mow_engine::EngineError;

use super::worker_processes::{ClockSkew, Key};
use super::world::{Sim, SimEvent};

/// How long a stall lasts if nobody ends it, in milliseconds.
const LONG: u64 = 400_000;
/// How often a loop polls, in milliseconds.
const POLL_INTERVAL: u64 = 5_000;
/// The most milliseconds that a clock is set back or forth: eleven days.
const SKEW_MAX: u64 = 1_000_000_000;

impl Sim {
    pub(crate) fn stalls(&mut self) -> bool {
        let stalls = self.scenario.faults.stalls > 0 && self.rng.below(6) == 0;
        self.scenario.faults.stalls -= u64::from(stalls);
        stalls
    }

    /// Stalls an effect, or the whole worker; returns how long the effect takes.
    pub(crate) fn stall(&mut self, key: Key, id: u64, after: u64) -> u64 {
        let begins = self.delay(10_000);
        match self.rng.below(3) {
            0 => {
                self.after(begins, SimEvent::Freeze { key });
                return after;
            }
            1 => {
                let moves = begins + self.delay(20_000);
                self.after(moves, SimEvent::Sign { key, id, stuck: false });
            }
            _ => {}
        }
        for _ in 0..1 + self.rng.below(2) {
            self.after(begins, SimEvent::Sign { key, id, stuck: true });
        }
        after + LONG
    }

    pub(crate) fn report_activity(&mut self, key: Key, id: u64, stuck: bool) {
        let signs = "no output for 12 min".to_owned();
        let input = match stuck {
            true => worker::Input::Stuck { id, signs },
            false => worker::Input::ActiveAgain { id },
        };
        self.feed(key, vec![input]);
    }

    pub(crate) fn freeze(&mut self, key: Key) {
        let Some(process) = self.processes.get_mut(&key) else { return };
        if process.alive && process.frozen.is_none() {
            process.frozen = Some(Vec::new());
            let after = LONG + self.delay(10_000);
            self.after(after, SimEvent::Thaw { key });
            self.report_hung(key);
        }
    }

    /// Continues a stopped worker: processes the events that were held back, unless it was ended.
    pub(crate) fn thaw(&mut self, key: Key) {
        let backlog = self.processes.get_mut(&key).and_then(|process| process.frozen.take());
        let Some(backlog) = backlog else { return };
        let (generation, after) = (self.generation, self.delay(5_000));
        let input = Input::WorkerActive { phase: key.0, attempt: key.1 };
        self.after(after, SimEvent::Deliver { generation, input });
        for event in backlog {
            self.process(event);
        }
    }

    /// Ends a worker for the lead, unless it is a zombie.
    pub(crate) fn kill(&mut self, key: Key) -> Result<(), EngineError> {
        let process = self.processes.get_mut(&key).filter(|process| process.alive);
        let Some(process) = process else { return Ok(()) };
        let is_stubborn = process.frozen.is_some() && self.scenario.faults.zombies > 0;
        if is_stubborn && self.rng.below(2) == 0 {
            self.scenario.faults.zombies -= 1;
            // It ends by itself once it continues, since nobody sends it messages any more.
            (process.zombie, process.hangs) = (true, false);
            if process.worker.has_ended() {
                self.after(LONG, SimEvent::Exit { key });
            }
            return Err(EngineError::refused("it hangs in the kernel", ""));
        }
        self.die(key);
        Ok(())
    }

    /// Returns the delay until a write is read: at once, or at the next poll if the notification is
    /// lost.
    pub(crate) fn read_delay(&mut self, max: u64) -> u64 {
        let after = self.delay(max);
        if self.scenario.faults.lost_notifications > 0 && self.rng.below(5) == 0 {
            self.scenario.faults.lost_notifications -= 1;
            return after + POLL_INTERVAL;
        }
        after
    }

    /// Returns the clock skew of a new process, whose clock is not before `last`.
    pub(crate) fn set_clock(&mut self, last: u64) -> ClockSkew {
        let mut skew = 0;
        if self.scenario.faults.clocks > 0 && self.rng.below(3) == 0 {
            self.scenario.faults.clocks -= 1;
            let far = i64::try_from(self.rng.below(2 * SKEW_MAX)).unwrap();
            skew = far - i64::try_from(SKEW_MAX).unwrap();
        }
        // As `Clock::not_before` does.
        let least = i64::try_from(last).unwrap() - i64::try_from(self.now).unwrap();
        ClockSkew(skew.max(least))
    }

    /// Reports to the lead that a stopped worker hangs.
    pub(crate) fn report_hung(&mut self, key: Key) {
        if self.processes.get(&key).is_some_and(|process| process.frozen.is_some()) {
            let (generation, after) = (self.generation, self.delay(20_000));
            let signs = "its process has been stopped for 60 s".to_owned();
            let input = Input::WorkerHung { phase: key.0, attempt: key.1, signs };
            self.after(after, SimEvent::Deliver { generation, input });
        }
    }

    /// Holds back an event for a stopped worker; returns the event otherwise.
    pub(crate) fn unless_frozen(&mut self, event: SimEvent) -> Option<SimEvent> {
        let key = match &event {
            SimEvent::Done { key, .. }
            | SimEvent::CutOff { key, .. }
            | SimEvent::Sign { key, .. }
            | SimEvent::MessageSent { key, .. }
            | SimEvent::ReadMessages { key }
            | SimEvent::Wake { key }
            | SimEvent::Exit { key } => *key,
            _ => return Some(event),
        };
        let frozen = self.processes.get_mut(&key).and_then(|process| process.frozen.as_mut());
        let Some(backlog) = frozen else { return Some(event) };
        backlog.push(event);
        None
    }

    /// Checks that an effect may run in parallel to the other effects of a worker.
    pub(crate) fn check_parallel(&self, key: Key, id: u64, effect: &Effect) -> Result<(), String> {
        let worker = &self.processes[&key].worker;
        let others: Vec<_> = worker.effects.running.iter().filter(|(n, _)| **n != id).collect();
        let agents = worker.agents_max();
        if others.len() + 1 > agents.max(1) {
            return Err(format!("{} things at a time of {agents}", others.len() + 1));
        }
        let disk = &self.scenario.disks[&key.0];
        let paths = |effect: &Effect| match effect {
            Effect::RunTask { plan, parallel: true, .. } => {
                file_scope::plain_paths(disk.files_of(plan))
            }
            _ => None,
        };
        for (_, other) in others {
            let both = paths(effect).zip(paths(other));
            if both.is_none_or(|(these, those)| file_scope::common_path(&these, &those).is_some()) {
                return Err(format!("{effect:?} in parallel to {other:?}"));
            }
        }
        Ok(())
    }
}
