//! The surroundings of the worker's state machine: its journal, its inbox file, and one thread for
//! each running effect.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use mow_core::worker::{Effect, Event, Input, Outcome, Worker};
use mow_host::life_lock::LifeLock;
use mow_host::stop_signal::StopSignal;
use mow_host::stuck_detector::ActivityChange;
use mow_store::journal::Journal;

use super::lead_inbox::LeadInbox;
use super::perform::perform;
use super::phase_workspace::PhaseWorkspace;
use crate::EngineError;
use crate::clock::Clock;
use crate::drive::World;
use crate::watch::{self, FileWatch, POLL_INTERVAL, WakeFlag};

/// The most wake-ups that wait for the worker's event loop.
///
/// Threads of effects send a few per second. When the queue is full, they wait for the loop, so
/// that no outcome is lost; the loop itself never sends.
const QUEUE_MAX: usize = 256;

/// What wakes the worker's event loop.
enum Wakeup {
    /// The inbox file changed.
    InboxChanged,
    /// An effect has finished.
    Finished(u64, Outcome),
    /// An effect is stuck, or active again.
    Activity(u64, ActivityChange),
    /// A running effect has something to record.
    ///
    /// The sender is told when the record is on disk.
    Learned(Input, Option<SyncSender<()>>),
}

pub(super) struct WorkerWorld {
    workspace: PhaseWorkspace,
    life: LifeLock,
    /// The stop signals of running effects, by effect id.
    stops: BTreeMap<u64, StopSignal>,
    journal: Journal,
    inbox: LeadInbox,
    /// The first input; `None` once it was taken.
    begin: Option<Input>,
    clock: Clock,
    wake_flag: WakeFlag,
    /// Keeps the thread alive that watches the inbox.
    _inbox_watch: FileWatch,
    sender: SyncSender<Wakeup>,
    receiver: Receiver<Wakeup>,
    /// Since when the lead has not acknowledged the newest record, in milliseconds.
    unacknowledged_since: Option<u64>,
    /// Whether the current silence of the lead has been noted.
    silence_noted: bool,
    /// Who waits until the inputs of this batch are recorded.
    receipts: Vec<SyncSender<()>>,
}

impl WorkerWorld {
    pub(super) fn new(
        workspace: PhaseWorkspace,
        life: LifeLock,
        journal: Journal,
        inbox: LeadInbox,
        begin: Input,
    ) -> Self {
        let (sender, receiver) = mpsc::sync_channel(QUEUE_MAX);
        let (wake_flag, wake) = (WakeFlag::default(), sender.clone());
        // The file, not its directory: there the files of all workers change.
        let inbox_watch = watch::watch_files(
            &[&workspace.inbox_file()],
            |_| true,
            wake_flag.clone(),
            move || {
                // If the queue is full, the loop runs and reads the inbox anyway.
                wake.try_send(Wakeup::InboxChanged).ok();
            },
        );
        let learned = sender.clone();
        let channel = move |input, receipt| drop(learned.send(Wakeup::Learned(input, receipt)));
        workspace.channel.set(Box::new(channel)).ok();
        let status = Arc::clone(&workspace.status);
        // Without the thread, STATUS.md is written when a plan or the attempt ends.
        let write = move || status.write_until_closed();
        thread::Builder::new().name("mow-status".to_owned()).spawn(write).ok();
        Self {
            workspace,
            life,
            stops: BTreeMap::new(),
            journal,
            inbox,
            begin: Some(begin),
            clock: Clock::default(),
            wake_flag,
            _inbox_watch: inbox_watch,
            sender,
            receiver,
            unacknowledged_since: None,
            silence_noted: false,
            receipts: Vec::new(),
        }
    }

    /// Reads the lead's messages from the inbox file.
    fn read_inbox(&mut self, inputs: &mut Vec<Input>) -> Result<(), EngineError> {
        self.wake_flag.reset();
        inputs.extend(self.inbox.read_notes()?.into_iter().map(Input::FromLead));
        if self.is_acknowledged() {
            (self.unacknowledged_since, self.silence_noted) = (None, false);
        }
        Ok(())
    }

    /// Returns whether the lead has acknowledged all records that this worker wrote.
    fn is_acknowledged(&self) -> bool {
        self.inbox.acknowledged_seq() >= self.journal.last_seq()
    }

    /// Notes, once, that the lead has been silent for too long.
    fn note_lead_silence(&mut self, inputs: &mut Vec<Input>) {
        let now = self.clock.now();
        let timeout = self.workspace.ack_timeout_ms();
        let since = self.unacknowledged_since.filter(|since| now >= since + timeout);
        let Some(since) = since else {
            return;
        };
        if !self.silence_noted {
            self.silence_noted = true;
            let seconds = (now - since) / 1_000;
            let silence = format!("The lead has not answered for {seconds} s.");
            let text = format!("{silence} The worker continues without it.");
            inputs.push(Input::LeadSilent { text });
        }
    }
}

impl World<Worker> for WorkerWorld {
    type Error = EngineError;

    fn now(&mut self) -> u64 {
        self.clock.now()
    }

    fn wait(&mut self, worker: &Worker, until: Option<u64>) -> Result<Vec<Input>, EngineError> {
        if let Some(begin) = self.begin.take() {
            return Ok(vec![begin]);
        }
        if worker.awaits_blocker_ack() && self.is_acknowledged() {
            return Ok(vec![Input::BlockerAcknowledged]);
        }
        self.life.record_heartbeat();
        let left = until.map(|until| until.saturating_sub(self.clock.now()));
        let timeout =
            left.map_or(POLL_INTERVAL, |left| POLL_INTERVAL.min(Duration::from_millis(left)));
        let mut inputs = Vec::new();
        let mut next = match self.receiver.recv_timeout(timeout) {
            Ok(wakeup) => Some(wakeup),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("this world holds a sender"),
        };
        while let Some(wakeup) = next {
            match wakeup {
                Wakeup::Finished(id, outcome) => {
                    self.stops.remove(&id);
                    inputs.push(Input::Finished { id, outcome });
                }
                Wakeup::Activity(id, ActivityChange::Stuck(signs)) => {
                    inputs.push(Input::Stuck { id, signs: signs.to_string() });
                }
                Wakeup::Activity(id, ActivityChange::Active) => {
                    inputs.push(Input::ActiveAgain { id });
                }
                Wakeup::Learned(input, receipt) => {
                    inputs.push(input);
                    self.receipts.extend(receipt);
                }
                Wakeup::InboxChanged => {}
            }
            next = self.receiver.try_recv().ok();
        }
        self.read_inbox(&mut inputs)?;
        self.note_lead_silence(&mut inputs);
        Ok(inputs)
    }

    fn record(&mut self, events: &[Event], now: u64) -> Result<(), EngineError> {
        self.journal.append(now, events)?;
        self.unacknowledged_since.get_or_insert(now);
        Ok(())
    }

    fn release(&mut self, worker: &Worker, (id, effect): (u64, Effect)) -> Result<(), EngineError> {
        // Effects edit STATUS.md, too, so it first shows what was decided.
        self.workspace.status.show(worker.live_status());
        if let Effect::Interrupt { of } = effect {
            let matching = self.stops.iter().filter(|(id, _)| of.is_none_or(|of| of == **id));
            matching.for_each(|(_, stop)| stop.stop());
            return Ok(());
        }
        let stop = StopSignal::new().map_err(EngineError::io("make a pipe"))?;
        if id != Worker::UNNUMBERED {
            self.stops.insert(id, stop.clone());
        }
        let (sender, activity_sender) = (self.sender.clone(), self.sender.clone());
        let workspace = self.workspace.for_effect(stop, move |activity| {
            activity_sender.send(Wakeup::Activity(id, activity)).ok();
        });
        let act = move || {
            let outcome = perform(&workspace, id, &effect);
            sender.send(Wakeup::Finished(id, outcome)).ok();
        };
        let thread = thread::Builder::new().name("mow-effect".to_owned()).spawn(act);
        thread.map(drop).map_err(EngineError::io("start a thread"))
    }

    fn finish_batch(&mut self, worker: &Worker, _events: &[Event]) -> Result<bool, EngineError> {
        for receipt in self.receipts.drain(..) {
            // The effect that waits for it may have been given up.
            receipt.send(()).ok();
        }
        self.workspace.status.show(worker.live_status());
        if worker.has_ended() {
            self.workspace.status.close();
        }
        Ok(!worker.has_ended())
    }
}
