//! Simulated worker processes: the real machine in the real loop, with a journal in memory.

use mow_core::machine::Machine as _;
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use mow_core::worker::{Effect, Event, Input, Worker};
use mow_engine::drive::{World, drive};

use super::world::SimEvent;

/// A worker: phase and attempt.
pub(crate) type Key = (PhaseNumber, u32);

/// Where a crash cuts off a batch of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// No crash.
    None,
    /// After this many of its events were written.
    Recording(u64),
    /// After all events were written, before any effect started.
    Releasing,
}

/// A worker process.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its state; only the default once it has ended, to save memory.
    pub(crate) worker: Box<Worker>,
    /// Its journal with times; the sequence number of a record is its index plus one. Empty once it
    /// has ended, when only the reports are needed.
    pub(crate) journal: Vec<(u64, Event)>,
    /// The reports of its journal with their sequence numbers.
    reports: Vec<(u64, Report)>,
    /// The number of its records.
    records: u64,
    /// The number of the last message that it has read.
    pub(crate) messages_read: u32,
    /// The time of its first record.
    pub(crate) began: Option<u64>,
    /// Whether it or a process that it started is alive.
    pub(crate) alive: bool,
    /// Whether it never reads its inbox.
    pub(crate) ignores_inbox: bool,
    /// Whether it does not exit by itself after its last report.
    pub(crate) hangs: bool,
    /// The events held back while it is stopped; `None` while it runs.
    pub(crate) frozen: Option<Vec<SimEvent>>,
    /// Whether it could not be ended, so that the lead gave it up.
    pub(crate) zombie: bool,
    /// How far its clock is off.
    pub(crate) clock: ClockSkew,
}

/// How many milliseconds the clock of a process is off; set when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClockSkew(pub(crate) i64);

impl ClockSkew {
    /// Returns what the clock shows at a true time.
    pub(crate) fn clock_time(self, now: u64) -> u64 {
        now.checked_add_signed(self.0).expect("the world is old enough")
    }

    /// Returns the true time at which the clock shows a time.
    pub(crate) fn true_time(self, clock_time: u64) -> u64 {
        clock_time.saturating_add_signed(-self.0)
    }
}

/// The result of a batch: effects to start, and how it ended.
pub(crate) struct Batch {
    pub(crate) effects: Vec<(u64, Effect)>,
    pub(crate) wake: Option<u64>,
    pub(crate) crashed: bool,
    pub(crate) reported: bool,
}

/// The world of one batch: it delivers the inputs once and then ends the loop.
struct BatchWorld<'a> {
    inputs: Vec<Input>,
    now: u64,
    cut: Cut,
    journal: &'a mut Vec<(u64, Event)>,
    effects: Vec<(u64, Effect)>,
    wake: Option<u64>,
}

struct Crashed;

impl World<Worker> for BatchWorld<'_> {
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

    fn finish_batch(&mut self, worker: &Worker, _events: &[Event]) -> Result<bool, Crashed> {
        self.wake = worker.deadline();
        Ok(false)
    }
}

impl Process {
    pub(crate) fn new(ignores_inbox: bool, hangs: bool, clock: ClockSkew) -> Self {
        Self {
            worker: Box::default(),
            journal: Vec::new(),
            reports: Vec::new(),
            records: 0,
            messages_read: 0,
            began: None,
            alive: true,
            ignores_inbox,
            hangs,
            frozen: None,
            zombie: false,
            clock,
        }
    }

    /// Runs the worker with inputs in one batch.
    pub(crate) fn feed(&mut self, inputs: Vec<Input>, now: u64, cut: Cut) -> Batch {
        let before = self.journal.len();
        let Self { worker, journal, .. } = self;
        let time = self.clock.clock_time(now);
        let mut world =
            BatchWorld { inputs, now: time, cut, journal, effects: Vec::new(), wake: None };
        let crashed = drive(worker.as_mut(), &mut world).is_err();
        let BatchWorld { effects, wake, .. } = world;
        let wake = wake.map(|at| self.clock.true_time(at));
        self.alive &= !crashed;
        let effects = if crashed { Vec::new() } else { effects };
        let reports_before = self.reports.len();
        for (at, event) in &self.journal[before..] {
            self.records += 1;
            self.began.get_or_insert(*at);
            if let Event::Reported(report) = event {
                self.reports.push((self.records, report.clone()));
            }
        }
        let reported = self.reports.len() > reports_before;
        Batch { effects, wake, crashed, reported }
    }

    /// Frees what a worker that has ended needs no more.
    pub(crate) fn retire(&mut self) {
        *self.worker = Worker::default();
        self.journal = Vec::new();
        self.reports.shrink_to_fit();
    }

    /// Returns its reports after a record, with their sequence numbers.
    pub(crate) fn reports(&self, after: u64) -> impl Iterator<Item = (u64, &Report)> {
        let from = self.reports.partition_point(|(seq, _)| *seq <= after);
        self.reports[from..].iter().map(|(seq, report)| (*seq, report))
    }

    /// Returns the sequence number of its last record.
    pub(crate) fn last_seq(&self) -> u64 {
        self.records
    }

    /// Fails if an effect was started that is not in the journal.
    pub(crate) fn check_intended(&self, id: u64) -> Result<(), String> {
        let is_it = |event: &Event| matches!(event, Event::Intended { id: of, .. } if *of == id);
        let written = self.journal.iter().rev().any(|(_, event)| is_it(event));
        if written { Ok(()) } else { Err(format!("effect {id} was not written down")) }
    }

    /// Fails if the replay of its journal differs from its state.
    pub(crate) fn check_replay(&self) -> Result<(), String> {
        let mut again = Worker::default();
        for (at, event) in &self.journal {
            again.apply(event, *at);
        }
        if again == *self.worker {
            Ok(())
        } else {
            Err("its journal gives another worker".to_owned())
        }
    }
}
