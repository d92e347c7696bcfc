//! The contract messages of a run: what dashboard, `mow events --messages` and the console show of
//! an event.
//!
//! A message is made from a recorded event and from a few facts of earlier events. The journal holds
//! the events, never the messages. Start with [`MessageFold::read`].
//!
//! Four reports have no message of their own. A question (`Asked`, `Parked`, `QuestionObsolete`) is
//! told by what the lead does with it, and token counts (`Spent`) concern only the budget.

mod facts;
mod report;

use serde_json::Value;

use super::bounded;
use crate::inbox::{InboxItem, QuestionKind};
use crate::lead::{Event, FailureCause, Lead, Reason, Status};
use crate::message::{Fields, Message, MessageKind};
use crate::phase::PhaseNumber;
use crate::report::Report;
use facts::RunHistory;

/// The value of a required field that does not apply.
const NONE: &str = "-";
/// The most characters of the line for people.
const DETAIL_MAX: usize = 400;

/// A contract message, and the line for people that goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractMessage {
    /// When it was sent, in milliseconds since 1970.
    pub at: u64,
    /// The phase; `None` for the whole run.
    pub phase: Option<PhaseNumber>,
    /// The message without its envelope.
    pub message: Message,
    /// The message in one line for people, without the name of the phase.
    pub detail: String,
}

impl ContractMessage {
    /// Makes a message whose required fields are all given.
    fn new(
        (phase, at): (Option<PhaseNumber>, u64),
        kind: MessageKind,
        fields: &[(&str, &str)],
        detail: impl Into<String>,
    ) -> Self {
        let number = phase.map_or_else(|| NONE.to_owned(), |phase| phase.to_string());
        let own = [("phase", number.as_str())];
        let is_given = |key: &str, value: &str| !value.is_empty() || kind.required().contains(&key);
        let fields = own.iter().chain(fields).filter(|(key, value)| is_given(key, value));
        let fields = fields.map(|(key, value)| ((*key).to_owned(), Value::from(*value)));
        let message = Message::new(kind, fields.collect());
        let message = message.expect("every required field has a value");
        let detail = bounded::text(&detail.into(), DETAIL_MAX);
        Self { at, phase, message, detail }
    }

    /// Returns the type of the message.
    pub fn kind(&self) -> MessageKind {
        self.message.kind()
    }

    /// Returns the message as compact JSON of at most 1,024 bytes, with its summary.
    ///
    /// `status_ref` names the place of the whole text when a text had to be cut.
    pub fn render(&self, ts: &str, status_ref: &str) -> String {
        self.message.render_bounded(ts, status_ref)
    }
}

/// Folds the events of a run into contract messages.
#[derive(Clone, Debug, Default)]
pub struct MessageFold {
    facts: RunHistory,
}

impl MessageFold {
    /// Continues after the events that led to this state.
    pub fn of(lead: &Lead) -> Self {
        Self { facts: RunHistory::of(lead) }
    }

    /// Returns the messages of the next event.
    pub fn read(&mut self, event: &Event, at: u64) -> Vec<ContractMessage> {
        let messages = self.messages(event, at);
        self.facts.apply(event, at);
        messages
    }

    fn messages(&self, event: &Event, at: u64) -> Vec<ContractMessage> {
        match event {
            Event::Reported { phase, report, .. } => self.of_report(*phase, report, at),
            Event::StatusChanged { phase, attempt, to, why, .. } => {
                self.of_status((*phase, at), *attempt, (*to, why)).into_iter().collect()
            }
            Event::Asked { item } => vec![of_question(item, at)],
            Event::Answered { item, .. } => self.of_closed_question(*item, "answered", at),
            Event::Withdrawn { item } => self.of_closed_question(*item, "withdrawn", at),
            Event::Noted { phase, text } => {
                let state = self.facts.phase(*phase).status.name();
                vec![state_change((*phase, at), (state, state), text)]
            }
            Event::WorkerDied { phase } => {
                let from = self.facts.phase(*phase).status.name();
                vec![state_change((*phase, at), (from, "worker_died"), "its worker died")]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the message of a new status; most follow from a report or a question, which has its
    /// own.
    fn of_status(
        &self,
        place: (PhaseNumber, u64),
        attempt: u32,
        (to, why): (Status, &Reason),
    ) -> Option<ContractMessage> {
        let (phase, at) = place;
        let facts = self.facts.phase(phase);
        match to {
            Status::Failed if is_reported(why) => None,
            Status::Failed => {
                let text = why.to_string();
                let fields = [("plan", facts.plan()), ("error", text.as_str())];
                Some(ContractMessage::new((Some(phase), at), MessageKind::Error, &fields, &*text))
            }
            // A phase that was done before the run has no attempt.
            Status::Merged if attempt == 0 => None,
            Status::Waiting if self.facts.has_question(phase) => None,
            Status::Waiting
            | Status::Preparing
            | Status::Merged
            | Status::Paused
            | Status::Cancelled => {
                let text = format!("{}: {why}", to.name());
                Some(state_change(place, (facts.status.name(), to.name()), &text))
            }
            Status::Starting
            | Status::Running
            | Status::Ending
            | Status::Parked
            | Status::Complete
            | Status::Merging => None,
        }
    }

    /// Returns the message that the phase goes on, unless it has other open questions.
    fn of_closed_question(&self, item: u32, how: &str, at: u64) -> Vec<ContractMessage> {
        let phase = self.facts.phase_of_last_question(item);
        let message = |phase: PhaseNumber| {
            let text = format!("question {item} is {how}");
            state_change((phase, at), ("input_needed", how), &text)
        };
        phase.map(message).into_iter().collect()
    }
}

/// Returns whether one of the event's messages is a milestone.
pub(super) fn is_milestone(event: &Event) -> bool {
    match event {
        Event::Asked { .. } => true,
        Event::StatusChanged { to: Status::Failed, why, .. } => !is_reported(why),
        Event::Reported { report, .. } => match report {
            Report::PlanDone { .. }
            | Report::Blocked { .. }
            | Report::Denied { .. }
            | Report::Complete { .. }
            | Report::Failed { .. } => true,
            Report::AgentMessage { message } => agent_kind(message).is_milestone(),
            _ => false,
        },
        _ => false,
    }
}

/// Returns whether the worker itself reported the failure, so that the error was sent already.
fn is_reported(why: &Reason) -> bool {
    matches!(why, Reason::Failed { cause: FailureCause::Reported(_), .. })
}

/// Returns the type of message that a call of an agent becomes.
fn agent_kind(message: &Fields) -> MessageKind {
    let name = message.get("type").and_then(Value::as_str).unwrap_or_default();
    let kind = MessageKind::parse(name).filter(|kind| kind.is_for_agents());
    kind.unwrap_or(MessageKind::StateChange)
}

fn state_change(
    (phase, at): (PhaseNumber, u64),
    (from, to): (&str, &str),
    note: &str,
) -> ContractMessage {
    let fields = [("plan", NONE), ("from_state", from), ("to_state", to), ("note", note)];
    ContractMessage::new((Some(phase), at), MessageKind::StateChange, &fields, note)
}

fn of_question(item: &InboxItem, at: u64) -> ContractMessage {
    let (input_type, id) = (input_type(item.ask.kind), item.id.to_string());
    let fields = [
        ("input_type", input_type),
        ("detail", item.ask.question.as_str()),
        ("question", id.as_str()),
    ];
    ContractMessage::new((item.phase, at), MessageKind::InputNeeded, &fields, input_type)
}

/// Returns the word of the contract for a kind of question.
fn input_type(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Discuss | QuestionKind::Question => "discussion_prompt",
        QuestionKind::Permission => "permission_prompt",
        QuestionKind::Gate => "stage_gate",
        QuestionKind::Plans => "planning_approval",
        QuestionKind::Gaps | QuestionKind::Checkpoint | QuestionKind::MarkedDone => {
            "verification_question"
        }
        QuestionKind::Failed | QuestionKind::Breaker => "worker_failed",
        QuestionKind::Blocker
        | QuestionKind::Conflict
        | QuestionKind::Stuck
        | QuestionKind::Hung => "error_resolution",
    }
}

#[cfg(test)]
mod tests;
