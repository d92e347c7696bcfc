//! Answers a question of a run.
//!
//! The answer is queued in the file of commands, so it works without a running lead. An answer that
//! would have no effect is refused at once, while the person still sees it.

use mow_core::inbox::InboxItem;
use mow_core::lead::{Command, CommandOrigin};

use super::{Caller, Client, PersonRequest, Receipt, Refusal};

/// Answers a question.
#[derive(Clone, Debug)]
pub struct AnswerRequest {
    /// The number of the question.
    pub item: u32,
    /// The answer.
    pub answer: PersonAnswer,
    /// The digest of the question that the person saw; `None` if the interface does not know it.
    pub seen: Option<String>,
}

/// Takes back an answer that no lead has taken up.
#[derive(Clone, Copy, Debug)]
pub struct TakeBackRequest {
    /// The number of the question.
    pub item: u32,
}

/// An answer as a person gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonAnswer {
    /// A choice by its word, its first letters or its number, or free text.
    Text(String),
    /// The choice that means yes.
    Approve,
    /// The choice that means no.
    Deny,
}

impl PersonRequest for AnswerRequest {
    type Receipt = Receipt;

    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<Receipt, Refusal> {
        let (question, item) = (client.question(self.item)?, self.item);
        if let Some(answer) = question.answer.clone() {
            return Err(Refusal::AlreadyAnswered { item, answer, is_queued: false });
        }
        if self.seen.as_ref().is_some_and(|seen| *seen != question.ask.digest()) {
            return Err(Refusal::OtherQuestion { item });
        }
        let text = accepted_text(question, &self.answer)?;
        let origin = CommandOrigin { by: Some(caller.clone()), seen: self.seen };
        let submitted = client.with_queue(|queue| queue.answer((item, &text), origin))?;
        let seq = submitted.map_err(|answer| Refusal::AlreadyAnswered {
            item,
            answer,
            is_queued: true,
        })?;
        client.receipt(seq, Command::Answer { item, text }, 0)
    }
}

impl PersonRequest for TakeBackRequest {
    type Receipt = Receipt;

    fn carry_out(self, client: &Client<'_>, caller: &Caller) -> Result<Receipt, Refusal> {
        let (question, item) = (client.question(self.item)?, self.item);
        let is_answer =
            |command: &Command| matches!(command, Command::Answer { item: id, .. } if *id == item);
        if question.answer.is_some() || !client.pending()?.iter().any(is_answer) {
            return Err(Refusal::NothingToTakeBack { item, answer: question.answer.clone() });
        }
        client.queue(Command::TakeBack { item }, 0, caller)
    }
}

impl<'a> Client<'a> {
    /// Returns a question of the run.
    fn question(&self, item: u32) -> Result<&'a InboxItem, Refusal> {
        let inbox = &self.run()?.1.inbox;
        let open = || inbox.open().map(|item| item.id).collect();
        inbox.items.get(&item).ok_or_else(|| Refusal::UnknownQuestion { item, open: open() })
    }
}

/// Returns the text that the answer stands for.
fn accepted_text(question: &InboxItem, answer: &PersonAnswer) -> Result<String, Refusal> {
    let (item, ask) = (question.id, &question.ask);
    let verdict = |yes| {
        let proposal = ask.choices.first().map(|choice| choice.label.clone());
        ask.verdict(yes).map(str::to_owned).ok_or(Refusal::NoVerdict { item, proposal })
    };
    match answer {
        PersonAnswer::Approve => verdict(true),
        PersonAnswer::Deny => verdict(false),
        PersonAnswer::Text(text) => ask.accept(text).map_err(|problem| {
            let choices = ask.labels().into_iter().map(str::to_owned).collect();
            Refusal::InvalidChoice { item, problem, choices }
        }),
    }
}
