//! The one door for what people ask of mow: every command that changes a run, the branch or a
//! protected setting is submitted here.
//!
//! A request says what is wanted, a [`Caller`] who wants it. [`Client::submit`] refuses callers
//! inside an agent, decides whether the request can have an effect, and carries it out or queues it
//! durably for the lead. It works with and without a running lead. Nothing here makes sentences:
//! a [`Refusal`] is data, and each interface words it.
//!
//! To add a request, implement [`PersonRequest`] for a new type.

mod answer;
mod caller;
mod close;
mod merge;
mod queue;
mod refusal;
mod rescue;
mod settings;
mod start;
mod steer;
#[cfg(test)]
mod tests;

use std::cell::RefCell;

use mow_core::lead::{Command, Lead};
use mow_store::disk;
use mow_store::project::Project;
use mow_store::run_files::RunDir;

use crate::EngineError;
use crate::lead::lead_lock_path;

pub use answer::{AnswerRequest, PersonAnswer, TakeBackRequest};
pub use caller::{AgentMark, AgentPolicy, Caller, Interface};
pub use close::{CloseReceipt, CloseRequest};
pub use merge::{MergeReceipt, MergeRequest, UnfinishedReason};
pub use refusal::Refusal;
pub use rescue::{NotAppliedReason, RescueEntry, RestoreReceipt, RestoreRequest, list_rescues};
pub use settings::SettingRequest;
pub use start::StartRequest;
pub use steer::{PhaseAction, SteerRequest, WorkersRequest};

use queue::CommandQueue;

/// Access to a project, and to one of its runs, for a person's requests.
///
/// A client knows the run as its journal was read. Make a new one when the journal was read again.
#[derive(Debug)]
pub struct Client<'a> {
    project: &'a Project,
    run: Option<(&'a RunDir, &'a Lead)>,
    /// The queue of the run; opened by the first command.
    queue: RefCell<Option<CommandQueue>>,
}

/// A request that a person submits.
pub trait PersonRequest {
    /// What the person is told when the request was accepted.
    type Receipt;

    /// Returns which callers inside an agent are refused.
    fn agent_policy(&self) -> AgentPolicy {
        AgentPolicy::Refuse
    }

    /// Decides whether the request can have an effect, and carries it out or queues it.
    ///
    /// Only [`Client::submit`] calls this, after it has checked the caller.
    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<Self::Receipt, Refusal>;
}

/// Confirms that a command is queued durably for the lead of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The id of the run.
    pub run: String,
    /// The number of the command in the queue.
    pub seq: u64,
    /// The command.
    pub command: Command,
    /// How many phases the command affects; 0 if only the lead can tell.
    pub affected: usize,
    /// The process id of the lead that will process the command, 0 if unknown; `None` if the
    /// command waits until the run is continued.
    pub lead: Option<u32>,
}

impl<'a> Client<'a> {
    /// Returns a client for requests that are not about a run.
    pub fn of_project(project: &'a Project) -> Self {
        Self { project, run: None, queue: RefCell::default() }
    }

    /// Returns a client for requests about a run, whose journal was just replayed into `lead`.
    pub fn of_run(project: &'a Project, dir: &'a RunDir, lead: &'a Lead) -> Self {
        Self { project, run: Some((dir, lead)), queue: RefCell::default() }
    }

    /// Submits a request of a person.
    pub fn submit<R: PersonRequest>(
        &self,
        request: R,
        caller: &Caller,
    ) -> Result<R::Receipt, Refusal> {
        self.check_caller(request.agent_policy(), caller)?;
        request.carry_out(self, caller)
    }

    /// Refuses a caller inside an agent, for interfaces that want to know it before they ask a
    /// person to confirm something.
    pub fn check_caller(&self, policy: AgentPolicy, caller: &Caller) -> Result<(), Refusal> {
        caller::refuse_agents(self.project, policy, caller)
    }

    /// Returns the commands in the queue that no lead has processed yet.
    pub fn pending(&self) -> Result<Vec<Command>, EngineError> {
        let Some((dir, lead)) = self.run else { return Ok(Vec::new()) };
        let pending = queue::pending_commands(dir, lead)?;
        Ok(pending.into_iter().map(|(_, command)| command).collect())
    }

    /// Returns the process id of the project's lead, 0 if unknown; `None` when no lead runs.
    pub fn lead_pid(&self) -> Result<Option<u32>, EngineError> {
        let path = lead_lock_path(self.project);
        if !disk::is_held_by_live_process(&path)? {
            return Ok(None);
        }
        Ok(Some(disk::holder(&path).map_or(0, |holder| holder.pid)))
    }

    /// Returns the run that the requests are about.
    fn run(&self) -> Result<(&'a RunDir, &'a Lead), Refusal> {
        self.run.ok_or(Refusal::NoRun)
    }

    /// Queues a command for the lead of the run.
    fn queue(
        &self,
        command: Command,
        affected: usize,
        caller: &Caller,
    ) -> Result<Receipt, Refusal> {
        let seq = self.with_queue(|queue| queue.send(&command, caller))?;
        self.receipt(seq, command, affected)
    }

    /// Uses the queue of the run, which stays open for the next command.
    fn with_queue<T>(
        &self,
        act: impl FnOnce(&mut CommandQueue) -> Result<T, EngineError>,
    ) -> Result<T, Refusal> {
        let (dir, lead) = self.run()?;
        let mut queue = self.queue.borrow_mut();
        let open = match queue.take() {
            Some(open) => open,
            None => CommandQueue::open(dir, lead)?,
        };
        Ok(act(queue.insert(open))?)
    }

    fn receipt(&self, seq: u64, command: Command, affected: usize) -> Result<Receipt, Refusal> {
        let (dir, _) = self.run()?;
        let lead = self.lead_pid()?;
        Ok(Receipt { run: dir.run().to_owned(), seq, command, affected, lead })
    }
}
