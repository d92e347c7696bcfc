//! Writes the state of the run into the planning files in a background thread.
//!
//! The main loop never waits for a write. One write runs at a time; later changes go into the next
//! one. Nothing depends on the result: a failed write is reported and retried after a while. Code
//! that needs the files as they are calls [`ProjectionWriter::write_remaining`], which waits first.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use mow_core::lead::{Event, Lead};
use mow_core::phase::PhaseNumber;
use mow_core::view::{
    EventKind, EventView, MessageFold, PhaseView, RunFacts, RunView, SessionView,
};
use mow_store::dashboard;

use super::dashboard_feed;
use super::merge;
use super::phase_row::PhaseRow;
use super::projection::{Projection, RunRows};
use super::wake_reason::WakeReason;
use crate::EngineError;
use crate::contract_messages;
use crate::run_context::RunContext;

/// The least time between two writes.
const WRITE_INTERVAL_MS: u64 = 200;

/// How long after a failed write it is tried again.
const RETRY_AFTER_MS: u64 = 10_000;

/// Planning files by their names, as they are committed at the end of a run.
type PlanningFiles = Vec<(String, Vec<u8>)>;

/// One write: the rows that changed, and the new events of the dashboard.
struct ProjectionJob {
    target: String,
    run: RunRows,
    events: Vec<dashboard::Event>,
}

impl ProjectionJob {
    fn write(self, projection: &Mutex<Projection>) -> Result<(), EngineError> {
        let mut projection = projection.lock().unwrap_or_else(PoisonError::into_inner);
        projection.write(&self.target, self.run)?;
        projection.append_events(&self.events)
    }
}

/// The write that is running.
struct RunningWrite {
    thread: JoinHandle<Result<(), EngineError>>,
    phases: BTreeSet<PhaseNumber>,
}

/// Schedules the writes, and collects what is not written yet.
pub(super) struct ProjectionWriter {
    ctx: Arc<RunContext>,
    sender: SyncSender<WakeReason>,
    projection: Arc<Mutex<Projection>>,
    running: Option<RunningWrite>,
    /// The earliest time of the next write, in milliseconds since 1970.
    next_at: u64,
    dirty: BTreeSet<PhaseNumber>,
    /// New events of the dashboard; no more than its file keeps.
    events: VecDeque<dashboard::Event>,
    /// Whether the dashboard shows milestones only (`messages.events` is `lean`).
    lean: bool,
    /// Whether the lead goes on with the run.
    is_live: bool,
    messages: MessageFold,
}

impl ProjectionWriter {
    pub(super) fn new(ctx: Arc<RunContext>, sender: SyncSender<WakeReason>) -> Self {
        Self {
            projection: Arc::new(Mutex::new(Projection::new(Arc::clone(&ctx)))),
            ctx,
            sender,
            running: None,
            next_at: 0,
            dirty: BTreeSet::new(),
            events: VecDeque::new(),
            lean: false,
            is_live: true,
            messages: MessageFold::default(),
        }
    }

    /// Starts with a run: all its phases may have to be written.
    pub(super) fn start_run(&mut self, lead: &Lead) -> Result<(), EngineError> {
        self.lean = contract_messages::is_lean(&self.ctx.config()?);
        self.messages = MessageFold::of(lead);
        self.dirty.extend(lead.phases.keys());
        super::projection::exclude_engine_files(&self.ctx)
    }

    /// Adds what changed, to be written later.
    pub(super) fn add_events(
        &mut self,
        lead: &Lead,
        (events, views): (&[Event], &[EventView]),
        at: u64,
    ) {
        for event in views {
            match (event.kind, event.phase) {
                (EventKind::RoadmapRead, _) => self.dirty.extend(lead.phases.keys()),
                // The rows of the phases behind it say what they wait for.
                (EventKind::StatusChanged, Some(phase)) => {
                    self.dirty.extend(lead.dependents(phase));
                    self.dirty.insert(phase);
                }
                (_, phase) => self.dirty.extend(phase),
            }
        }
        let messages = events.iter().flat_map(|event| self.messages.read(event, at));
        self.events
            .extend(messages.filter_map(|message| dashboard_feed::entry(&message, self.lean)));
        let surplus = self.events.len().saturating_sub(dashboard::EVENTS_KEPT);
        self.events.drain(..surplus);
    }

    /// Returns when the next write is due; `None` while one runs, since its end wakes the loop.
    pub(super) fn deadline(&self) -> Option<u64> {
        (self.running.is_none() && !self.dirty.is_empty()).then_some(self.next_at)
    }

    /// Returns whether a write has ended that [`Self::wait`] was not called for.
    pub(super) fn has_finished(&self) -> bool {
        self.running.as_ref().is_some_and(|write| write.thread.is_finished())
    }

    /// Starts a write if one is due.
    pub(super) fn start_if_due(&mut self, lead: &Lead, now: u64) {
        if self.deadline().is_none_or(|at| now < at) {
            return;
        }
        self.next_at = now + WRITE_INTERVAL_MS;
        let (phases, job) = self.take_job(lead);
        let (projection, sender) = (Arc::clone(&self.projection), self.sender.clone());
        let write = move || {
            let written = job.write(&projection);
            // The loop may wait for this thread, so this thread must not wait for the loop. If the
            // queue is full, the loop sees by itself that this thread has ended.
            sender.try_send(WakeReason::ProjectionWritten).ok();
            written
        };
        match thread::Builder::new().name("mow-draw".to_owned()).spawn(write) {
            Ok(thread) => self.running = Some(RunningWrite { thread, phases }),
            // No thread could be started; the next call tries again.
            Err(_) => self.dirty.extend(phases),
        }
    }

    /// Takes what is not written yet.
    fn take_job(&mut self, lead: &Lead) -> (BTreeSet<PhaseNumber>, ProjectionJob) {
        let phases = std::mem::take(&mut self.dirty);
        let facts = RunFacts::default();
        let views = phases.iter().filter_map(|number| PhaseView::of(lead, *number, &facts));
        let rows = views.map(|view| PhaseRow::of(&view)).collect();
        let events = self.events.drain(..).collect();
        let run = RunRows { rows, session: SessionView::of(lead, self.is_live) };
        (phases, ProjectionJob { target: lead.target.branch.clone(), run, events })
    }

    /// Waits for the running write to end; returns its error.
    pub(super) fn wait(&mut self, now: u64) -> Result<(), EngineError> {
        let Some(RunningWrite { thread, phases }) = self.running.take() else { return Ok(()) };
        // A write that panicked is retried like one that failed.
        let written = thread.join().unwrap_or_else(|_| {
            Err(EngineError::refused(
                "the thread that writes them panicked",
                "report this as a bug",
            ))
        });
        if written.is_err() {
            self.next_at = now + RETRY_AFTER_MS;
            self.dirty.extend(phases);
        }
        written
    }

    /// Writes all that is not written yet, in this thread, for a lead that ends.
    pub(super) fn write_last(&mut self, lead: &Lead, now: u64) -> Result<(), EngineError> {
        self.is_live = false;
        self.write_remaining(lead, now)
    }

    /// Writes all that is not written yet, in this thread.
    pub(super) fn write_remaining(&mut self, lead: &Lead, now: u64) -> Result<(), EngineError> {
        // A failed write is repeated here, and fails again if the reason persists.
        self.wait(now).ok();
        self.take_job(lead).1.write(&self.projection)
    }

    /// Writes the final state of a run; returns the files to commit, and the error of the write.
    pub(super) fn write_final(
        &mut self,
        lead: &Lead,
        (target, commit): (&str, &str),
        now: u64,
    ) -> Result<(PlanningFiles, Result<(), EngineError>), EngineError> {
        if merge::owns_root_files(&self.ctx, target)? {
            self.dirty.extend(lead.phases.keys());
            let written = self.write_remaining(lead, now);
            let written = written.and_then(|()| self.projection().write_progress(&view(lead)));
            failpoint::reach("close.drawn");
            return Ok((merge::load_shared_files(&self.ctx, None)?, written));
        }
        let written = self.wait(now);
        let mut files = merge::load_shared_files(&self.ctx, Some(commit))?;
        let session = SessionView::of(lead, self.is_live);
        self.projection().render_files((&view(lead), &session), &mut files);
        Ok((files, written))
    }

    fn projection(&self) -> std::sync::MutexGuard<'_, Projection> {
        self.projection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the view of the run; the planning files show no times and no processes.
fn view(lead: &Lead) -> RunView {
    RunView::of(lead, &RunFacts::default())
}
