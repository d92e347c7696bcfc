//! What agents bring about beside their work: questions, models that do not answer, an end of all
//! hope. And the discussion, which is questions only.

use super::next::{Next, run_role};
use super::{Effect, Found, Outcome, Role, Worker};
use crate::item::{Answer, Ask, ItemKind};
use crate::report::{Report, THROTTLED_MAX_MS};

/// How often an agent may think of more questions.
const DISCUSS_ROUNDS_MAX: u32 = 4;
/// How often in a row a model may fail to answer.
const LATER_MAX: u32 = 10;
/// How long the first wait for a model is; each further one is twice as long.
const LATER_FIRST_MS: u64 = 30_000;

impl Worker {
    /// Returns until when it waits after something that can be done later; `None` for no more waits.
    fn due_after(&self, wait_ms: Option<u64>, now: u64) -> Option<u64> {
        let first = self.found.as_ref().and_then(|found| found.settings.retry_ms);
        let first = first.unwrap_or(LATER_FIRST_MS);
        let own = first.saturating_mul(1 << self.later.min(LATER_MAX));
        let wait = wait_ms.unwrap_or(0).max(own).min(THROTTLED_MAX_MS);
        (self.later < LATER_MAX).then_some(now + wait)
    }

    /// Returns what the lead is told of what an agent brought about.
    pub(super) fn news_of_agent(&self, outcome: &Outcome, now: u64) -> Option<Report> {
        match outcome {
            Outcome::Later { reason, wait_ms } => {
                let until = self.due_after(*wait_ms, now)?;
                Some(Report::Throttled { until, reason: reason.clone() })
            }
            Outcome::Hopeless { reason, everybody: true } => {
                Some(Report::Denied { reason: reason.clone() })
            }
            _ => None,
        }
    }

    /// Takes in what an agent brought about; returns whether that is all there is to take in.
    pub(super) fn take_from_agent(&mut self, effect: &Effect, outcome: &Outcome, at: u64) -> bool {
        match outcome {
            // Its work is not committed, and the next of those beside it would put that away.
            Outcome::Asked { .. } if matches!(effect, Effect::RunTask { beside: true, .. }) => {
                if let Some(plan) = effect.plan() {
                    self.alone.insert(plan.to_owned());
                    self.leave(plan);
                }
            }
            Outcome::Asked { asks } => self.pending.clone_from(asks),
            Outcome::Later { reason, wait_ms } => match self.due_after(*wait_ms, at) {
                Some(due) => (self.retry_at, self.later) = (Some(due), self.later + 1),
                None => {
                    self.hopeless = Some(format!("{reason}, {LATER_MAX} times in a row"));
                }
            },
            Outcome::Hopeless { reason, .. } => self.hopeless = Some(reason.clone()),
            _ => {
                self.later = 0;
                return false;
            }
        }
        true
    }

    /// Returns what comes before anything else, when agents brought that about.
    pub(super) fn next_of_agents(&self, now: u64) -> Option<Next> {
        if self.retry_at.is_some_and(|due| now < due) {
            return Some(Next::Wait);
        }
        let is_open = |ask: &&Ask| self.answers_to(&ask.key).next().is_none();
        let open: Vec<_> = self.pending.iter().filter(is_open).cloned().collect();
        (!open.is_empty()).then_some(Next::Ask(open))
    }
}

/// Lets an agent think of questions until it has no more, and people answer them.
pub(super) fn discuss(worker: &Worker, found: &Found) -> Next {
    let stem = format!("{}/discuss/", worker.phase());
    let answers: Vec<Answer> =
        worker.answers().iter().filter(|a| a.key.starts_with(&stem)).cloned().collect();
    let round = answers.iter().filter_map(|answer| round(&stem, &answer.key)).max().unwrap_or(0);
    if round == 0 && worker.role_done {
        // Somebody is asked in any case.
        return fixed(worker, found);
    }
    if worker.role_done || round >= DISCUSS_ROUNDS_MAX {
        return Next::Do(Effect::WriteContext { answers });
    }
    run_role(worker, Role::Discusser, round)
}

/// Returns the key of a question that an agent thought of, in a round counted from one.
pub fn discuss_key(phase: &str, round: u32, number: usize) -> String {
    format!("{phase}/discuss/{round}.{number}")
}

fn round(stem: &str, key: &str) -> Option<u32> {
    key.strip_prefix(stem)?.split_once('.')?.0.parse().ok()
}

/// Puts the questions that need no agent, and writes down the answers.
pub(super) fn fixed(worker: &Worker, found: &Found) -> Next {
    let asks = questions(&worker.phase(), found);
    let is_open = |ask: &Ask| worker.answers_to(&ask.key).next().is_none();
    let open: Vec<_> = asks.iter().filter(|ask| is_open(ask)).cloned().collect();
    if !open.is_empty() {
        return Next::Ask(open);
    }
    let answers = asks.iter().filter_map(|ask| worker.answers_to(&ask.key).last().cloned());
    Next::Do(Effect::WriteContext { answers: answers.collect() })
}

/// Returns the questions that are put where no agent thinks of better ones.
fn questions(phase: &str, found: &Found) -> Vec<Ask> {
    let ask = |n: usize, question: String| Ask {
        key: format!("{phase}/discuss/{n}"),
        kind: ItemKind::Discuss,
        question,
        choices: Vec::new(),
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
