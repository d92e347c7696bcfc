//! The simulated world: one queue of events in virtual time, and the world of the lead.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::lead::{Command, CommandOrigin, Effect, Event, Input, Lead};
use mow_core::machine::{Machine as _, step};
use mow_core::phase::PhaseNumber;
use mow_core::report::LeadMessage;
use mow_core::worker;
use mow_engine::drive::World;
use mow_engine::link::LinkEvent;
use mow_testkit::seeded_rng::SeededRng;

use super::checks::RunInvariants;
use super::link::SimLink;
use super::scenario::Scenario;
use super::worker_processes::{ClockSkew, Key, Process};

/// An event of the simulation. A generation is the life of one lead process; events of an older
/// generation are dropped.
#[derive(Debug)]
pub(crate) enum SimEvent {
    /// An effect of the lead is carried out.
    Act { generation: u32, id: u64, effect: Effect },
    /// An input reaches the lead.
    Deliver { generation: u32, input: Input },
    /// The lead reads a worker's journal.
    Tail { generation: u32, key: Key },
    /// The lead checks whether a worker is gone.
    Watch { generation: u32, key: Key },
    /// The lead reads the file of commands.
    ReadCommands { generation: u32 },
    /// The lead ends without a crash and is started again.
    Restart { generation: u32 },
    /// An effect of a worker is carried out.
    Done { key: Key, id: u64, effect: worker::Effect },
    /// An effect of a worker is cut off.
    CutOff { key: Key, id: u64 },
    /// An effect of a worker is reported as stuck, or as active again.
    Sign { key: Key, id: u64, stuck: bool },
    /// A worker process is stopped, as by SIGSTOP.
    Freeze { key: Key },
    /// A stopped worker continues.
    Thaw { key: Key },
    /// A worker reads a message of the lead.
    MessageSent { key: Key, note: LeadMessage },
    /// A worker reads the messages that reached it through a faulty link.
    ReadMessages { key: Key },
    /// An event of a faulty link arrives.
    Arrive { event: LinkEvent },
    /// A faulty link sends again what is not confirmed.
    Resend { key: Key },
    /// A faulty link learns what the lead has recorded.
    Confirmed { generation: u32, key: Key, through: u64 },
    /// A faulty link is cut for a while.
    CutLink,
    /// The deadline of a worker is reached.
    Wake { key: Key },
    /// A worker exits after its last report.
    Exit { key: Key },
    /// A person answers a question.
    Answer { item: u32 },
    /// A person pauses, resumes or cancels something.
    Intervene,
    /// The roadmap changes.
    Roadmap,
    /// The lead is asked to stop.
    Hold,
    /// The lead polls its files without being woken.
    Look,
    /// The lead of any generation ends and is started again.
    Replace,
}

/// Why the loop of the lead ended.
#[derive(Debug)]
pub(crate) enum SimStop {
    /// The lead crashed or ended, and is to be started again.
    Down,
    /// The queue has no more events.
    Rest,
    /// An invariant is violated.
    Broken(String),
}

/// The state of the simulation.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) rng: SeededRng,
    pub(crate) scenario: Scenario,
    /// The true virtual time, in milliseconds.
    pub(crate) now: u64,
    /// How far the clock of the lead is off.
    clock: ClockSkew,
    /// How many more writes of the lead find the disk full.
    full: u64,
    queue: BTreeMap<(u64, u64), SimEvent>,
    ties: u64,
    pub(crate) generation: u32,
    /// The inputs of the next batch of the lead.
    pub(crate) inbox: Vec<Input>,
    /// The lead's journal: a line for each batch, with its time.
    pub(crate) journal: Vec<(u64, Box<str>)>,
    pub(crate) invariants: RunInvariants,
    pub(crate) processes: BTreeMap<Key, Process>,
    /// Workers that are alive and execute their plans.
    pub(crate) executing: BTreeSet<Key>,
    pub(crate) link: SimLink,
    pub(crate) commands: Vec<Command>,
    commands_read: u64,
    /// The merged phases, each with its place in the order of merges, counted from one; the commit
    /// `m3` is the target with the first three.
    pub(crate) merges: BTreeMap<PhaseNumber, usize>,
    pub(crate) closings: u64,
    /// Phases for which a person refused something for good.
    pub(crate) given_up: BTreeSet<PhaseNumber>,
    pub(crate) broken: Option<String>,
    /// Until when no model answers.
    pub(crate) outage: u64,
    /// When agents were started.
    pub(crate) agent_starts: Vec<u64>,
    batches: u64,
    /// After how many batches the full comparison runs; 1 for every batch.
    check_every: u64,
}

impl Sim {
    pub(crate) fn new(rng: SeededRng, scenario: Scenario) -> Self {
        // The cost of the comparison grows with the phases, so a large run makes fewer.
        let check_every = 1 + scenario.specs.len() as u64 / 4;
        Self {
            rng,
            scenario,
            now: 10_000_000_000,
            clock: ClockSkew::default(),
            full: 0,
            queue: BTreeMap::new(),
            ties: 0,
            generation: 0,
            inbox: Vec::new(),
            journal: Vec::new(),
            invariants: RunInvariants::default(),
            processes: BTreeMap::new(),
            executing: BTreeSet::new(),
            link: SimLink::default(),
            commands: Vec::new(),
            commands_read: 0,
            merges: BTreeMap::new(),
            closings: 0,
            given_up: BTreeSet::new(),
            broken: None,
            outage: 0,
            agent_starts: Vec::new(),
            batches: 0,
            check_every,
        }
    }

    /// Queues an event after a delay.
    pub(crate) fn after(&mut self, delay: u64, event: SimEvent) {
        self.ties += 1;
        self.queue.insert((self.now + delay, self.ties), event);
    }

    /// Returns a random delay; mostly short, sometimes long.
    pub(crate) fn delay(&mut self, max: u64) -> u64 {
        if self.scenario.durations.is_some() {
            return 1;
        }
        let max = if self.rng.below(4) == 0 { max } else { max / 20 + 1 };
        1 + self.rng.below(max)
    }

    /// Processes all events up to a time.
    fn process_until(&mut self, until: u64) {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until) {
            let ((at, _), event) = entry.remove_entry();
            self.now = at.max(self.now);
            self.process(event);
            self.receive();
        }
        self.now = until.max(self.now);
    }

    pub(crate) fn process(&mut self, event: SimEvent) {
        let current = self.generation;
        let Some(event) = self.unless_frozen(event) else { return };
        match event {
            SimEvent::Act { generation, id, effect } if generation == current => {
                self.finish_effect(id, &effect);
            }
            SimEvent::Deliver { generation, input } if generation == current => {
                self.inbox.push(input);
            }
            SimEvent::Tail { generation, key } if generation == current => self.tail(key),
            SimEvent::Watch { generation, key } if generation == current => self.watch(key),
            SimEvent::ReadCommands { generation } if generation == current => {
                self.read_commands();
            }
            SimEvent::Restart { generation } if generation == current => self.generation += 1,
            SimEvent::Done { key, id, effect } => self.finish(key, id, &effect),
            SimEvent::CutOff { key, id } => self.cut_off(key, id),
            SimEvent::Sign { key, id, stuck } => self.report_activity(key, id, stuck),
            SimEvent::Freeze { key } => self.freeze(key),
            SimEvent::Thaw { key } => self.thaw(key),
            SimEvent::MessageSent { key, note } => self.tell_worker(key, note),
            SimEvent::ReadMessages { key } => self.read_messages(key),
            SimEvent::Arrive { event } => self.arrive(event),
            SimEvent::Resend { key } => self.resend(key),
            // A confirmation of an earlier lead may cover more than the new lead has recorded.
            SimEvent::Confirmed { generation, key, through } if generation == current => {
                self.confirmed(key, through);
            }
            SimEvent::CutLink => self.cut_link(),
            SimEvent::Wake { key } => self.feed(key, Vec::new()),
            SimEvent::Exit { key } => self.exit(key),
            SimEvent::Answer { item } => self.answer(item),
            SimEvent::Intervene => self.intervene(),
            SimEvent::Roadmap => self.change_roadmap(),
            SimEvent::Hold => self.hold(),
            SimEvent::Look => {
                self.read_commands();
                self.inbox.push(self.roadmap());
            }
            SimEvent::Replace => self.generation += 1,
            _ => {}
        }
    }

    /// Returns the time of the lead's clock.
    pub(crate) fn lead_time(&self) -> u64 {
        self.clock.clock_time(self.now)
    }

    fn read_commands(&mut self) {
        if self.commands_read > 0 && self.rng.below(6) == 0 {
            self.commands_read -= 1;
        }
        let new = (1..).zip(&self.commands).skip(usize::try_from(self.commands_read).unwrap());
        let inputs = new.map(|(seq, command)| Input::Command {
            seq,
            command: command.clone(),
            origin: CommandOrigin::default(),
        });
        self.inbox.extend(inputs);
        self.commands_read = self.commands.len() as u64;
    }

    /// Decides whether the lead crashes here.
    fn crashes(&mut self) -> bool {
        let crashes = self.scenario.faults.lead > 0 && self.rng.below(60) == 0;
        self.scenario.faults.lead -= u64::from(crashes);
        crashes
    }

    /// Decides whether the disk is full when the lead writes. Then this lead and the next ones end,
    /// until there is room again.
    fn is_full(&mut self) -> bool {
        if self.full == 0 && self.scenario.faults.full > 0 && self.rng.below(80) == 0 {
            self.scenario.faults.full -= 1;
            self.full = 1 + self.rng.below(4);
        }
        let is_full = self.full > 0;
        self.full -= u64::from(is_full);
        is_full
    }

    /// Starts a new lead from the journal.
    pub(crate) fn recover(&mut self) -> Result<Lead, String> {
        self.generation += 1;
        self.inbox.clear();
        self.link.sent.clear();
        self.interrupt_effects();
        let down = self.delay(20_000);
        self.process_until(self.now + down);
        let lead = self.replay()?;
        if lead != self.invariants.lead {
            return Err("the journal gives another lead".to_owned());
        }
        self.clock = self.set_clock(self.journal.last().map_or(0, |(at, _)| *at));
        self.check_recovery(&lead)?;
        self.commands_read = lead.commands_through.unwrap_or(0);
        self.inbox.clear();
        self.resume_link(&lead);
        if lead.run.is_empty() {
            let (run, target, tip) = ("r".to_owned(), "main".to_owned(), "m0".to_owned());
            self.inbox.push(Input::Begin { run, target, tip });
        }
        self.inbox.push(Input::LeadStarted { settings: self.scenario.settings.clone() });
        self.inbox.push(self.roadmap());
        for (id, effect) in lead.effects.open.clone() {
            self.start_effect(id, effect);
        }
        let generation = self.generation;
        for track in lead.live() {
            let key = (track.spec.number, track.attempt);
            self.link.sent.insert(key, track.read_through.unwrap_or(0));
            let after = self.delay(5_000);
            self.after(after, SimEvent::Watch { generation, key });
            self.report_hung(key);
            self.after(after / 2, SimEvent::Tail { generation, key });
        }
        self.after(1, SimEvent::ReadCommands { generation });
        Ok(lead)
    }

    /// Checks that a lead that resumes and crashes at once can be resumed again with the same
    /// state.
    fn check_recovery(&self, lead: &Lead) -> Result<(), String> {
        let take_up = Input::LeadStarted { settings: self.scenario.settings.clone() };
        let now = self.clock.clock_time(self.now);
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

    /// Carries out some effects of the dead lead, without reporting their outcome.
    fn interrupt_effects(&mut self) {
        let acts: Vec<_> = (self.queue.iter())
            .filter(|(_, event)| matches!(event, SimEvent::Act { .. }))
            .map(|(at, _)| *at)
            .collect();
        for at in acts {
            if let Some(SimEvent::Act { effect, .. }) = self.queue.remove(&at)
                && self.rng.below(2) == 0
            {
                self.run_effect(&effect);
            }
        }
    }

    /// Starts an effect of the lead.
    fn start_effect(&mut self, id: u64, effect: Effect) {
        let max = match effect {
            Effect::SendMessage { .. } | Effect::KillWorker { .. } => 100,
            _ => 4_000,
        };
        let (generation, after) = (self.generation, self.delay(max));
        self.after(after, SimEvent::Act { generation, id, effect });
    }

    /// Ends an effect of the lead; the outcome is delivered once or twice.
    fn finish_effect(&mut self, id: u64, effect: &Effect) {
        let outcome = self.run_effect(effect);
        let generation = self.generation;
        for _ in 0..1 + self.rng.below(10) / 9 {
            let after = self.delay(500);
            let input = Input::Finished { id, outcome: outcome.clone() };
            self.after(after, SimEvent::Deliver { generation, input });
        }
    }
}

impl World<Lead> for Sim {
    type Error = SimStop;

    fn now(&mut self) -> u64 {
        self.clock.clock_time(self.now)
    }

    fn wait(&mut self, _: &Lead, until: Option<u64>) -> Result<Vec<Input>, SimStop> {
        let generation = self.generation;
        let until = until.map(|until| self.clock.true_time(until));
        // A batch with several inputs is as likely as one with a single input.
        let patience = match self.scenario.durations {
            None => self.rng.below(2) * self.rng.below(400),
            Some(_) => 0,
        };
        let mut closes = None;
        while closes.is_none_or(|closes| closes > self.now) {
            let next = self.queue.keys().next().map(|(at, _)| *at);
            let limit = until.into_iter().chain(closes).min();
            let Some(at) = next.into_iter().chain(limit).min() else {
                return if self.inbox.is_empty() { Err(SimStop::Rest) } else { break };
            };
            self.process_until(at.max(self.now));
            if let Some(broken) = self.broken.take() {
                return Err(SimStop::Broken(broken));
            }
            if self.generation != generation {
                return Err(SimStop::Down);
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

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), SimStop> {
        if self.crashes() || self.is_full() {
            return Err(SimStop::Down);
        }
        if self.journal.last().is_some_and(|(last, _)| *last > now) {
            return Err(SimStop::Broken(format!("the lead's clock went back to {now}")));
        }
        let line = serde_json::to_string(events).unwrap();
        let events: Vec<Event> = serde_json::from_str(&line).unwrap();
        self.journal.push((now, line.into_boxed_str()));
        for event in &events {
            self.invariants.apply_checked(event, now).map_err(SimStop::Broken)?;
            if let Event::Asked { item } = event {
                self.queue_answer(item);
            }
            if let Event::StatusChanged { phase, .. } = event {
                self.check_phase(*phase).map_err(SimStop::Broken)?;
            }
        }
        if self.crashes() { Err(SimStop::Down) } else { Ok(()) }
    }

    fn release(&mut self, _: &Lead, (id, effect): (u64, Effect)) -> Result<(), SimStop> {
        if self.invariants.lead.effects.open.get(&id) != Some(&effect) {
            return Err(SimStop::Broken(format!("{effect:?} is begun and not written down")));
        }
        self.start_effect(id, effect);
        if self.crashes() { Err(SimStop::Down) } else { Ok(()) }
    }

    fn finish_batch(&mut self, lead: &Lead, events: &[Event]) -> Result<bool, SimStop> {
        self.finish_link_batch(lead, events);
        self.batches += 1;
        let batches_max = 5_000 + 1_500 * self.scenario.specs.len() as u64;
        if self.batches > batches_max {
            let (batches, status) = (self.batches, self.unmerged_status());
            let last: Vec<_> = self.journal.iter().rev().take(8).collect();
            return Err(SimStop::Broken(format!(
                "no end after {batches} batches: {status}; {last:?}"
            )));
        }
        if self.batches.is_multiple_of(self.check_every) && !events.is_empty() {
            self.invariants.check(lead).map_err(SimStop::Broken)?;
        }
        Ok(true)
    }
}
