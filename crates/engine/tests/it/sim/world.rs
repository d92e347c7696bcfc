//! The simulated world: one queue of happenings in virtual time, and the lead's part in it.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::lead::{Command, Effect, Event, Input, Lead};
use mow_core::machine::{Machine as _, step};
use mow_core::phase::PhaseNumber;
use mow_core::report::Note;
use mow_core::worker;
use mow_engine::drive::World;
use mow_testkit::dice::Dice;

use super::checks::Ledger;
use super::fleet::{Key, Process, Skew};
use super::script::Script;

/// What happens at some time. A generation is the life of one lead: what belongs to an older one
/// died with it.
#[derive(Debug)]
pub(crate) enum Happening {
    /// An effect of the lead is done.
    Act { generation: u32, id: u64, effect: Effect },
    /// The lead learns something.
    Deliver { generation: u32, input: Input },
    /// The lead reads a worker's journal.
    Tail { generation: u32, key: Key },
    /// The lead looks whether a worker is gone.
    Watch { generation: u32, key: Key },
    /// The lead reads the file of commands.
    ReadCommands { generation: u32 },
    /// The lead is ended in order and started again.
    Restart { generation: u32 },
    /// An effect of a worker is done.
    Done { key: Key, id: u64, effect: worker::Effect },
    /// What a worker does is cut off.
    CutOff { key: Key, id: u64 },
    /// What a worker does shows no sign of life, or does so again.
    Sign { key: Key, id: u64, stuck: bool },
    /// A worker is stopped.
    Freeze { key: Key },
    /// A worker that was stopped goes on.
    Thaw { key: Key },
    /// A worker reads what it was told.
    Told { key: Key, note: Note },
    /// A worker's deadline is there.
    Wake { key: Key },
    /// A worker leaves after its last word.
    Exit { key: Key },
    /// A person answers.
    Answer { item: u32 },
    /// A person meddles.
    Meddle,
    /// The roadmap changes.
    Roadmap,
    /// The lead is asked to stop.
    Hold,
    /// The lead looks by itself, without having been told of anything.
    Look,
    /// The lead is ended and started again, whichever it is.
    Replace,
}

/// Why the lead's loop ended.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It crashed, or was ended and is to be started again.
    Down,
    /// Nothing will happen any more.
    Rest,
    /// Something does not hold.
    Broken(String),
}

/// The world.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) dice: Dice,
    pub(crate) script: Script,
    /// The true time.
    pub(crate) now: u64,
    /// The lead's clock.
    clock: Skew,
    /// How often the lead still finds the disk full.
    full: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    ties: u64,
    pub(crate) generation: u32,
    /// What the lead will learn next.
    pub(crate) inbox: Vec<Input>,
    /// The lead's journal: a line for each batch, with its time.
    pub(crate) journal: Vec<(u64, String)>,
    pub(crate) ledger: Ledger,
    pub(crate) processes: BTreeMap<Key, Process>,
    /// Those that may be alive; looked through when it matters.
    pub(crate) at_work: BTreeSet<Key>,
    /// How far the lead has read each worker's journal.
    pub(crate) cursors: BTreeMap<Key, u64>,
    pub(crate) commands: Vec<Command>,
    commands_read: u64,
    /// What is merged, in order; `m3` names the target with the first three.
    pub(crate) merges: Vec<PhaseNumber>,
    pub(crate) closings: u64,
    /// Phases that a person refused something for good.
    pub(crate) given_up: BTreeSet<PhaseNumber>,
    pub(crate) broken: Option<String>,
    /// Until when no model answers.
    pub(crate) outage: u64,
    /// When agents were started.
    pub(crate) employed: Vec<u64>,
    batches: u64,
    /// After how many batches all is compared; 1 for after each.
    check_every: u64,
}

impl Sim {
    pub(crate) fn new(dice: Dice, script: Script) -> Self {
        // The comparison costs as much as there are phases, so a large run makes fewer.
        let check_every = 1 + script.specs.len() as u64 / 4;
        Self {
            dice,
            script,
            now: 10_000_000_000,
            clock: Skew::default(),
            full: 0,
            queue: BTreeMap::new(),
            ties: 0,
            generation: 0,
            inbox: Vec::new(),
            journal: Vec::new(),
            ledger: Ledger::default(),
            processes: BTreeMap::new(),
            at_work: BTreeSet::new(),
            cursors: BTreeMap::new(),
            commands: Vec::new(),
            commands_read: 0,
            merges: Vec::new(),
            closings: 0,
            given_up: BTreeSet::new(),
            broken: None,
            outage: 0,
            employed: Vec::new(),
            batches: 0,
            check_every,
        }
    }

    /// Lets something happen after a while.
    pub(crate) fn after(&mut self, delay: u64, happening: Happening) {
        self.ties += 1;
        self.queue.insert((self.now + delay, self.ties), happening);
    }

    /// Throws how long something takes; mostly short, now and then long.
    pub(crate) fn delay(&mut self, max: u64) -> u64 {
        if self.script.times.is_some() {
            return 1;
        }
        let max = if self.dice.below(4) == 0 { max } else { max / 20 + 1 };
        1 + self.dice.below(max)
    }

    /// Lets everything happen up to a time.
    fn pass(&mut self, until: u64) {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, _), happening) = entry.remove_entry();
            self.now = at.max(self.now);
            self.happen(happening);
        }
        self.now = until.max(self.now);
    }

    pub(crate) fn happen(&mut self, happening: Happening) {
        let current = self.generation;
        let Some(happening) = self.unless_frozen(happening) else { return };
        match happening {
            Happening::Act { generation, id, effect } if generation == current => {
                self.act(id, &effect);
            }
            Happening::Deliver { generation, input } if generation == current => {
                self.inbox.push(input);
            }
            Happening::Tail { generation, key } if generation == current => self.tail(key),
            Happening::Watch { generation, key } if generation == current => self.watch(key),
            Happening::ReadCommands { generation } if generation == current => {
                self.read_commands();
            }
            Happening::Restart { generation } if generation == current => self.generation += 1,
            Happening::Done { key, id, effect } => self.finish(key, id, &effect),
            Happening::CutOff { key, id } => self.cut_off(key, id),
            Happening::Sign { key, id, stuck } => self.sign(key, id, stuck),
            Happening::Freeze { key } => self.freeze(key),
            Happening::Thaw { key } => self.thaw(key),
            Happening::Told { key, note } => self.tell(key, note),
            Happening::Wake { key } => self.feed(key, Vec::new()),
            Happening::Exit { key } => self.exit(key),
            Happening::Answer { item } => self.answer(item),
            Happening::Meddle => self.meddle(),
            Happening::Roadmap => self.change_roadmap(),
            Happening::Hold => self.hold(),
            Happening::Look => {
                self.read_commands();
                self.inbox.push(self.roadmap());
            }
            Happening::Replace => self.generation += 1,
            _ => {}
        }
    }

    fn read_commands(&mut self) {
        if self.commands_read > 0 && self.dice.below(6) == 0 {
            self.commands_read -= 1;
        }
        let new = (1..).zip(&self.commands).skip(usize::try_from(self.commands_read).unwrap());
        let inputs = new.map(|(seq, command)| Input::Command { seq, command: command.clone() });
        self.inbox.extend(inputs);
        self.commands_read = self.commands.len() as u64;
    }

    /// Decides whether the lead crashes here.
    fn crashes(&mut self) -> bool {
        let crashes = self.script.faults.lead > 0 && self.dice.below(60) == 0;
        self.script.faults.lead -= u64::from(crashes);
        crashes
    }

    /// Decides whether there is no room for what the lead wants to write. It then ends, and the ones
    /// after it do, until somebody has made room.
    fn is_full(&mut self) -> bool {
        if self.full == 0 && self.script.faults.full > 0 && self.dice.below(80) == 0 {
            self.script.faults.full -= 1;
            self.full = 1 + self.dice.below(4);
        }
        let is_full = self.full > 0;
        self.full -= u64::from(is_full);
        is_full
    }

    /// Starts a lead from the journal, after the last one is gone.
    pub(crate) fn recover(&mut self) -> Result<Lead, String> {
        self.generation += 1;
        self.inbox.clear();
        self.cursors.clear();
        self.interrupt_effects();
        let down = self.delay(20_000);
        self.pass(self.now + down);
        let lead = self.replay()?;
        if lead != self.ledger.lead {
            return Err("the journal gives another lead".to_owned());
        }
        self.clock = self.set_clock(self.journal.last().map_or(0, |(at, _)| *at));
        self.check_recovery(&lead)?;
        self.commands_read = lead.commands_through.unwrap_or(0);
        self.inbox.clear();
        if lead.run.is_empty() {
            let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "m0".to_owned());
            self.inbox.push(Input::Begin { run, target, tip });
        }
        self.inbox.push(Input::TakeUp { settings: self.script.settings.clone() });
        self.inbox.push(self.roadmap());
        for (id, effect) in lead.open.clone() {
            self.begin(id, effect);
        }
        let generation = self.generation;
        for track in lead.live() {
            let key = (track.spec.number, track.attempt);
            self.cursors.insert(key, track.read_through.unwrap_or(0));
            let after = self.delay(5_000);
            self.after(after, Happening::Watch { generation, key });
            self.feel(key);
            self.after(after / 2, Happening::Tail { generation, key });
        }
        self.after(1, Happening::ReadCommands { generation });
        Ok(lead)
    }

    /// Checks that a lead that is taken up and crashes at once can be taken up again as if nothing
    /// had been.
    fn check_recovery(&self, lead: &Lead) -> Result<(), String> {
        let take_up = Input::TakeUp { settings: self.script.settings.clone() };
        let now = self.clock.shown(self.now);
        let mut once = lead.clone();
        step(&mut once, Some(&take_up), now);
        let mut twice = once.clone();
        step(&mut twice, Some(&take_up), now);
        if once == twice { Ok(()) } else { Err("recovering twice is not once".to_owned()) }
    }

    fn replay(&self) -> Result<Lead, String> {
        let mut lead = Lead::default();
        for (at, line) in &self.journal {
            let events: Vec<Event> = serde_json::from_str(line).map_err(|e| e.to_string())?;
            for event in &events {
                lead.apply(event, *at);
            }
        }
        Ok(lead)
    }

    /// What the dead lead was doing has been done or not; nobody learned which.
    fn interrupt_effects(&mut self) {
        let acts: Vec<_> = (self.queue.iter())
            .filter(|(_, happening)| matches!(happening, Happening::Act { .. }))
            .map(|(at, _)| *at)
            .collect();
        for at in acts {
            if let Some(Happening::Act { effect, .. }) = self.queue.remove(&at)
                && self.dice.below(2) == 0
            {
                self.perform(&effect);
            }
        }
    }

    /// Begins an effect of the lead.
    fn begin(&mut self, id: u64, effect: Effect) {
        let max = match effect {
            Effect::Tell { .. } | Effect::End { .. } => 100,
            _ => 4_000,
        };
        let (generation, after) = (self.generation, self.delay(max));
        self.after(after, Happening::Act { generation, id, effect });
    }

    /// Ends an effect of the lead, which learns it once or twice.
    fn act(&mut self, id: u64, effect: &Effect) {
        let outcome = self.perform(effect);
        let generation = self.generation;
        for _ in 0..1 + self.dice.below(10) / 9 {
            let after = self.delay(500);
            let input = Input::Finished { id, outcome: outcome.clone() };
            self.after(after, Happening::Deliver { generation, input });
        }
    }
}

impl World<Lead> for Sim {
    type Error = Stop;

    fn now(&mut self) -> u64 {
        self.clock.shown(self.now)
    }

    fn wait(&mut self, _: &Lead, until: Option<u64>) -> Result<Vec<Input>, Stop> {
        let generation = self.generation;
        let until = until.map(|until| self.clock.meant(until));
        // Several inputs in one batch are as common as one.
        let patience = match self.script.times {
            None => self.dice.below(2) * self.dice.below(400),
            Some(_) => 0,
        };
        let mut closes = None;
        while closes.is_none_or(|closes| closes > self.now) {
            let next = self.queue.keys().next().map(|(at, _)| *at);
            let limit = until.into_iter().chain(closes).min();
            let Some(at) = next.into_iter().chain(limit).min() else {
                return if self.inbox.is_empty() { Err(Stop::Rest) } else { break };
            };
            self.pass(at.max(self.now));
            if let Some(broken) = self.broken.take() {
                return Err(Stop::Broken(broken));
            }
            if self.generation != generation {
                return Err(Stop::Down);
            }
            if !self.inbox.is_empty() && closes.is_none() {
                closes = Some(self.now + patience);
            }
            if until.is_some_and(|until| until <= self.now) {
                break;
            }
        }
        Ok(std::mem::take(&mut self.inbox))
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), Stop> {
        if self.crashes() || self.is_full() {
            return Err(Stop::Down);
        }
        if self.journal.last().is_some_and(|(last, _)| *last > now) {
            return Err(Stop::Broken(format!("the lead's clock went back to {now}")));
        }
        let line = serde_json::to_string(events).unwrap();
        let events: Vec<Event> = serde_json::from_str(&line).unwrap();
        self.journal.push((now, line));
        for event in &events {
            self.ledger.take_in(event, now).map_err(Stop::Broken)?;
            if let Event::Asked { item } = event {
                self.see(item);
            }
            if let Event::Moved { phase, .. } = event {
                self.check_phase(*phase).map_err(Stop::Broken)?;
            }
        }
        if self.crashes() { Err(Stop::Down) } else { Ok(()) }
    }

    fn release(&mut self, _: &Lead, (id, effect): (u64, Effect)) -> Result<(), Stop> {
        if self.ledger.lead.open.get(&id) != Some(&effect) {
            return Err(Stop::Broken(format!("{effect:?} is begun and not written down")));
        }
        self.begin(id, effect);
        if self.crashes() { Err(Stop::Down) } else { Ok(()) }
    }

    fn settle(&mut self, lead: &Lead, events: &[Event]) -> Result<bool, Stop> {
        self.batches += 1;
        let batches_max = 5_000 + 1_500 * self.script.specs.len() as u64;
        if self.batches > batches_max {
            return Err(Stop::Broken(format!("no end after {} batches", self.batches)));
        }
        if self.batches.is_multiple_of(self.check_every) && !events.is_empty() {
            self.ledger.check(lead).map_err(Stop::Broken)?;
        }
        Ok(true)
    }
}
