//! A question as every screen shows it, and the order in which questions are shown.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};

use super::{RunFacts, bounded};
use crate::inbox::{InboxItem, QuestionKind, QuestionSubject};
use crate::lead::{Lead, Status};
use crate::phase::PhaseNumber;

/// The most phases that are looked at to count what a question holds up.
///
/// The bound keeps the cost of a view proportional to the number of phases and questions.
const LOOKED_AT_MAX: usize = 256;
/// The most held-up phases that are named.
const HOLDS_MAX: usize = 20;
/// The most answered questions that are listed.
const ALL_MAX: usize = 10_000;

/// Whether a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionState {
    /// Nobody has answered.
    Open,
    /// An answer is queued, and no lead has processed it yet.
    Queued,
    /// The question is answered.
    Answered,
}

/// A question to a person as every screen shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuestionView {
    /// The number that people answer by.
    pub id: u32,
    /// The phase that the question is about; `None` for the whole run.
    pub phase: Option<PhaseNumber>,
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The text for people.
    pub question: String,
    /// The choices; empty if any text is an answer.
    pub choices: Vec<ChoiceView>,
    /// How many choices are not in the list.
    pub choices_left_out: usize,
    /// What the question is about: the tool, the exact command or change, the place; bounded.
    pub subject: Option<QuestionSubject>,
    /// The digest of all that a person is shown, which binds an answer to it.
    pub digest: String,
    /// When the question was put, in milliseconds since 1970; `None` if not known.
    pub asked_at: Option<u64>,
    /// The answer; for a queued answer, the one that no lead has processed yet.
    pub answer: Option<String>,
    /// Whether the question was answered.
    pub state: QuestionState,
    /// The phases that wait until the question is answered, without its own phase.
    pub holds: Vec<PhaseNumber>,
    /// How many held-up phases are not in the list; after some hundreds they are not counted.
    pub holds_left_out: usize,
}

/// A choice of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceView {
    /// The word that answers with this choice.
    pub label: String,
    /// What the choice does; empty if not known.
    pub description: String,
}

impl QuestionView {
    /// Returns the view of one question, with the phases that it holds up.
    fn of(item: &InboxItem, facts: &RunFacts, held: &[PhaseNumber]) -> Self {
        let queued = facts.queued_answers.get(&item.id);
        let state = match (&item.answer, queued) {
            (Some(_), _) => QuestionState::Answered,
            (None, Some(_)) => QuestionState::Queued,
            (None, None) => QuestionState::Open,
        };
        let answer = item.answer.as_ref().or(queued);
        let choices = item.ask.choices.iter().map(|choice| ChoiceView {
            label: bounded::text(&choice.label, bounded::NAME_MAX),
            description: bounded::text(&choice.description, bounded::QUESTION_MAX),
        });
        let (choices, choices_left_out) = bounded::list(choices, bounded::LIST_MAX);
        let (holds, holds_left_out) = bounded::list(held.iter().copied(), HOLDS_MAX);
        Self {
            id: item.id,
            phase: item.phase,
            kind: item.ask.kind,
            question: bounded::text(&item.ask.question, bounded::QUESTION_MAX),
            choices,
            choices_left_out,
            subject: item.ask.subject.as_deref().cloned(),
            digest: item.ask.digest(),
            asked_at: facts.asked_at.get(&item.id).copied(),
            answer: answer.map(|answer| bounded::text(answer, bounded::QUESTION_MAX)),
            state,
            holds,
            holds_left_out,
        }
    }
}

/// Returns the open questions, those that hold up the most phases first, and how many were left out.
pub(super) fn open_questions(
    lead: &Lead,
    facts: &RunFacts,
    max: usize,
) -> (Vec<QuestionView>, usize) {
    let all_waiting: Vec<_> = waiting(lead).take(LOOKED_AT_MAX).collect();
    let held = |item: &InboxItem| match item.phase {
        Some(phase) => held_up_by(lead, phase),
        None => all_waiting.clone(),
    };
    let mut open: Vec<_> = lead.inbox.open().map(|item| (held(item), item)).collect();
    open.sort_by_key(|(held, item)| (Reverse(held.len()), item.id));
    let views = open.iter().map(|(held, item)| QuestionView::of(item, facts, held));
    bounded::list(views, max)
}

/// Returns all questions: the open ones as in a view, then the answered and withdrawn ones.
pub fn all_questions(lead: &Lead, facts: &RunFacts) -> Vec<QuestionView> {
    let (mut all, _) = open_questions(lead, facts, ALL_MAX);
    let answered = lead.inbox.items.values().filter(|item| item.answer.is_some());
    let room = ALL_MAX - all.len();
    all.extend(answered.take(room).map(|item| QuestionView::of(item, facts, &[])));
    all
}

/// Returns the phases that have not begun.
fn waiting(lead: &Lead) -> impl Iterator<Item = PhaseNumber> + '_ {
    let waiting = lead.phases.values().filter(|state| state.status == Status::Waiting);
    waiting.map(|state| state.spec.number)
}

/// Returns the phases that cannot be merged before this one, directly or through others.
fn held_up_by(lead: &Lead, phase: PhaseNumber) -> Vec<PhaseNumber> {
    let (mut seen, mut next) = (BTreeSet::new(), VecDeque::from([phase]));
    while let Some(number) = next.pop_front() {
        for dependent in lead.dependents(number) {
            if seen.len() >= LOOKED_AT_MAX {
                break;
            }
            let is_open = lead.phases.get(dependent).is_some_and(|state| !state.status.is_over());
            if is_open && seen.insert(*dependent) {
                next.push_back(*dependent);
            }
        }
    }
    seen.into_iter().collect()
}
