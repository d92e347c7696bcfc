//! What a lead lives in: its journal, the journals of its workers, commands, signals, threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};

use mow_core::lead::{Command, Effect, Event, Hold, Input, Lead, Outcome, Standing, Status, Track};
use mow_core::money::Spent;
use mow_core::phase::PhaseNumber;
use mow_core::report::{Note, Report};
use mow_core::worker;
use mow_host::process;
use mow_store::journal::{Journal, Tail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Face;
use super::drawing::Drawing;
use super::effects::{END_GRACE, Hands};
use super::foresight::Foresight;
use super::health::Health;
use super::notify::Notices;
use super::roadmap::{self, Chosen, KnownPlans};
use crate::EngineError;
use crate::clock::Clock;
use crate::drive::World;
use crate::site::Site;
use crate::watch::{self, Bell, LOOK_EVERY};

/// How long a lead that takes up a run listens to workers that seem stuck.
const HEAR_OUT_MS: u64 = 6_000;
/// How long a roadmap must lack a phase before that is believed.
const BELIEVE_LOSS_MS: u64 = 2_000;

/// What wakes a lead.
pub(super) enum Wake {
    /// A file changed.
    Files,
    /// An effect came to its end.
    Finished(u64, Outcome),
    /// A worker and all it started are gone.
    Gone(PhaseNumber, u32),
    /// The planning files are drawn, or could not be.
    Drawn,
    /// Something that people should know now.
    Warn(String),
    /// Something that was done which people should know.
    Told(String),
    /// Something about a phase that people should know early.
    Noted(PhaseNumber, String),
    /// What an agent used that worked for the lead.
    Spent(PhaseNumber, Spent),
    /// Somebody pressed Ctrl-C, or the system wants the lead to end.
    Interrupted,
}

/// A worker's journal as the lead reads it.
struct Voice {
    tail: Tail,
    inbox: Journal,
    confirmed: u64,
    /// Whether the journal can still be read.
    sound: bool,
}

pub(super) struct LeadWorld<'a> {
    site: Arc<Site>,
    journal: Journal,
    chosen: Chosen,
    begin: Vec<Input>,
    face: &'a mut dyn Face,
    /// Whether to stay when only a person can move the run.
    pub(super) stay: bool,
    pub(super) clock: Clock,
    bell: Bell,
    sender: Sender<Wake>,
    receiver: Receiver<Wake>,
    commands: Tail,
    voices: BTreeMap<(PhaseNumber, u32), Voice>,
    hands: Hands,
    drawing: Drawing,
    /// Phases whose worktree was made ahead.
    ahead: BTreeSet<PhaseNumber>,
    foresight: Foresight,
    /// When the run was taken up.
    taken_up: u64,
    roadmap_seen: Option<(SystemTime, u64)>,
    plans: KnownPlans,
    /// Since when the roadmap lacks phases that wait.
    lost_since: Option<u64>,
    interrupts: u32,
    health: Health,
    notices: Notices,
    /// What was said already.
    warned: BTreeSet<String>,
    /// Whether the roadmap has not been read yet.
    first: bool,
}

impl<'a> LeadWorld<'a> {
    pub(super) fn new(
        site: Site,
        journal: Journal,
        chosen: Chosen,
        begin: Vec<Input>,
        face: &'a mut dyn Face,
    ) -> Self {
        let (sender, receiver) = mpsc::channel();
        let site = Arc::new(site);
        let commands = Tail::new(&site.run.commands());
        let hands = Hands::new(Arc::clone(&site), sender.clone());
        Self {
            drawing: Drawing::new(Arc::clone(&site), sender.clone()),
            site,
            journal,
            chosen,
            begin,
            face,
            stay: false,
            clock: Clock::default(),
            bell: Bell::default(),
            sender,
            receiver,
            commands,
            voices: BTreeMap::new(),
            hands,
            ahead: BTreeSet::new(),
            foresight: Foresight::default(),
            taken_up: 0,
            roadmap_seen: None,
            plans: KnownPlans::default(),
            lost_since: None,
            interrupts: 0,
            health: Health::default(),
            notices: Notices::default(),
            warned: BTreeSet::new(),
            first: true,
        }
    }

    /// Takes up a run: watches files and signals, adopts workers, looks at what was begun.
    pub(super) fn take_up(&mut self, lead: &Lead) -> Result<(), EngineError> {
        let wake = self.sender.clone();
        let concerns = |name: &str| {
            name == "ROADMAP.md"
                || (name.ends_with(".ndjson")
                    && !name.ends_with(".inbox.ndjson")
                    && name != "journal.ndjson")
        };
        let dirs = [self.site.run.path(), self.site.project.planning.as_path()];
        watch::watch(&dirs, concerns, self.bell.clone(), move || wake.send(Wake::Files).is_ok());
        let wake = self.sender.clone();
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(EngineError::io("listen for signals"))?;
        let listen = move || {
            for _ in signals.forever() {
                if wake.send(Wake::Interrupted).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("mow-signals".to_owned())
            .spawn(listen)
            .map_err(EngineError::io("start a thread"))?;
        self.drawing.take_up(lead)?;
        self.taken_up = self.clock.now();
        let config = self.site.config()?;
        self.health.hung_after(crate::site::minutes(&config, "multi_phase.stuck_after_min"));
        for track in lead.live() {
            if matches!(track.status, Status::Running | Status::Ending) {
                self.attend(track.spec.number, track.attempt)?;
                failpoint::reach("lead.adopted");
            }
        }
        for (id, effect) in &lead.open {
            self.release(lead, (*id, effect.clone()))?;
            failpoint::reach("lead.reopened");
        }
        Ok(())
    }

    /// Listens to a worker from now on, and learns when it is gone.
    fn attend(&mut self, phase: PhaseNumber, attempt: u32) -> Result<(), EngineError> {
        if self.voices.contains_key(&(phase, attempt)) {
            return Ok(());
        }
        let run = &self.site.run;
        let header = run.inbox_header(&phase, attempt);
        let (inbox, _) = Journal::open(&run.worker_inbox(&phase, attempt), &header)?;
        let tail = Tail::new(&run.worker_journal(&phase, attempt));
        self.voices.insert((phase, attempt), Voice { tail, inbox, confirmed: 0, sound: true });
        let (lock, token) = (run.life_lock(&phase, attempt), self.site.token(&phase, attempt));
        let wake = self.sender.clone();
        let watch = move || {
            // What does not end keeps the lock, and with it the phase, until it is gone.
            while let Err(error) = process::see_off(&lock, &token, END_GRACE) {
                let text = format!("phase {phase}: {}", EngineError::Host(error.into()).sentence());
                if wake.send(Wake::Warn(text)).is_err() {
                    return;
                }
                std::thread::sleep(LOOK_EVERY);
            }
            wake.send(Wake::Gone(phase, attempt)).ok();
        };
        std::thread::Builder::new()
            .name("mow-life".to_owned())
            .spawn(watch)
            .map_err(EngineError::io("start a thread"))?;
        Ok(())
    }

    /// Says something once.
    fn warn(&mut self, text: String) {
        if !self.warned.contains(&text) {
            self.face.warn(&text);
            self.warned.insert(text);
        }
    }

    /// Reads what a worker wrote.
    fn hear(&mut self, key: (PhaseNumber, u32), inputs: &mut Vec<Input>) {
        let Some(voice) = self.voices.get_mut(&key).filter(|voice| voice.sound) else {
            return;
        };
        let (phase, attempt) = key;
        let records = voice.tail.poll().unwrap_or_else(|error| {
            // The worker is ended, and what it committed is looked at by the next attempt.
            voice.sound = false;
            let reason =
                format!("its journal cannot be read: {}", EngineError::from(error).sentence());
            let (seq, report) = (voice.tail.last_seq() + 1, Report::Failed { reason });
            inputs.push(Input::Report { phase, attempt, seq, report });
            Vec::new()
        });
        for record in records {
            let report = match record.parse::<worker::Event>() {
                Ok(worker::Event::Reported(report)) => report,
                Ok(_) => continue,
                // What is no event is not ours; it is shown, and changes nothing.
                Err(_) => Report::Note { text: "an unreadable record".to_owned() },
            };
            inputs.push(Input::Report { phase, attempt, seq: record.seq, report });
            failpoint::reach("report.heard");
        }
    }

    /// Tells workers what is in this journal now.
    ///
    /// It need not be durable: it follows from this journal, and no worker outlives a power failure.
    fn confirm(&mut self) -> Result<(), EngineError> {
        let now = self.clock.now();
        for voice in self.voices.values_mut() {
            let seq = voice.tail.last_seq();
            if seq > voice.confirmed {
                failpoint::reach("inbox.through.before");
                voice.inbox.append_unsynced(now, &[Note::Through { seq }])?;
                failpoint::reach("inbox.through.written");
                voice.confirmed = seq;
            }
        }
        Ok(())
    }

    /// Says that somebody has removed the run, if that is so.
    pub(super) fn gone(&self) -> Option<EngineError> {
        let what = || format!("{} is gone, and with it the run", self.site.run.path().display());
        let is_gone = !self.site.run.journal().exists();
        is_gone.then(|| EngineError::refused(what(), "mow run begins a new one"))
    }

    /// Reads what has changed in files.
    fn look(&mut self, lead: &Lead, inputs: &mut Vec<Input>) -> Result<(), EngineError> {
        self.bell.reset();
        if let Some(gone) = self.gone() {
            return Err(gone);
        }
        let commands = self.commands.poll().unwrap_or_else(|error| {
            self.warn(format!("no commands can be taken: {}", EngineError::from(error).sentence()));
            Vec::new()
        });
        for record in commands {
            if let Ok(command) = record.parse::<Command>() {
                inputs.push(Input::Command { seq: record.seq, command });
                failpoint::reach("command.heard");
            }
        }
        let keys: Vec<_> = self.voices.keys().copied().collect();
        for key in keys {
            self.hear(key, inputs);
        }
        let path = self.site.project.planning.join("ROADMAP.md");
        let seen = fs::metadata(&path).ok().and_then(|m| Some((m.modified().ok()?, m.len())));
        if seen != self.roadmap_seen || self.first {
            self.read_roadmap(lead, seen, inputs);
        }
        Ok(())
    }

    /// Puts what the roadmap says now to the lead.
    ///
    /// A file that has just lost phases may be in the middle of being written: it is believed when
    /// it still says so after a while.
    fn read_roadmap(
        &mut self,
        lead: &Lead,
        seen: Option<(SystemTime, u64)>,
        inputs: &mut Vec<Input>,
    ) {
        let (project, plans) = (&self.site.project, &mut self.plans);
        let (scope, phases) = match roadmap::reread(project, lead, &self.chosen, plans) {
            Ok(read) => read,
            Err(why) => {
                (self.roadmap_seen, self.first) = (seen, false);
                return self.warn(format!("ROADMAP.md is left as it was: {why}"));
            }
        };
        let there: BTreeSet<_> = phases.iter().map(|spec| spec.number).collect();
        let is_open = |track: &&Track| track.status == Status::Waiting || lead.is_doubted(track);
        let mut open = lead.phases.values().filter(is_open);
        let lost = open.any(|track| !there.contains(&track.spec.number));
        let now = self.clock.now();
        let since = *self.lost_since.get_or_insert(now);
        if lost && !self.first && now < since + BELIEVE_LOSS_MS {
            return;
        }
        (self.roadmap_seen, self.first, self.lost_since) = (seen, false, None);
        inputs.push(Input::Roadmap { scope, phases });
    }

    fn interrupt(&mut self, inputs: &mut Vec<Input>) -> Result<(), EngineError> {
        self.interrupts += 1;
        match self.interrupts {
            1 => inputs.push(Input::Hold(Hold::Draining)),
            2 => inputs.push(Input::Hold(Hold::Stopping)),
            _ => {
                return Err(EngineError::refused(
                    "stopped; the workers go on by themselves",
                    "mow run takes them up again",
                ));
            }
        }
        Ok(())
    }

    fn next_wake(&mut self, until: Option<u64>) -> Option<Wake> {
        let now = self.clock.now();
        let draw = self.drawing.deadline();
        let lost = self.lost_since.map(|since| since + BELIEVE_LOSS_MS);
        let foresight = self.foresight.due();
        let until = until.into_iter().chain(draw).chain(lost).chain(foresight).min();
        let left = until.map_or(LOOK_EVERY, |at| Duration::from_millis(at.saturating_sub(now)));
        match self.receiver.recv_timeout(left.min(LOOK_EVERY)) {
            Ok(wake) => Some(wake),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("this world holds a sender"),
        }
    }

    /// Says what could not be drawn: how the run stands does not depend on it.
    fn warn_undrawn(&mut self, drawn: Result<(), EngineError>) {
        if let Err(error) = drawn {
            self.warn(format!("cannot write the planning files: {}", error.sentence()));
        }
    }

    /// Brings the planning files up to date at the end.
    pub(super) fn finish(&mut self, lead: &Lead) {
        let drawn = self.drawing.draw_rest(lead, self.clock.now());
        self.warn_undrawn(drawn);
    }

    /// Has worktrees made for what starts next.
    fn make_ahead(&mut self, lead: &Lead) {
        let soon: Vec<_> =
            lead.soon().into_iter().filter(|number| self.ahead.insert(*number)).collect();
        if !soon.is_empty() {
            self.hands.make_ahead(soon, lead.tip.clone());
        }
    }
}

impl World<Lead> for LeadWorld<'_> {
    type Error = EngineError;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, lead: &Lead, until: Option<u64>) -> Result<Vec<Input>, EngineError> {
        let mut inputs = std::mem::take(&mut self.begin);
        if !inputs.is_empty() {
            return Ok(inputs);
        }
        let mut next = if self.first { None } else { self.next_wake(until) };
        let mut gone = Vec::new();
        while let Some(wake) = next {
            match wake {
                Wake::Files => {}
                Wake::Finished(id, outcome) => {
                    // What was made ahead is in the root now.
                    if matches!(lead.open.get(&id), Some(Effect::Gather { .. })) {
                        self.roadmap_seen = None;
                    }
                    inputs.push(Input::Finished { id, outcome });
                }
                Wake::Gone(phase, attempt) => gone.push((phase, attempt)),
                Wake::Interrupted => self.interrupt(&mut inputs)?,
                Wake::Drawn => {
                    let drawn = self.drawing.end(self.clock.now());
                    self.warn_undrawn(drawn);
                }
                Wake::Warn(text) => self.warn(text),
                Wake::Told(text) => inputs.push(Input::Told { text }),
                Wake::Spent(phase, spent) => inputs.push(Input::Spent { phase, spent }),
                Wake::Noted(phase, text) => inputs.extend(self.foresight.note(phase, text)),
            }
            next = self.receiver.try_recv().ok();
        }
        self.look(lead, &mut inputs)?;
        let now = self.clock.now();
        self.health.look(&self.site, lead, now, &mut inputs);
        if let Some(waiting) = self.foresight.take(lead, self.clock.now()) {
            self.hands.foresee(waiting);
        }
        for (phase, attempt) in gone {
            // Everything it wrote is read by now: it was gone before we looked.
            inputs.push(Input::Gone { phase, attempt });
        }
        Ok(inputs)
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), EngineError> {
        // One record, so that a crash leaves all of the decision or nothing.
        self.journal.append(now, &[events])?;
        Ok(())
    }

    fn release(&mut self, lead: &Lead, (id, effect): (u64, Effect)) -> Result<(), EngineError> {
        let mut picture = Vec::new();
        match &effect {
            Effect::Tell { phase, attempt, n, note } => {
                self.attend(*phase, *attempt)?;
                let now = self.clock.now();
                let path = self.site.run.worker_inbox(phase, *attempt);
                if let Some(voice) = self.voices.get_mut(&(*phase, *attempt)) {
                    super::start::tell(&path, &mut voice.inbox, (*n, note), now)?;
                }
                self.sender.send(Wake::Finished(id, Outcome::Done)).ok();
                return Ok(());
            }
            // What is committed at the end is the picture of the end.
            Effect::Close { target, commit } => {
                let now = self.clock.now();
                let (files, drawn) = self.drawing.draw_end(lead, (target, commit), now)?;
                self.warn_undrawn(drawn);
                picture = files;
            }
            _ => {}
        }
        self.hands.begin(id, effect, picture)
    }

    fn settle(&mut self, lead: &Lead, events: &[Event]) -> Result<bool, EngineError> {
        if !events.is_empty() {
            self.drawing.note(events);
            self.notices.heed(&self.site, events);
            self.make_ahead(lead);
            self.foresight.heed(events, self.clock.now());
            for track in lead.live() {
                if matches!(track.status, Status::Running | Status::Ending) {
                    self.attend(track.spec.number, track.attempt)?;
                }
            }
            self.voices.retain(|(phase, attempt), _| {
                lead.phases
                    .get(phase)
                    .is_some_and(|t| t.attempt == *attempt && t.status.holds_slot())
            });
            self.confirm()?;
            let now = self.clock.now();
            self.face.show(lead, events, now);
        }
        self.drawing.begin(lead, self.clock.now());
        if self.first || !self.begin.is_empty() {
            return Ok(true);
        }
        Ok(match lead.standing() {
            Standing::Moving => true,
            Standing::Done => false,
            Standing::Waiting | Standing::Failed => {
                // Workers that seemed stuck to an earlier lead are given time to say otherwise.
                let is_new = self.clock.now() < self.taken_up + HEAR_OUT_MS;
                (self.stay || is_new && lead.live().next().is_some()) && self.interrupts == 0
            }
        })
    }
}
