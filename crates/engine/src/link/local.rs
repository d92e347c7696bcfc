//! The link to workers on the same machine: files in the run directory, processes and worktrees.
//!
//! A worker's journal holds its records, its inbox file the messages of the lead, its life lock
//! shows that it lives, and the time of that file is its last heartbeat. One thread watches all
//! workers. Nothing is lost here, so nothing is sent again.

mod look_ahead;
mod prepare;
mod spawn;
mod status;
#[cfg(test)]
mod tests;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use mow_core::lead::Status;
use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, LeadMessage, NoteNumbers, NumberedMessage, Report};
use mow_core::stage::Stage;
use mow_core::worker;
use mow_host::life_watch::{LifeEvent, LifeWatch, WatchedWorker};
use mow_host::{life_lock, process};
use mow_store::journal::{Journal, JournalReader};

use super::{LinkEvent, LookAheadFile, PrepareJob, WorkerKey, WorkerLink};
use crate::EngineError;
use crate::clock::Clock;
use crate::repository_lock::RepositoryLock;
use crate::run_context::RunContext;
use crate::watch::POLL_INTERVAL;

pub(crate) use worktree::LocalWorktree;

/// How long processes of a worker may take to end after SIGTERM.
const END_GRACE: Duration = Duration::from_secs(5);

/// The link to the workers of a run on this machine; clones share it.
#[derive(Clone, Debug)]
pub struct LocalLink {
    shared: Arc<SharedLink>,
}

/// What the clones of a link share.
struct SharedLink {
    ctx: Arc<RunContext>,
    repository: Arc<RepositoryLock>,
    life: LifeWatch<WorkerKey>,
    life_events: Arc<Mutex<Vec<LifeEvent<WorkerKey>>>>,
    connections: Mutex<Connections>,
}

impl fmt::Debug for SharedLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLink").field("run", &self.ctx.run.run()).finish_non_exhaustive()
    }
}

/// The workers whose events are delivered.
#[derive(Default)]
struct Connections {
    workers: BTreeMap<WorkerKey, WorkerConnection>,
    /// The workers that the thread watches. A closed worker is watched until it is gone.
    watched: BTreeSet<WorkerKey>,
    /// The processes of workers that were started and are not watched yet.
    children: BTreeMap<WorkerKey, Child>,
    sampled_at: Option<Instant>,
    clock: Clock,
}

/// The connection to a worker: its journal with reports, its inbox, and its last heartbeat.
struct WorkerConnection {
    reader: JournalReader,
    /// Whether the journal can still be read.
    is_readable: bool,
    inbox: WorkerInbox,
    /// The last record that was confirmed to the worker.
    confirmed: u64,
    heartbeat: Option<SystemTime>,
    beats: u64,
    samples: u64,
}

/// The inbox file of a worker, open for writing.
struct WorkerInbox {
    journal: Journal,
    /// The notes in the file.
    notes: NoteNumbers,
}

impl LocalLink {
    /// Creates the link. `wake` is called from a thread when a worker is gone; files are polled, and
    /// [`Self::is_relevant_file`] says which changes to wait for.
    pub(crate) fn new(
        ctx: Arc<RunContext>,
        repository: Arc<RepositoryLock>,
        wake: impl Fn() + Send + 'static,
    ) -> Result<Self, EngineError> {
        let life_events = Arc::<Mutex<Vec<LifeEvent<WorkerKey>>>>::default();
        let reported = Arc::clone(&life_events);
        let life = LifeWatch::start(move |event| {
            reported.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            wake();
        });
        let life = life.map_err(EngineError::io("start a thread"))?;
        let connections = Mutex::default();
        let shared = SharedLink { ctx, repository, life, life_events, connections };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns whether a change of a file in the run directory may be an event of a worker.
    pub(crate) fn is_relevant_file(name: &str) -> bool {
        name.ends_with(".ndjson") && !name.ends_with(".inbox.ndjson") && name != "journal.ndjson"
    }

    /// Makes the worktree of a phase that starts soon, so that the phase need not wait for it.
    pub(crate) fn make_worktree_ahead(
        &self,
        phase: &PhaseNumber,
        base: &str,
    ) -> Result<(), EngineError> {
        let SharedLink { ctx, repository, .. } = &*self.shared;
        repository.exclusively(|| prepare::make_worktree_ahead(ctx, phase, base))
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_life_events(&self) -> Vec<LifeEvent<WorkerKey>> {
        let events = self.shared.life_events.lock();
        std::mem::take(&mut *events.unwrap_or_else(PoisonError::into_inner))
    }

    fn watch(&self, key: WorkerKey, child: Option<Child>) -> Result<(), EngineError> {
        let ctx = &self.shared.ctx;
        let life_lock = ctx.run.life_lock(&key.phase, key.attempt);
        let token = ctx.token(&key.phase, key.attempt);
        let worker = WatchedWorker { key, life_lock, token, grace: END_GRACE, child };
        self.shared.life.add(worker).map_err(EngineError::io("watch a worker"))
    }
}

impl WorkerLink for LocalLink {
    fn prepare(&mut self, job: &PrepareJob) -> Result<String, EngineError> {
        prepare::prepare(&self.shared.ctx, job, &self.shared.repository)
    }

    fn spawn(&mut self, brief: &Brief) -> Result<(), EngineError> {
        let child = spawn::spawn(&self.shared.ctx, brief)?;
        let key = WorkerKey { phase: brief.phase, attempt: brief.attempt };
        self.connections().children.extend(child.map(|child| (key, child)));
        Ok(())
    }

    /// Reads the journal from its beginning, whatever `through` is, since that checks it.
    fn open(&mut self, key: WorkerKey, _through: u64) -> Result<(), EngineError> {
        let mut connections = self.connections();
        if connections.workers.contains_key(&key) {
            return Ok(());
        }
        connections.workers.insert(key, WorkerConnection::open(&self.shared.ctx, key)?);
        if connections.watched.insert(key) {
            let child = connections.children.remove(&key);
            self.watch(key, child)?;
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Vec<LinkEvent>, EngineError> {
        // A worker that is gone now has written all its records, so they are read after this.
        let life_events = self.take_life_events();
        let mut connections = self.connections();
        let Connections { workers, watched, sampled_at, .. } = &mut *connections;
        let mut events = Vec::new();
        for (key, worker) in workers.iter_mut() {
            events.extend(worker.read_records(*key));
        }
        if sampled_at.is_none_or(|at| at.elapsed() >= POLL_INTERVAL / 2) {
            *sampled_at = Some(Instant::now());
            let samples =
                workers.iter_mut().map(|(key, worker)| worker.sample(&self.shared.ctx, *key));
            events.extend(samples);
        }
        for event in life_events {
            match event {
                LifeEvent::Gone(key) => {
                    watched.remove(&key);
                    let worker = workers.get(&key);
                    events
                        .extend(worker.map(|worker| LinkEvent::Gone { key, last: worker.last() }));
                }
                // A process that does not end keeps the lock, and the phase waits until it is gone.
                LifeEvent::Failed(key, error) => {
                    let sentence = EngineError::from(error).sentence();
                    let text = format!("phase {}: {sentence}", key.phase);
                    events.push(LinkEvent::Warning { text });
                }
            }
        }
        Ok(events)
    }

    fn tell(&mut self, key: WorkerKey, n: u32, message: &LeadMessage) -> Result<(), EngineError> {
        let mut connections = self.connections();
        let now = connections.clock.now();
        match connections.workers.get_mut(&key) {
            Some(worker) => worker.inbox.add_note(n, message, now),
            None => WorkerInbox::open(&self.shared.ctx, key)?.add_note(n, message, now),
        }
    }

    /// Does not sync: the confirmation follows from the lead's journal, and a worker on this
    /// machine does not survive a power failure.
    fn confirm(&mut self, key: WorkerKey, through: u64) -> Result<(), EngineError> {
        let mut connections = self.connections();
        let now = connections.clock.now();
        match connections.workers.get_mut(&key) {
            Some(worker) => worker.confirm(through, now),
            None => Ok(()),
        }
    }

    /// Returns when all processes of the worker have ended.
    fn end(&mut self, key: WorkerKey) -> Result<(), EngineError> {
        process::end_with_token(&self.shared.ctx.token(&key.phase, key.attempt), END_GRACE)?;
        Ok(())
    }

    fn gather(
        &mut self,
        key: WorkerKey,
        through: Option<Stage>,
    ) -> Result<Vec<LookAheadFile>, EngineError> {
        look_ahead::gather(&self.shared.ctx, &key.phase, through)
    }

    /// The caller holds the repository lock.
    fn reset(&mut self, key: WorkerKey, taken: &[LookAheadFile]) -> Result<(), EngineError> {
        look_ahead::reset(&self.shared.ctx, &key.phase, taken)
    }

    /// Writes only STATUS.md. The files of the attempt are kept, because the proof of the phase and
    /// later attempts read them.
    fn close(&mut self, key: WorkerKey, status: Status) -> Result<(), EngineError> {
        self.connections().workers.remove(&key);
        // The file is for people: the run continues without it.
        status::settle(&self.shared.ctx, key, status).ok();
        Ok(())
    }
}

impl WorkerConnection {
    fn open(ctx: &RunContext, key: WorkerKey) -> Result<Self, EngineError> {
        Ok(Self {
            reader: JournalReader::new(&ctx.run.worker_journal(&key.phase, key.attempt)),
            is_readable: true,
            inbox: WorkerInbox::open(ctx, key)?,
            confirmed: 0,
            heartbeat: None,
            beats: 0,
            samples: 0,
        })
    }

    /// Reads the new records.
    fn read_records(&mut self, key: WorkerKey) -> Option<LinkEvent> {
        if !self.is_readable {
            return None;
        }
        let before = self.last();
        let mut reports = Vec::new();
        match self.reader.poll() {
            Ok(records) => {
                for record in records {
                    let report = match record.parse::<worker::Event>() {
                        Ok(worker::Event::Reported(report)) => report,
                        Ok(_) => continue,
                        // An unknown record is shown and changes nothing.
                        Err(_) => Report::Note { text: "an unreadable record".to_owned() },
                    };
                    reports.push((record.seq, report));
                    failpoint::reach("report.heard");
                }
            }
            // The attempt fails; the next one checks the commits.
            Err(error) => {
                self.is_readable = false;
                let error = EngineError::from(error).sentence();
                let reason = format!("its journal cannot be read: {error}");
                reports.push((self.last(), Report::Failed { reason }));
            }
        }
        let (first, through) = (before + 1, self.last());
        (through >= first).then_some(LinkEvent::Records { key, first, through, reports })
    }

    /// Returns the number of the last record, including the one that says that the rest of the
    /// journal cannot be read.
    fn last(&self) -> u64 {
        self.reader.last_seq() + u64::from(!self.is_readable)
    }

    /// Samples the heartbeat and the state of the process.
    fn sample(&mut self, ctx: &RunContext, key: WorkerKey) -> LinkEvent {
        let lock = ctx.run.life_lock(&key.phase, key.attempt);
        let heartbeat = life_lock::last_heartbeat(&lock);
        self.samples += 1;
        if self.heartbeat != heartbeat {
            (self.heartbeat, self.beats) = (heartbeat, self.beats + 1);
        }
        let holder = life_lock::holder(&lock).ok().flatten();
        let is_stopped = holder.is_some_and(process::is_stopped);
        LinkEvent::Health { key, sample: self.samples, beats: self.beats, is_stopped }
    }

    fn confirm(&mut self, through: u64, now: u64) -> Result<(), EngineError> {
        let seq = through.min(self.reader.last_seq());
        if seq > self.confirmed {
            failpoint::reach("inbox.through.before");
            let message = NumberedMessage::from(LeadMessage::Through { seq });
            self.inbox.journal.append_unsynced(now, &[message])?;
            failpoint::reach("inbox.through.written");
            self.confirmed = seq;
        }
        Ok(())
    }
}

impl WorkerInbox {
    fn open(ctx: &RunContext, key: WorkerKey) -> Result<Self, EngineError> {
        let path = ctx.run.worker_inbox(&key.phase, key.attempt);
        let header = ctx.run.inbox_header(&key.phase, key.attempt);
        let (journal, records) = Journal::open(&path, &header)?;
        let mut notes = NoteNumbers::default();
        for message in records.iter().filter_map(|record| record.parse().ok()) {
            notes.add(&message);
        }
        Ok(Self { journal, notes })
    }

    /// Writes a note, unless it is there already.
    fn add_note(&mut self, n: u32, message: &LeadMessage, now: u64) -> Result<(), EngineError> {
        if self.notes.contains(n) {
            return Ok(());
        }
        let message = NumberedMessage { n: Some(n), message: message.clone() };
        failpoint::reach("inbox.halt.before");
        self.journal.append(now, std::slice::from_ref(&message))?;
        failpoint::reach("inbox.halt.written");
        self.notes.add(&message);
        Ok(())
    }
}
