//! What a worker lives in: its journal, its inbox, and a thread for what it is doing.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use mow_core::report::Note;
use mow_core::worker::{Effect, Event, Input, Outcome, Worker};
use mow_host::life::Life;
use mow_host::pulse::Sign;
use mow_host::stop::Stop;
use mow_store::journal::{Journal, Tail};

use super::desk::Desk;
use crate::EngineError;
use crate::clock::Clock;
use crate::drive::World;
use crate::watch::{self, Bell, LOOK_EVERY};

/// What wakes a worker.
enum Wake {
    /// A file changed.
    Files,
    /// An effect came to its end.
    Finished(u64, Outcome),
    /// An effect shows no sign of life, or does so again.
    Sign(u64, Sign),
    /// An effect that goes on has something to be written down.
    Learned(Input),
}

pub(super) struct WorkerWorld {
    desk: Desk,
    life: Life,
    /// What stops each effect that is under way.
    stops: BTreeMap<u64, Stop>,
    journal: Journal,
    inbox: Tail,
    begin: Option<Input>,
    clock: Clock,
    bell: Bell,
    sender: Sender<Wake>,
    receiver: Receiver<Wake>,
    /// Since when the lead has not confirmed what it was told.
    unheard_since: Option<u64>,
    confirmed: u64,
    noted: bool,
}

impl WorkerWorld {
    pub(super) fn new(desk: Desk, life: Life, journal: Journal, inbox: Tail, begin: Input) -> Self {
        let (sender, receiver) = mpsc::channel();
        let bell = Bell::default();
        let (own, wake) = (desk.inbox_name(), sender.clone());
        let concerns = move |name: &str| name == own;
        watch::watch(&[desk.site.run.path()], concerns, bell.clone(), move || {
            wake.send(Wake::Files).is_ok()
        });
        let learned = sender.clone();
        let voice = move |input| drop(learned.send(Wake::Learned(input)));
        desk.voice.set(Box::new(voice)).ok();
        Self {
            desk,
            life,
            stops: BTreeMap::new(),
            journal,
            inbox,
            begin: Some(begin),
            clock: Clock::default(),
            bell,
            sender,
            receiver,
            unheard_since: None,
            confirmed: 0,
            noted: false,
        }
    }

    /// Reads what the lead says.
    fn listen(&mut self, inputs: &mut Vec<Input>) -> Result<(), EngineError> {
        self.bell.reset();
        for record in self.inbox.poll()? {
            match record.parse::<Note>()? {
                Note::Through { seq } => self.confirmed = self.confirmed.max(seq),
                note => inputs.push(Input::Told(note)),
            }
        }
        if self.confirmed >= self.journal.last_seq() {
            (self.unheard_since, self.noted) = (None, false);
        }
        Ok(())
    }

    /// Notes, once, that the lead has been silent for too long.
    fn complain(&mut self, inputs: &mut Vec<Input>) {
        let now = self.clock.now();
        let patience = self.desk.ack_timeout_ms();
        let Some(since) = self.unheard_since.filter(|since| now >= since + patience) else {
            return;
        };
        if !self.noted {
            self.noted = true;
            let seconds = (now - since) / 1_000;
            let text = format!("The lead has not answered for {seconds} s; going on without it.");
            inputs.push(Input::Unheard { text });
        }
    }
}

impl World<Worker> for WorkerWorld {
    type Error = EngineError;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, _worker: &Worker, until: Option<u64>) -> Result<Vec<Input>, EngineError> {
        if let Some(begin) = self.begin.take() {
            return Ok(vec![begin]);
        }
        self.life.beat();
        let left = until.map(|until| until.saturating_sub(self.clock.now()));
        let patience = left.map_or(LOOK_EVERY, |left| LOOK_EVERY.min(Duration::from_millis(left)));
        let mut inputs = Vec::new();
        let mut next = match self.receiver.recv_timeout(patience) {
            Ok(wake) => Some(wake),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("this world holds a sender"),
        };
        while let Some(wake) = next {
            match wake {
                Wake::Finished(id, outcome) => {
                    self.stops.remove(&id);
                    inputs.push(Input::Finished { id, outcome });
                }
                Wake::Sign(id, Sign::Stuck(signs)) => {
                    inputs.push(Input::Stuck { id, signs: signs.to_string() });
                }
                Wake::Sign(id, Sign::Moving) => inputs.push(Input::Moving { id }),
                Wake::Learned(input) => inputs.push(input),
                Wake::Files => {}
            }
            next = self.receiver.try_recv().ok();
        }
        self.listen(&mut inputs)?;
        self.complain(&mut inputs);
        Ok(inputs)
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), EngineError> {
        self.journal.append(now, events)?;
        self.unheard_since.get_or_insert(now);
        Ok(())
    }

    fn release(
        &mut self,
        _worker: &Worker,
        (id, effect): (u64, Effect),
    ) -> Result<(), EngineError> {
        if let Effect::Interrupt { of } = effect {
            let meant = self.stops.iter().filter(|(id, _)| of.is_none_or(|of| of == **id));
            meant.for_each(|(_, stop)| stop.stop());
            return Ok(());
        }
        let stop = Stop::new().map_err(EngineError::io("make a pipe"))?;
        if id != Worker::UNNUMBERED {
            self.stops.insert(id, stop.clone());
        }
        let (sender, signs) = (self.sender.clone(), self.sender.clone());
        let desk = self.desk.with(stop, move |sign| {
            signs.send(Wake::Sign(id, sign)).ok();
        });
        let act = move || {
            let outcome = desk.perform(id, &effect);
            sender.send(Wake::Finished(id, outcome)).ok();
        };
        let thread = std::thread::Builder::new().name("mow-effect".to_owned()).spawn(act);
        thread.map(drop).map_err(EngineError::io("start a thread"))
    }

    fn settle(&mut self, worker: &Worker, _events: &[Event]) -> Result<bool, EngineError> {
        Ok(!worker.ended)
    }
}
