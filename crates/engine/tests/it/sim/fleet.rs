//! Simulated workers: the real machine in the real loop, with a journal in memory.

use mow_core::machine::Machine as _;
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_core::worker::{Effect, Event, Input, Worker};
use mow_engine::drive::{World, drive};

use super::world::Happening;

/// Which attempt of which phase.
pub(crate) type Key = (PhaseNumber, u32);

/// Where a batch of a worker is cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nowhere.
    None,
    /// After some of its events were written.
    Recording(u64),
    /// After all were written and before any effect.
    Releasing,
}

/// A worker process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) worker: Worker,
    /// What it wrote, with the times; the number of a record is its place, counted from one.
    pub(crate) journal: Vec<(u64, Event)>,
    /// Whether it, or anything it started, lives.
    pub(crate) alive: bool,
    /// Whether it reads nothing that it is told.
    pub(crate) deaf: bool,
    /// Whether it does not end by itself after its last word.
    pub(crate) hangs: bool,
    /// What reached it while it was stopped; `None` while it runs.
    pub(crate) frozen: Option<Vec<Happening>>,
    /// Whether it was to be ended in vain, so that nobody counts on it any more.
    pub(crate) zombie: bool,
    /// What its clock says.
    pub(crate) clock: Skew,
}

/// How far a clock is from the truth: that of one process, set when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skew(pub(crate) i64);

impl Skew {
    /// Returns what the clock shows.
    pub(crate) fn shown(self, now: u64) -> u64 {
        now.checked_add_signed(self.0).expect("the world is old enough")
    }

    /// Returns when the clock shows a time.
    pub(crate) fn meant(self, shown: u64) -> u64 {
        shown.saturating_add_signed(-self.0)
    }
}

/// What a batch left to be done.
pub(crate) struct Batch {
    pub(crate) effects: Vec<(u64, Effect)>,
    pub(crate) wake: Option<u64>,
    pub(crate) crashed: bool,
    pub(crate) reported: bool,
}

/// The world of one batch: it hands over the inputs and has enough.
struct Desk<'a> {
    inputs: Vec<Input>,
    now: u64,
    cut: Cut,
    journal: &'a mut Vec<(u64, Event)>,
    effects: Vec<(u64, Effect)>,
    wake: Option<u64>,
}

struct Crashed;

impl World<Worker> for Desk<'_> {
    type Error = Crashed;

    fn now(&mut self) -> u64 {
        self.now
    }

    fn wait(&mut self, _: &Worker, _until: Option<u64>) -> Result<Vec<Input>, Crashed> {
        Ok(std::mem::take(&mut self.inputs))
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), Crashed> {
        let kept = match self.cut {
            Cut::Recording(kept) => usize::try_from(kept).unwrap() % events.len(),
            _ => events.len(),
        };
        let line = serde_json::to_string(&events[..kept]).unwrap();
        let events: Vec<Event> = serde_json::from_str(&line).unwrap();
        self.journal.extend(events.into_iter().map(|event| (now, event)));
        if self.cut == Cut::None { Ok(()) } else { Err(Crashed) }
    }

    fn release(&mut self, _: &Worker, effect: (u64, Effect)) -> Result<(), Crashed> {
        self.effects.push(effect);
        Ok(())
    }

    fn settle(&mut self, worker: &Worker, _events: &[Event]) -> Result<bool, Crashed> {
        self.wake = worker.deadline();
        Ok(false)
    }
}

impl Process {
    pub(crate) fn new(deaf: bool, hangs: bool, clock: Skew) -> Self {
        Self {
            worker: Worker::default(),
            journal: Vec::new(),
            alive: true,
            deaf,
            hangs,
            frozen: None,
            zombie: false,
            clock,
        }
    }

    /// Gives the worker inputs in one batch.
    pub(crate) fn feed(&mut self, inputs: Vec<Input>, now: u64, cut: Cut) -> Batch {
        let before = self.journal.len();
        let Self { worker, journal, .. } = self;
        let time = self.clock.shown(now);
        let mut desk = Desk { inputs, now: time, cut, journal, effects: Vec::new(), wake: None };
        let crashed = drive(worker, &mut desk).is_err();
        let Desk { effects, wake, .. } = desk;
        let wake = wake.map(|at| self.clock.meant(at));
        self.alive &= !crashed;
        let effects = if crashed { Vec::new() } else { effects };
        let new = &self.journal[before..];
        let reported = new.iter().any(|(_, event)| matches!(event, Event::Reported(_)));
        Batch { effects, wake, crashed, reported }
    }

    /// Returns its messages after a record, with their numbers.
    pub(crate) fn reports(&self, after: u64) -> impl Iterator<Item = (u64, &Report)> {
        let records = (1..).zip(&self.journal).skip(usize::try_from(after).unwrap());
        records.filter_map(|(seq, (_, event))| match event {
            Event::Reported(report) => Some((seq, report)),
            _ => None,
        })
    }

    /// Returns the number of its last record.
    pub(crate) fn last_seq(&self) -> u64 {
        self.journal.len() as u64
    }

    /// Finds whether an effect was begun that is not written down.
    pub(crate) fn check_intended(&self, id: u64) -> Result<(), String> {
        let is_it = |event: &Event| matches!(event, Event::Intended { id: of, .. } if *of == id);
        let written = self.journal.iter().rev().any(|(_, event)| is_it(event));
        if written { Ok(()) } else { Err(format!("effect {id} was not written down")) }
    }

    /// Finds whether its journal says something else than it thinks.
    pub(crate) fn check_replay(&self) -> Result<(), String> {
        let mut again = Worker::default();
        for (at, event) in &self.journal {
            again.apply(event, *at);
        }
        if again == self.worker {
            Ok(())
        } else {
            Err("its journal gives another worker".to_owned())
        }
    }
}
