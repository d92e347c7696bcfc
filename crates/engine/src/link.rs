//! The link between the lead and its workers: the only way in which a lead reaches a worker.
//!
//! [`WorkerLink`] is what a lead does with a worker, wherever that runs. [`LocalLink`] is the
//! implementation for workers on the same machine, with files and processes. [`LinkIntake`] turns
//! the events of a link into inputs of the lead, and decides what the lead tells the link. It does
//! no IO, so the real lead and the simulated one share it.
//!
//! # How to use it
//!
//! 1. At the start, make the calls of [`LinkIntake::resume`].
//! 2. Before each batch, pass all events of [`WorkerLink::poll`] to [`LinkIntake::accept`]. The
//!    inputs of the batch are [`LinkIntake::take_reports`] and then [`LinkIntake::take_changes`].
//! 3. After the events of the batch are recorded, make the calls of [`LinkIntake::after_batch`].
//!
//! # What a link may do
//!
//! A link may lose, repeat, delay and reorder events. The rules that make this harmless:
//!
//! - Records have the numbers of the worker's journal. Records that were accepted before are
//!   ignored, and so are records after a gap: the link sends again everything after the last
//!   confirmation, until it is confirmed.
//! - [`LinkEvent::Gone`] names the last record. The lead learns that a worker is gone when it has
//!   all records.
//! - Events of an attempt that is not the current one of its phase are ignored.
//! - A confirmation covers only what is in the lead's journal.
//! - A new lead may have recorded less than the one before had confirmed, because only reports are
//!   recorded. So [`WorkerLink::open`] replaces all earlier confirmations, also those that are still
//!   on their way.
//!
//! There is no question whether a worker is alive: across machines nobody can answer that at once.
//! `Gone` means that the worker and all its processes have ended, or can do no harm any more.
//!
//! # What a second machine would add
//!
//! Some parts of a phase are still local to the lead, because only workers on other machines need
//! something else. `LocalWorktree` lists what a merge does in the worktree of a phase. The proof of
//! a phase reads the worker's journal where the link leaves it: for a local worker that is the
//! worker's own file, for others it is the copy that the link keeps. A claim names the path of a
//! worktree. Messages between the agents of two phases, and permission rules that a person sets
//! with "always", do not pass through the lead; a link to other machines would carry them as
//! further events.

mod hang_detector;
mod intake;
mod local;

use std::fmt;
use std::path::PathBuf;

use mow_core::lead::{Effect, Outcome, Status};
use mow_core::phase::PhaseNumber;
use mow_core::report::{Brief, LeadMessage, Report};
use mow_core::stage::Stage;

use crate::EngineError;

pub use hang_detector::HangDetector;
pub use intake::{LinkCall, LinkIntake};
pub use local::LocalLink;
pub(crate) use local::LocalWorktree;

/// A worker: one attempt of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkerKey {
    /// The phase that the worker works on.
    pub phase: PhaseNumber,
    /// The attempt, counted from one.
    pub attempt: u32,
}

impl From<(PhaseNumber, u32)> for WorkerKey {
    fn from((phase, attempt): (PhaseNumber, u32)) -> Self {
        Self { phase, attempt }
    }
}

impl fmt::Display for WorkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.phase.padded(), self.attempt)
    }
}

/// What happened to a worker, or what it wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkEvent {
    /// The worker wrote journal records.
    Records {
        /// The worker.
        key: WorkerKey,
        /// The number of the first record.
        first: u64,
        /// The number of the last record; the records between are complete.
        through: u64,
        /// The records that are reports, with their numbers, in order.
        reports: Vec<(u64, Report)>,
    },
    /// The state of the worker process, sampled every few seconds while it lives.
    Health {
        /// The worker.
        key: WorkerKey,
        /// The number of the sample. Older samples than the newest one are ignored.
        sample: u64,
        /// A number that changes whenever the main loop of the worker has run.
        beats: u64,
        /// Whether the process is stopped by a signal.
        is_stopped: bool,
    },
    /// The worker and all its processes have ended, or can do no harm any more.
    Gone {
        /// The worker.
        key: WorkerKey,
        /// The number of its last record; 0 without records.
        last: u64,
    },
    /// Something that people should know, such as a process that cannot be ended.
    Warning {
        /// A sentence for people.
        text: String,
    },
}

/// What to prepare for an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrepareJob {
    /// The worker that will work there.
    pub key: WorkerKey,
    /// The commit to start from.
    pub base: String,
    /// Whether existing work of the phase continues on top of that commit.
    pub renew: bool,
}

/// A file that a look-ahead wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAheadFile {
    /// The name of the phase's directory.
    pub dir: String,
    /// The path of the file in that directory.
    pub path: PathBuf,
    /// The content.
    pub bytes: Vec<u8>,
    /// The commit that the look-ahead started from.
    pub base: String,
}

/// What the lead does with a worker. Every call may be repeated.
///
/// The link remembers what it was given, and passes it on until it arrives. A link that several threads use is a handle that can be cloned.
pub trait WorkerLink {
    /// Makes the worktree with the planning files where the worker will run; returns the commit
    /// after which the work of the phase begins.
    fn prepare(&mut self, job: &PrepareJob) -> Result<String, EngineError>;

    /// Starts the worker. Does nothing if that attempt was ever started.
    fn spawn(&mut self, brief: &Brief) -> Result<(), EngineError>;

    /// Begins to deliver the events of a started worker, with its records after number `through`.
    ///
    /// A new lead adopts a worker in this way, too.
    fn open(&mut self, key: WorkerKey, through: u64) -> Result<(), EngineError>;

    /// Returns the events of all open workers since the last call.
    fn poll(&mut self) -> Result<Vec<LinkEvent>, EngineError>;

    /// Sends message number `n` to a worker, counted from one; the worker takes each number once.
    fn tell(&mut self, key: WorkerKey, n: u32, message: &LeadMessage) -> Result<(), EngineError>;

    /// Confirms that the lead has recorded all records of a worker up to `through`.
    fn confirm(&mut self, key: WorkerKey, through: u64) -> Result<(), EngineError>;

    /// Ends the worker and all its processes. [`LinkEvent::Gone`] follows.
    fn end(&mut self, key: WorkerKey) -> Result<(), EngineError>;

    /// Returns the files that a look-ahead wrote, up to its last complete stage.
    fn gather(
        &mut self,
        key: WorkerKey,
        through: Option<Stage>,
    ) -> Result<Vec<LookAheadFile>, EngineError>;

    /// Resets the worktree of a look-ahead to its commit.
    ///
    /// The files `taken` are stored elsewhere now. All other changes go to a rescue ref.
    fn reset(&mut self, key: WorkerKey, taken: &[LookAheadFile]) -> Result<(), EngineError>;

    /// Confirms everything of an attempt that is over: nothing of it is needed any more. STATUS.md
    /// shows the status that the lead gave the phase.
    fn close(&mut self, key: WorkerKey, status: Status) -> Result<(), EngineError>;
}

/// Makes a call that [`LinkIntake`] decided.
pub fn make_call(link: &mut impl WorkerLink, call: LinkCall) -> Result<(), EngineError> {
    match call {
        LinkCall::Open { key, through } => link.open(key, through),
        LinkCall::Confirm { key, through } => link.confirm(key, through),
        LinkCall::Close { key, status } => link.close(key, status),
    }
}

/// Carries out an effect of the lead that is one call of the link; `None` for all others.
pub fn run_link_effect(
    link: &mut impl WorkerLink,
    effect: &Effect,
) -> Option<Result<Outcome, EngineError>> {
    let done = match effect {
        Effect::Prepare { phase, attempt, base, renew } => {
            let key = (*phase, *attempt).into();
            let job = PrepareJob { key, base: base.clone(), renew: *renew };
            return Some(link.prepare(&job).map(|base| Outcome::Prepared { base }));
        }
        Effect::Start { brief } => link.spawn(brief),
        Effect::SendMessage { phase, attempt, n, note } => {
            link.tell((*phase, *attempt).into(), *n, note)
        }
        Effect::KillWorker { phase, attempt } => link.end((*phase, *attempt).into()),
        _ => return None,
    };
    Some(done.map(|()| Outcome::Done))
}
