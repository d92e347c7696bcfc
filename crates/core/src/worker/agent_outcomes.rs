//! Handles outcomes of agents that are neither success nor failure, and runs the discuss stage.
//!
//! An agent may put questions, its model may be unavailable for a while, or a permanent failure may
//! end the phase.

use super::next_step::{NextStep, run_role};
use super::state::UNAVAILABLE_MAX;
use super::{Effect, Outcome, PhaseSnapshot, Role, Worker};
use crate::inbox::{InboxAnswer, InboxQuestion, QuestionKind, QuestionTopic};
use crate::phase::PhaseNumber;
use crate::report::Report;

/// The most rounds of questions that the discusser may put.
const DISCUSS_ROUNDS_MAX: u32 = 4;

impl Worker {
    /// Returns when to try again after a model was unavailable; `None` when it was so too often.
    fn retry_time(&self, wait_ms: Option<u64>, now: u64) -> Option<u64> {
        let first = self.snapshot.as_ref().and_then(|found| found.settings.retry_ms);
        self.retries.next_try(wait_ms, first, now)
    }

    /// Returns the report to the lead about an unavailable model or a permanent failure for all phases.
    pub(super) fn report_of_agent(&self, outcome: &Outcome, now: u64) -> Option<Report> {
        match outcome {
            Outcome::RetryLater { reason, wait_ms } => {
                let until = self.retry_time(*wait_ms, now)?;
                Some(Report::Throttled { until, reason: reason.clone() })
            }
            Outcome::PermanentFailure { reason, affects_all_phases: true } => {
                Some(Report::Denied { reason: reason.clone() })
            }
            _ => None,
        }
    }

    /// Applies questions, waits and permanent failures; returns whether the outcome was one of these.
    pub(super) fn apply_agent_outcome(
        &mut self,
        effect: &Effect,
        outcome: &Outcome,
        at: u64,
    ) -> bool {
        match outcome {
            // The uncommitted work of this plan would be put aside by the next task of a parallel plan.
            Outcome::Asked { .. } if matches!(effect, Effect::RunTask { parallel: true, .. }) => {
                if let Some(plan) = effect.plan() {
                    self.parallel.excluded.insert(plan.to_owned());
                    self.stop_plan(plan);
                }
            }
            Outcome::Asked { asks } => self.questions.pending.clone_from(asks),
            Outcome::RetryLater { reason, wait_ms } => match self.retry_time(*wait_ms, at) {
                Some(due) => {
                    self.retries.retry_at = Some(due);
                    self.retries.unavailable += 1;
                }
                None => {
                    self.retries.permanent_failure =
                        Some(format!("{reason}, {UNAVAILABLE_MAX} times in a row"));
                }
            },
            Outcome::PermanentFailure { reason, .. } => {
                self.retries.permanent_failure = Some(reason.clone());
            }
            _ => {
                self.retries.unavailable = 0;
                return false;
            }
        }
        true
    }

    /// Returns the step that takes precedence: waiting for a model, or questions of an agent.
    pub(super) fn next_for_agents(&self, now: u64) -> Option<NextStep> {
        if self.retries.retry_at.is_some_and(|due| now < due) {
            return Some(NextStep::Wait);
        }
        let is_open = |ask: &&InboxQuestion| self.answer_to(&ask.key).is_none();
        let open: Vec<_> = self.questions.pending.iter().filter(is_open).cloned().collect();
        (!open.is_empty()).then_some(NextStep::Ask(open))
    }
}

/// Has the discusser put rounds of questions until it has no more, then writes CONTEXT.md.
pub(super) fn discuss(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    let answers: Vec<InboxAnswer> =
        worker.answers_about(QuestionTopic::is_discussion).cloned().collect();
    let round_of = |answer: &InboxAnswer| match answer.key.topic() {
        QuestionTopic::Discuss { round, .. } => Some(*round),
        _ => None,
    };
    let round = answers.iter().filter_map(round_of).max().unwrap_or(0);
    if round == 0 && worker.roles.finished.is_some() {
        // The discusser had no questions; people are asked the standard ones.
        return ask_standard_questions(worker, found);
    }
    if worker.roles.finished.is_some() || round >= DISCUSS_ROUNDS_MAX {
        return NextStep::Run(Effect::WriteContext { answers });
    }
    run_role(worker, Role::Discusser, round)
}

/// Puts the standard questions, and writes CONTEXT.md once all are answered.
pub(super) fn ask_standard_questions(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    let asks = questions(worker.phase(), found);
    let is_open = |ask: &InboxQuestion| worker.answer_to(&ask.key).is_none();
    let open: Vec<_> = asks.iter().filter(|ask| is_open(ask)).cloned().collect();
    if !open.is_empty() {
        return NextStep::Ask(open);
    }
    let answers = asks.iter().filter_map(|ask| worker.answer_to(&ask.key).cloned());
    NextStep::Run(Effect::WriteContext { answers: answers.collect() })
}

/// Returns the questions that are put where no discusser is set.
fn questions(phase: PhaseNumber, found: &PhaseSnapshot) -> Vec<InboxQuestion> {
    let ask = |n: usize, question: String| {
        let key = QuestionTopic::StandardDiscuss(n).of_phase(phase);
        InboxQuestion::new(key, QuestionKind::Discuss, question)
    };
    let goal = if found.goal.is_empty() { "this phase" } else { &found.goal };
    let mut asks = vec![ask(1, format!("Phase {phase}, {goal}: what is decided already?"))];
    for (n, criterion) in found.criteria.iter().enumerate() {
        asks.push(ask(n + 2, format!("Phase {phase}, \"{criterion}\": how exactly?")));
    }
    let next = found.criteria.len() + 2;
    asks.push(ask(next, format!("Phase {phase}: what is left to the worker?")));
    asks.push(ask(next + 1, format!("Phase {phase}: what is for later?")));
    asks
}
