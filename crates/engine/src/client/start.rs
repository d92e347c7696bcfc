//! Starts a run, or continues the unfinished one.

use mow_core::inbox::{InboxItem, QuestionKind};
use mow_core::lead::{CONTINUE, Command, Lead, RunStatus, Status};
use mow_core::phase::PhaseNumber;
use mow_store::run_files::RunDir;

use super::{AgentPolicy, Caller, Client, CommandQueue, PersonRequest, Refusal, queue};
use crate::EngineError;
use crate::lead::{LeadSession, RunOptions};

/// Starts a run with the selected phases, or continues the unfinished run.
///
/// Selected phases that failed or are paused are resumed, unless the circuit breaker is open: only a
/// person who answers its question, or resumes all phases, closes it. The receipt is the session of the lead,
/// which the caller's process then runs.
pub struct StartRequest<'a> {
    /// How to start.
    pub options: RunOptions<'a>,
    /// Whether the person named the phases. Only then cancelled ones are resumed.
    pub is_named: bool,
}

impl PersonRequest for StartRequest<'_> {
    type Receipt = LeadSession;

    fn agent_policy(&self) -> AgentPolicy {
        AgentPolicy::RefuseOwnProject
    }

    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<LeadSession, Refusal> {
        let selected: Vec<_> =
            self.options.selection.phases.iter().map(|spec| spec.number).collect();
        let session = LeadSession::open(self.options)?;
        let dir =
            RunDir::new(&client.project.engine_dir, session.run_id()).map_err(EngineError::from)?;
        let queued = queue::pending_commands(&dir, session.lead())?;
        let queued: Vec<_> = queued.into_iter().map(|(_, command)| command).collect();
        let resumed = phases_to_resume(session.lead(), &queued, (&selected, self.is_named))?;
        if !resumed.is_empty() {
            let mut queue = CommandQueue::open(&dir, session.lead())?;
            for phase in resumed {
                queue.send(&Command::Resume { phase: Some(phase) }, caller)?;
            }
        }
        Ok(session)
    }
}

/// Returns the selected phases of an unfinished run that failed or are paused.
///
/// Cancelled phases are resumed only when the user named them. Refuses to continue while the breaker
/// is open, or no agent can work, and nobody has answered that question. It does not refuse while the
/// lead has something left to do: the lead then does that, and starts nothing.
fn phases_to_resume(
    lead: &Lead,
    queued: &[Command],
    (selected, is_named): (&[PhaseNumber], bool),
) -> Result<Vec<PhaseNumber>, Refusal> {
    let is_stopped = |status| match status {
        Status::Failed | Status::Paused => true,
        // A person cancelled the phase; only naming it resumes it.
        Status::Cancelled => is_named,
        _ => false,
    };
    // A cancel command that was queued without a lead takes effect in this run.
    let has_queued_cancel = |number: PhaseNumber| {
        queued.iter().any(|command| match command {
            Command::Cancel { phase, .. } => phase.is_none_or(|phase| phase == number),
            _ => false,
        })
    };
    let is_answered = |id: u32| {
        queued.iter().any(|command| match command {
            Command::Answer { item, .. } => *item == id,
            Command::Resume { phase } => phase.is_none(),
            _ => false,
        })
    };
    // No agent can work, and no answer says that the cause is fixed.
    let denial = lead.inbox.open().find(|item| item.is_denial() && !is_answered(item.id));
    if let Some(item) = denial {
        let is_live =
            |status| matches!(status, Status::Starting | Status::Running | Status::Ending);
        if lead.phases.values().any(|phase| is_live(phase.status)) {
            // The lead finishes the running phases and starts nothing.
            return Ok(Vec::new());
        }
        let question = item.ask.question.clone();
        return Err(Refusal::AgentsDenied { item: item.id, question });
    }
    if lead.starts.breaker_open && !queued.iter().any(|command| closes_breaker(lead, command)) {
        if !queued.is_empty() || lead.status() == RunStatus::Moving {
            return Ok(Vec::new());
        }
        let is_breaker = |item: &&InboxItem| item.ask.kind == QuestionKind::Breaker;
        let item = lead.inbox.open().find(is_breaker);
        let question = item.or_else(|| lead.inbox.items.values().rfind(is_breaker));
        let question = question.map(|item| item.ask.question.clone()).unwrap_or_default();
        return Err(Refusal::BreakerOpen { item: item.map(|item| item.id), question });
    }
    let stopped = lead.phases.values().filter(|phase| {
        let number = phase.spec.number;
        is_stopped(phase.status) && selected.contains(&number) && !has_queued_cancel(number)
    });
    Ok(stopped.map(|phase| phase.spec.number).collect())
}

/// Returns whether a queued command closes the circuit breaker.
fn closes_breaker(lead: &Lead, command: &Command) -> bool {
    match command {
        Command::Resume { phase } => phase.is_none(),
        Command::Answer { item, text } => lead.inbox.items.get(item).is_some_and(|item| {
            item.ask.kind == QuestionKind::Breaker && item.answer.is_none() && text == CONTINUE
        }),
        _ => false,
    }
}
