//! What shows no sign of life in the simulated world: commands, and workers that somebody stopped.

use mow_core::lead::{Input, Outcome};
use mow_core::touch;
use mow_core::worker::{self, Effect};

use super::fleet::{Key, Skew};
use super::world::{Happening, Sim};

/// How long something stands still if nobody does anything about it.
const LONG: u64 = 400_000;
/// After how long a loop looks by itself.
const LOOK_EVERY: u64 = 5_000;
/// How far a clock is set back or forth at most: eleven days.
const SKEW_MAX: u64 = 1_000_000_000;

impl Sim {
    pub(crate) fn stalls(&mut self) -> bool {
        let stalls = self.script.faults.stalls > 0 && self.dice.below(6) == 0;
        self.script.faults.stalls -= u64::from(stalls);
        stalls
    }

    /// Lets an effect stand still, or the whole worker; returns how long the effect takes.
    pub(crate) fn stall(&mut self, key: Key, id: u64, after: u64) -> u64 {
        let begins = self.delay(10_000);
        match self.dice.below(3) {
            0 => {
                self.after(begins, Happening::Freeze { key });
                return after;
            }
            1 => {
                let moves = begins + self.delay(20_000);
                self.after(moves, Happening::Sign { key, id, stuck: false });
            }
            _ => {}
        }
        for _ in 0..1 + self.dice.below(2) {
            self.after(begins, Happening::Sign { key, id, stuck: true });
        }
        after + LONG
    }

    pub(crate) fn sign(&mut self, key: Key, id: u64, stuck: bool) {
        let signs = "no output for 12 min".to_owned();
        let input = match stuck {
            true => worker::Input::Stuck { id, signs },
            false => worker::Input::Moving { id },
        };
        self.feed(key, vec![input]);
    }

    pub(crate) fn freeze(&mut self, key: Key) {
        let Some(process) = self.processes.get_mut(&key) else { return };
        if process.alive && process.frozen.is_none() {
            process.frozen = Some(Vec::new());
            let after = LONG + self.delay(10_000);
            self.after(after, Happening::Thaw { key });
            self.feel(key);
        }
    }

    /// Lets what reached a worker while it was stopped happen now; nothing, if it was ended since.
    pub(crate) fn thaw(&mut self, key: Key) {
        let backlog = self.processes.get_mut(&key).and_then(|process| process.frozen.take());
        let Some(backlog) = backlog else { return };
        let (generation, after) = (self.generation, self.delay(5_000));
        let input = Input::Awake { phase: key.0, attempt: key.1 };
        self.after(after, Happening::Deliver { generation, input });
        for happening in backlog {
            self.happen(happening);
        }
    }

    /// Ends a worker for the lead, if that is possible.
    pub(crate) fn end(&mut self, key: Key) -> Outcome {
        let process = self.processes.get_mut(&key).filter(|process| process.alive);
        let Some(process) = process else { return Outcome::Done };
        let is_stubborn = process.frozen.is_some() && self.script.faults.zombies > 0;
        if is_stubborn && self.dice.below(2) == 0 {
            self.script.faults.zombies -= 1;
            // It ends by itself once it has gone on, since nobody tells it any more.
            (process.zombie, process.hangs) = (true, false);
            if process.worker.ended {
                self.after(LONG, Happening::Exit { key });
            }
            let reason = "it hangs in the kernel".to_owned();
            return Outcome::Failed { reason };
        }
        self.die(key);
        Outcome::Done
    }

    /// Returns how long it takes until somebody reads what was written: at once, or when the one who
    /// was not told looks by itself.
    pub(crate) fn until_heard(&mut self, max: u64) -> u64 {
        let after = self.delay(max);
        if self.script.faults.unheard > 0 && self.dice.below(5) == 0 {
            self.script.faults.unheard -= 1;
            return after + LOOK_EVERY;
        }
        after
    }

    /// Sets the clock of a process that starts, which was never before a time.
    pub(crate) fn set_clock(&mut self, last: u64) -> Skew {
        let mut skew = 0;
        if self.script.faults.clocks > 0 && self.dice.below(3) == 0 {
            self.script.faults.clocks -= 1;
            let far = i64::try_from(self.dice.below(2 * SKEW_MAX)).unwrap();
            skew = far - i64::try_from(SKEW_MAX).unwrap();
        }
        // As `Clock::from` does.
        let least = i64::try_from(last).unwrap() - i64::try_from(self.now).unwrap();
        Skew(skew.max(least))
    }

    /// Has the lead notice a worker that is stopped.
    pub(crate) fn feel(&mut self, key: Key) {
        if self.processes.get(&key).is_some_and(|process| process.frozen.is_some()) {
            let (generation, after) = (self.generation, self.delay(20_000));
            let signs = "its process has been stopped for 60 s".to_owned();
            let input = Input::Hung { phase: key.0, attempt: key.1, signs };
            self.after(after, Happening::Deliver { generation, input });
        }
    }

    /// Keeps what reaches a worker that is stopped.
    pub(crate) fn unless_frozen(&mut self, happening: Happening) -> Option<Happening> {
        let key = match &happening {
            Happening::Done { key, .. }
            | Happening::CutOff { key, .. }
            | Happening::Sign { key, .. }
            | Happening::Told { key, .. }
            | Happening::Wake { key }
            | Happening::Exit { key } => *key,
            _ => return Some(happening),
        };
        let frozen = self.processes.get_mut(&key).and_then(|process| process.frozen.as_mut());
        let Some(backlog) = frozen else { return Some(happening) };
        backlog.push(happening);
        None
    }

    /// Checks what may be done beside what a worker is doing.
    pub(crate) fn check_beside(&self, key: Key, id: u64, effect: &Effect) -> Result<(), String> {
        let worker = &self.processes[&key].worker;
        let others: Vec<_> = worker.busy.iter().filter(|(n, _)| **n != id).collect();
        let agents = worker.brief.as_ref().map_or(1, |brief| brief.agents);
        if others.len() + 1 > agents.max(1) {
            return Err(format!("{} things at a time of {agents}", others.len() + 1));
        }
        let disk = &self.script.disks[&key.0];
        let paths = |effect: &Effect| match effect {
            Effect::RunTask { plan, beside: true, .. } => touch::plain(disk.files_of(plan)),
            _ => None,
        };
        for (_, other) in others {
            let both = paths(effect).zip(paths(other));
            if both.is_none_or(|(these, those)| touch::common(&these, &those).is_some()) {
                return Err(format!("{effect:?} beside {other:?}"));
            }
        }
        Ok(())
    }
}
