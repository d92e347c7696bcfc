//! Resumes an interrupted phase: reports what its checkpoint says, and has the checks of complete
//! plans run before the phase goes on.

use serde::{Deserialize, Serialize};

use super::next_step::{FAIL, NextStep, RETRY};
use super::state::CompletePlansCheck;
use super::{Effect, Outcome, PhaseSnapshot, Verdict, Worker};
use crate::inbox::{InboxQuestion, QuestionKind, QuestionTopic};
use crate::report::Report;

/// The answer that accepts failed checks of complete plans. Stored in journals.
const CONTINUE: &str = "continue";

/// What a checkpoint claims, and what contradicts it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointSnapshot {
    /// The name of the file.
    pub file: String,
    /// The status of the phase when it stopped, such as `paused`.
    pub status: String,
    /// The plan in which the phase stopped, if it exists and is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The task in which the phase stopped, counted from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<usize>,
    /// What the files and commits contradict, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// Returns the step that takes precedence over going on: the checks, or the question about one that
/// failed.
pub(super) fn check(worker: &Worker, found: &PhaseSnapshot) -> Option<NextStep> {
    let attempt = worker.brief.as_ref().map_or(0, |brief| brief.attempt);
    let key = |attempt| QuestionTopic::CompletePlans { attempt }.of_phase(worker.phase());
    match &worker.lifecycle.complete_plans {
        CompletePlansCheck::Passed => None,
        CompletePlansCheck::Failed(text) => {
            let question = format!(
                "Phase {} cannot go on: {text}. Correct it in the worktree and retry, continue as \
                 it is, or give up?",
                worker.phase()
            );
            let ask = InboxQuestion::new(key(attempt), QuestionKind::Gaps, question);
            Some(NextStep::Ask(vec![ask.with_choices([RETRY, CONTINUE, FAIL])]))
        }
        CompletePlansCheck::Open => {
            // The attempt before asked, and ended until the answer.
            let answer = worker.answer_to(&key(attempt.saturating_sub(1)));
            match answer.map(|answer| answer.text.as_str()) {
                Some(FAIL) => Some(NextStep::Fail("a person gave it up".to_owned())),
                Some(CONTINUE) => None,
                _ => {
                    let has_complete = found.plans.iter().any(|plan| plan.done);
                    has_complete.then_some(NextStep::Run(Effect::CheckCompletePlans))
                }
            }
        }
    }
}

/// Reports where the checkpoint says that the phase stopped, and what contradicts it.
pub(super) fn checkpoint_notes(found: &PhaseSnapshot) -> Vec<Report> {
    let Some(checkpoint) = &found.checkpoint else { return Vec::new() };
    let place = match (&checkpoint.plan, checkpoint.task) {
        (Some(plan), Some(task)) => format!(" in plan {plan}, task {task}"),
        (Some(plan), None) => format!(" in plan {plan}"),
        _ => String::new(),
    };
    let done = found.plans.iter().filter(|plan| plan.done).count();
    let total = found.plans.len();
    let text = format!(
        "resumes from {} ({}{place}); {done} of {total} {} complete",
        checkpoint.file,
        checkpoint.status,
        if total == 1 { "plan is" } else { "plans are" },
    );
    let doubts = checkpoint.doubts.iter();
    let doubts = doubts.map(|doubt| format!("{} is not reliable: {doubt}", checkpoint.file));
    std::iter::once(text).chain(doubts).map(|text| Report::Note { text }).collect()
}

/// Reports that the checks of all complete plans passed.
pub(super) fn passed_note(worker: &Worker) -> Vec<Report> {
    let text = match worker.plans.done.len() {
        1 => "the checks of its complete plan pass".to_owned(),
        count => format!("the checks of its {count} complete plans pass"),
    };
    vec![Report::Note { text }]
}

impl Worker {
    /// Takes note of the result of the checks.
    pub(super) fn complete_plans_checked(&mut self, outcome: &Outcome) {
        self.lifecycle.complete_plans = match outcome {
            Outcome::Verdict { verdict: Verdict::Gaps { text } } => {
                CompletePlansCheck::Failed(text.clone())
            }
            _ => CompletePlansCheck::Passed,
        };
    }
}
