//! Simulates the link between the lead and its workers, with the trait and the intake of the
//! program.
//!
//! A lossless link delivers what a worker wrote when the lead reads it. A faulty link loses,
//! repeats, delays and reorders events, is cut for some workers for a while, and delivers messages
//! and confirmations late. It sends again what is not confirmed, as the journals of workers make
//! possible. All faults are bounded. The inputs that the intake gives to the lead are compared with
//! the journals of the workers.

use std::collections::{BTreeMap, BTreeSet};

use mow_core::lead::{Effect, Input, Lead, Outcome, Status};
use mow_core::machine::step;
use mow_core::report::{Brief, LeadMessage};
use mow_core::stage::Stage;
use mow_engine::EngineError;
use mow_engine::link::{
    LinkEvent, LinkIntake, LookAheadFile, PrepareJob, WorkerKey, WorkerLink, make_call,
    run_link_effect,
};
use mow_testkit::seeded_rng::SeededRng;

use super::worker_processes::{Key, Process};
use super::world::{Sim, SimEvent};

/// The most milliseconds that a delayed event needs.
const DELAY_MAX: u64 = 30_000;
/// The most milliseconds that a cut lasts.
const CUT_MAX: u64 = 600_000;
/// How long the link waits before it sends again what is not confirmed.
const RESEND_AFTER: u64 = 10_000;

/// How often each fault of a link may still happen.
#[derive(Debug, Default)]
pub(crate) struct LinkFaults {
    drops: u64,
    duplicates: u64,
    delays: u64,
    pub(crate) cuts: u64,
}

impl LinkFaults {
    /// Generates faults for a run of some phases.
    pub(crate) fn roll(rng: &mut SeededRng, phases: usize) -> Self {
        let most = 10 + 20 * phases as u64;
        Self {
            drops: rng.below(most),
            duplicates: rng.below(most),
            delays: rng.below(most),
            cuts: rng.below(4),
        }
    }
}

/// A deliberately broken consumer of link events, to show that the checks find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BrokenConsumer {
    /// Takes records again that it had taken.
    NoDedupe,
    /// Takes records and exits of an older attempt for those of the current one.
    NoFencing,
    /// Takes records after a gap.
    NoOrder,
    /// Takes a worker for gone before it has all its records.
    EarlyExit,
}

/// The link, and what the lead knows through it.
#[derive(Debug, Default)]
pub(crate) struct SimLink {
    /// The faults that may still happen; `None` for a lossless link.
    pub(crate) faults: Option<LinkFaults>,
    pub(crate) broken: Option<BrokenConsumer>,
    intake: LinkIntake,
    /// Events that the lead has not polled.
    arrived: Vec<LinkEvent>,
    /// How far each worker's journal was sent.
    pub(crate) sent: BTreeMap<Key, u64>,
    /// The open workers, with the last confirmed record.
    open: BTreeMap<Key, u64>,
    /// Workers whose unconfirmed records will be sent again.
    resending: BTreeSet<Key>,
    /// Workers that cannot be reached, and until when.
    cuts: BTreeMap<Key, u64>,
    /// The messages to each worker, by their numbers.
    messages: BTreeMap<Key, BTreeMap<u32, LeadMessage>>,
    /// The last record of each worker that was given to the lead.
    given: BTreeMap<Key, u64>,
    /// Workers of which the intake says that they are gone.
    exits: BTreeSet<Key>,
    /// How many events were sent again.
    pub(crate) resends: u64,
    /// How many workers were cut off.
    workers_cut: u64,
    /// How many faults happened.
    pub(crate) faults_seen: u64,
}

fn key_of(event: &LinkEvent) -> Key {
    match event {
        LinkEvent::Records { key, .. }
        | LinkEvent::Health { key, .. }
        | LinkEvent::Gone { key, .. } => (key.phase, key.attempt),
        LinkEvent::Warning { .. } => unreachable!("the simulated link warns of nothing"),
    }
}

impl SimLink {
    /// Forgets what belonged to a lead that is down.
    fn forget_lead(&mut self) {
        self.intake = LinkIntake::default();
        self.arrived.clear();
        self.open.clear();
        self.given.clear();
        self.exits.clear();
    }

    /// Gives an event to the intake; returns the new reports.
    fn accept(&mut self, lead: &Lead, event: LinkEvent, now: u64) -> Vec<Input> {
        match self.broken {
            Some(BrokenConsumer::NoFencing) => {
                let event = as_current(lead, event);
                self.intake.accept(lead, event, now);
            }
            Some(BrokenConsumer::NoDedupe) => {
                if let LinkEvent::Records { key, first, reports, .. } = &event {
                    let (phase, attempt) = (key.phase, key.attempt);
                    let state = lead.phases.get(&phase).filter(|state| state.attempt == attempt);
                    let given = self.given.get(&(phase, attempt)).copied().unwrap_or(0);
                    if state.is_some_and(|state| state.status.holds_slot()) && *first <= given {
                        let again = reports.iter().filter(|(seq, _)| *seq <= given);
                        let input = |(seq, report): &(u64, _)| {
                            let (seq, report) = (*seq, Clone::clone(report));
                            Input::Report { phase, attempt, seq, report }
                        };
                        return again.map(input).collect();
                    }
                }
                self.intake.accept(lead, event, now);
            }
            Some(BrokenConsumer::NoOrder) => {
                let event = match event {
                    LinkEvent::Records { key, through, reports, .. } => {
                        LinkEvent::Records { key, first: 1, through, reports }
                    }
                    other => other,
                };
                self.intake.accept(lead, event, now);
            }
            Some(BrokenConsumer::EarlyExit) => {
                let event = match event {
                    LinkEvent::Gone { key, .. } => LinkEvent::Gone { key, last: 0 },
                    other => other,
                };
                self.intake.accept(lead, event, now);
            }
            None => self.intake.accept(lead, event, now),
        }
        self.intake.take_reports()
    }
}

/// Returns an event as if it belonged to the current attempt of its phase.
fn as_current(lead: &Lead, mut event: LinkEvent) -> LinkEvent {
    if let LinkEvent::Records { key, .. } | LinkEvent::Gone { key, .. } = &mut event
        && let Some(state) = lead.phases.get(&key.phase)
    {
        key.attempt = state.attempt;
    }
    event
}

impl Sim {
    /// Carries out an effect of the lead that is a call of the link.
    pub(crate) fn run_link_effect(&mut self, effect: &Effect) -> Option<Outcome> {
        let result = run_link_effect(self, effect)?;
        Some(result.unwrap_or_else(|error| Outcome::Failed { reason: error.to_string() }))
    }

    /// Takes over the workers of a run for a new lead.
    pub(crate) fn resume_link(&mut self, lead: &Lead) {
        self.link.forget_lead();
        for call in self.link.intake.resume(lead) {
            make_call(self, call).expect("the simulated link does not fail");
        }
    }

    /// Makes the calls that follow from a batch of the lead.
    pub(crate) fn finish_link_batch(&mut self, lead: &Lead, events: &[mow_core::lead::Event]) {
        for call in self.link.intake.after_batch(lead, events) {
            make_call(self, call).expect("the simulated link does not fail");
        }
    }

    /// Sends the records of a worker that were not sent yet.
    pub(crate) fn send_new_records(&mut self, key: Key) {
        let is_open = self.link.faults.is_none() || self.link.open.contains_key(&key);
        if is_open {
            self.send_records(key);
            self.plan_resend(key);
        }
    }

    /// Sends the records after the last one that was sent, also of an attempt that is over.
    pub(crate) fn send_records(&mut self, key: Key) {
        let Some(process) = self.processes.get(&key) else { return };
        let sent = self.link.sent.entry(key).or_default();
        let (first, through) = (*sent + 1, process.last_seq());
        if first > through {
            return;
        }
        let reports = process.reports(*sent).map(|(seq, report)| (seq, report.clone())).collect();
        *sent = through;
        self.transmit(LinkEvent::Records { key: key.into(), first, through, reports });
    }

    /// Tells the lead that a worker is gone.
    pub(crate) fn send_gone(&mut self, key: Key) {
        let last = self.processes[&key].last_seq();
        self.transmit(LinkEvent::Gone { key: key.into(), last });
        self.plan_resend(key);
    }

    /// Sends an event to the lead: at once, late, several times or not at all.
    fn transmit(&mut self, event: LinkEvent) {
        let is_cut = self.cut_until(key_of(&event)).is_some();
        let Some(faults) = &mut self.link.faults else { return self.link.arrived.push(event) };
        if is_cut {
            return;
        }
        if faults.drops > 0 && self.rng.below(5) == 0 {
            faults.drops -= 1;
            self.link.faults_seen += 1;
            return;
        }
        let repeats = faults.duplicates > 0 && self.rng.below(10) == 0;
        faults.duplicates -= u64::from(repeats);
        self.link.faults_seen += u64::from(repeats);
        for _ in 0..1 + u64::from(repeats) {
            let after = self.link_delay(4);
            self.after(after, SimEvent::Arrive { event: event.clone() });
        }
    }

    /// Returns how long something takes through a faulty link: one of `odds` is late.
    fn link_delay(&mut self, odds: u64) -> u64 {
        match &mut self.link.faults {
            Some(faults) if faults.delays > 0 && self.rng.below(odds) == 0 => {
                faults.delays -= 1;
                self.link.faults_seen += 1;
                1 + self.rng.below(DELAY_MAX)
            }
            _ => 1,
        }
    }

    fn cut_until(&self, key: Key) -> Option<u64> {
        self.link.cuts.get(&key).copied().filter(|until| *until > self.now)
    }

    /// Cuts the link to some of the workers for a while.
    pub(crate) fn cut_link(&mut self) {
        let until = self.now + 1_000 + self.rng.below(CUT_MAX);
        let open: Vec<_> = self.link.open.keys().copied().collect();
        for key in open {
            if self.rng.below(2) == 0 {
                self.link.faults_seen += 1;
                self.link.workers_cut += 1;
                self.link.cuts.insert(key, until);
            }
        }
    }

    /// Plans to send again what the lead does not confirm. A lossless link needs no such thing.
    fn plan_resend(&mut self, key: Key) {
        if self.link.faults.is_some()
            && self.link.open.contains_key(&key)
            && self.link.resending.insert(key)
        {
            let after = RESEND_AFTER + self.rng.below(RESEND_AFTER);
            self.after(after, SimEvent::Resend { key });
        }
    }

    /// Sends again what the lead has not confirmed.
    pub(crate) fn resend(&mut self, key: Key) {
        self.link.resending.remove(&key);
        let Some(confirmed) = self.link.open.get(&key).copied() else { return };
        let Some(process) = self.processes.get(&key) else { return };
        let is_gone = !process.alive;
        if confirmed < process.last_seq() {
            self.link.resends += 1;
            self.link.sent.insert(key, confirmed);
            self.send_records(key);
            self.plan_resend(key);
        }
        if is_gone {
            self.link.resends += 1;
            self.send_gone(key);
        }
    }

    /// Receives an event for the lead.
    pub(crate) fn arrive(&mut self, event: LinkEvent) {
        self.link.arrived.push(event);
    }

    /// Gives the lead what has arrived.
    pub(crate) fn receive(&mut self) {
        for event in self.poll().expect("the simulated link does not fail") {
            let key = key_of(&event);
            let gone = matches!(event, LinkEvent::Gone { .. }).then_some(key);
            let sent = match &event {
                LinkEvent::Records { reports, .. } => reports.len(),
                _ => 0,
            };
            let now = self.lead_time();
            let reports = self.link.accept(&self.invariants.lead, event, now);
            if reports.len() < sent {
                self.wake_lead(key);
            }
            let exits = match self.is_starting(key) && !self.inbox.is_empty() {
                // The inputs before this one may tell the lead that the worker was started.
                true => {
                    let lead = self.lead_after_inbox();
                    self.link.intake.take_exits(&lead)
                }
                false => self.link.intake.take_exits(&self.invariants.lead),
            };
            for input in exits {
                if let Input::WorkerExited { phase, attempt } = input {
                    self.link.exits.insert((phase, attempt));
                }
            }
            reports.into_iter().for_each(|input| self.give(input));
            // Without faults an exit is reported with the event that says it.
            let exited: Vec<_> = match self.link.faults {
                None => gone.filter(|key| self.link.exits.remove(key)).into_iter().collect(),
                Some(_) => std::mem::take(&mut self.link.exits).into_iter().collect(),
            };
            if gone.is_some() && exited.is_empty() {
                self.wake_lead(key);
            }
            for (phase, attempt) in exited {
                self.give(Input::WorkerExited { phase, attempt });
            }
        }
    }

    /// Wakes the lead for an event that tells it nothing new: an input that it ignores.
    fn wake_lead(&mut self, (phase, _): Key) {
        self.inbox.push(Input::WorkerActive { phase, attempt: 0 });
    }

    fn is_starting(&self, (phase, _): Key) -> bool {
        let state = self.invariants.lead.phases.get(&phase);
        state.is_some_and(|state| state.status == Status::Starting)
    }

    /// Returns the lead as it will be when it has handled the inputs so far.
    fn lead_after_inbox(&self) -> Lead {
        let (mut lead, now) = (self.invariants.lead.clone(), self.lead_time());
        for input in &self.inbox {
            step(&mut lead, Some(input), now);
        }
        lead
    }

    /// Gives the lead an input of the intake, and compares it with the worker's journal.
    fn give(&mut self, input: Input) {
        if let Err(problem) = self.check_given(&input) {
            self.broken = Some(problem);
        }
        self.inbox.push(input);
    }

    fn check_given(&mut self, input: &Input) -> Result<(), String> {
        let (Input::Report { phase, attempt, .. } | Input::WorkerExited { phase, attempt }) = input
        else {
            return Ok(());
        };
        let (key, state) = ((*phase, *attempt), &self.invariants.lead.phases[phase]);
        let name = WorkerKey::from(key);
        if !self.invariants.is_live(key) {
            return Err(format!("the lead gets {input:?} of {name}, which is over"));
        }
        let read = state.read_through.unwrap_or(0);
        let given = self.link.given.get(&key).copied().unwrap_or(read);
        let Some(process) = self.processes.get(&key) else {
            return Err(format!("the lead gets {input:?} of {name}, which was never started"));
        };
        let next = process.reports(given).next();
        match input {
            Input::Report { seq, report, .. } => {
                if next != Some((*seq, report)) {
                    return Err(format!("the lead gets record {seq} of {name} after {given}"));
                }
                self.link.given.insert(key, *seq);
            }
            _ if process.alive => return Err(format!("{name} is alive and counts as gone")),
            _ => {
                if let Some((seq, _)) = next {
                    return Err(format!("{name} is gone before the lead has record {seq}"));
                }
            }
        }
        Ok(())
    }

    /// Checks that the link did not send again without end.
    pub(crate) fn check_resends(&self) -> Result<(), String> {
        let records: u64 = self.processes.values().map(Process::last_seq).sum();
        let SimLink { resends, workers_cut, .. } = &self.link;
        // Records and the end of a worker are sent again as long as the worker is cut off.
        let most = 3 * records + workers_cut * 2 * (CUT_MAX / RESEND_AFTER);
        if *resends > most {
            return Err(format!("{resends} events were sent again for {records} records"));
        }
        Ok(())
    }

    /// Lets a worker read its messages, each number once and in order.
    pub(crate) fn read_messages(&mut self, key: Key) {
        let Some(process) = self.processes.get_mut(&key) else { return };
        let messages = self.link.messages.get(&key).into_iter();
        let new = messages.flat_map(|all| all.range(process.messages_read + 1..));
        let new: Vec<_> = new.map(|(n, message)| (*n, message.clone())).collect();
        for (n, message) in new {
            if let Some(process) = self.processes.get_mut(&key) {
                process.messages_read = n;
            }
            self.tell_worker(key, message);
        }
    }
}

impl WorkerLink for Sim {
    fn prepare(&mut self, job: &PrepareJob) -> Result<String, EngineError> {
        self.prepare_phase(job.key.phase, &job.base)
    }

    fn spawn(&mut self, brief: &Brief) -> Result<(), EngineError> {
        self.start(brief)
    }

    fn open(&mut self, key: WorkerKey, through: u64) -> Result<(), EngineError> {
        let key = (key.phase, key.attempt);
        self.link.open.insert(key, through);
        if self.link.faults.is_some() {
            self.link.sent.insert(key, through);
            let generation = self.generation;
            self.after(1, SimEvent::Tail { generation, key });
            self.after(2, SimEvent::Watch { generation, key });
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Vec<LinkEvent>, EngineError> {
        Ok(std::mem::take(&mut self.link.arrived))
    }

    fn tell(&mut self, key: WorkerKey, n: u32, message: &LeadMessage) -> Result<(), EngineError> {
        let key = (key.phase, key.attempt);
        let known = self.link.messages.entry(key).or_default();
        if known.insert(n, message.clone()).is_some_and(|other| other != *message) {
            self.broken = Some(format!("phase {}-{} has two messages {n}", key.0, key.1));
        }
        for _ in 0..1 + self.rng.below(6) / 5 {
            let mut after = self.read_delay(3_000) + self.link_delay(4) - 1;
            if let Some(until) = self.cut_until(key) {
                after = after.max(until - self.now);
            }
            let event = match self.link.faults {
                None => SimEvent::MessageSent { key, note: message.clone() },
                Some(_) => SimEvent::ReadMessages { key },
            };
            self.after(after, event);
        }
        Ok(())
    }

    fn confirm(&mut self, key: WorkerKey, through: u64) -> Result<(), EngineError> {
        let key = (key.phase, key.attempt);
        match &self.link.faults {
            None => self.confirmed(key, through),
            Some(_) => {
                let (generation, after) = (self.generation, self.link_delay(8));
                self.after(after, SimEvent::Confirmed { generation, key, through });
            }
        }
        Ok(())
    }

    fn end(&mut self, key: WorkerKey) -> Result<(), EngineError> {
        self.kill((key.phase, key.attempt))
    }

    fn gather(
        &mut self,
        key: WorkerKey,
        through: Option<Stage>,
    ) -> Result<Vec<LookAheadFile>, EngineError> {
        self.scenario.disks.get_mut(&key.phase).unwrap().collect_look_ahead(through);
        Ok(Vec::new())
    }

    fn reset(&mut self, _: WorkerKey, _: &[LookAheadFile]) -> Result<(), EngineError> {
        Ok(())
    }

    fn close(&mut self, key: WorkerKey, _: Status) -> Result<(), EngineError> {
        let key = (key.phase, key.attempt);
        self.link.open.remove(&key);
        self.link.given.remove(&key);
        self.link.exits.remove(&key);
        self.link.messages.remove(&key);
        Ok(())
    }
}

impl Sim {
    /// Notes that the lead has recorded the records of a worker up to one.
    pub(crate) fn confirmed(&mut self, key: Key, through: u64) {
        if let Some(confirmed) = self.link.open.get_mut(&key) {
            *confirmed = through.max(*confirmed);
        }
    }
}
