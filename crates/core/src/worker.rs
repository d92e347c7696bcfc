//! The worker of a phase: which stage it is in, what is done next, when a person is asked.
//!
//! A worker does one thing at a time. What a stage does is an effect; the state only knows what
//! came of it. A worker that was killed is not continued: the next attempt looks at what is there
//! (context, research, plans, commits) and goes on from it. Start with [`Worker`], then `next.rs`.

mod event;
mod execute;
mod next;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::item::Answer;
use crate::machine::{Decision, Machine};
use crate::report::{Brief, Halt, Note, Report};
use crate::stage::Stage;

pub use event::{
    Effect, Event, Evidence, Found, FoundPlan, FoundTask, FrozenPlan, Input, Outcome, Role,
    Settings, Verdict,
};

/// A phase at work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    /// What the lead said at the start.
    pub brief: Option<Brief>,
    /// What is there; `None` when it has to be looked at again.
    pub found: Option<Found>,
    /// The stage it is in.
    pub stage: Option<Stage>,
    /// What it is doing.
    pub busy: Option<(u64, Effect)>,
    /// Whether the plans are frozen.
    frozen: bool,
    /// Plans that are complete.
    pub plans_done: BTreeSet<String>,
    /// Tasks that are done in plans that are not complete.
    pub tasks_done: BTreeMap<String, BTreeSet<usize>>,
    /// What stands in the way of plans: the task and the reason.
    pub blocked: BTreeMap<String, (usize, String)>,
    /// The plan it is at, and since when.
    pub plan: Option<(String, u64)>,
    /// How it is to be ended.
    pub halt: Option<Halt>,
    /// Whether it said its last word.
    pub ended: bool,
    /// When it began.
    began: u64,
    /// Questions it has put in this attempt.
    asked: BTreeSet<String>,
    /// How often the present thing was tried in vain, and what was wrong the last time.
    tries: u32,
    problem: Option<String>,
    /// How often looking at what is there failed.
    blind: u32,
    /// How often planner and checker have passed the plans to each other.
    rounds: u32,
    /// Whether a role of this stage has done its part.
    role_done: bool,
    /// Whether the plans were checked in this attempt.
    checked: bool,
    /// What verification found.
    verdict: Option<Verdict>,
    /// Whether the checkpoint is written.
    checkpointed: bool,
    /// Whether the last commit of the phase is made.
    closed: Option<String>,
    /// Whether the wall clock has been called already.
    interrupted: bool,
    next_effect: u64,
}

impl Worker {
    fn answers(&self) -> &[Answer] {
        self.brief.as_ref().map_or(&[], |brief| &brief.answers)
    }

    /// Returns the answers to all questions of a stem, in the order they were put.
    fn answers_to<'a>(&'a self, stem: &'a str) -> impl Iterator<Item = &'a Answer> {
        self.answers().iter().filter(move |answer| {
            let rest = answer.key.strip_prefix(stem);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        })
    }

    /// Returns the name of the phase as keys have it.
    fn phase(&self) -> String {
        self.brief.as_ref().map(|brief| brief.phase.to_string()).unwrap_or_default()
    }
}

impl Machine for Worker {
    type Input = Input;
    type Event = Event;
    type Effect = (u64, Effect);

    fn decide(&self, input: &Input, now: u64) -> Decision<Event, (u64, Effect)> {
        let mut decision = Decision::default();
        let events = &mut decision.events;
        match input {
            Input::Begin { brief, pid } if self.brief.is_none() => {
                events.push(Event::Briefed { brief: brief.clone() });
                events.push(Event::Reported(Report::Started { pid: *pid }));
            }
            Input::Finished { id, outcome }
                if self.busy.as_ref().is_some_and(|(busy, _)| busy == id) =>
            {
                events.push(Event::Finished { id: *id, outcome: outcome.clone() });
                events.extend(self.news(outcome, now).into_iter().map(Event::Reported));
            }
            Input::Told(Note::Halt { how }) if self.halt.is_none() || *how == Halt::Cancelled => {
                events.push(Event::Halted { how: *how });
            }
            Input::Unheard { text } => {
                events.push(Event::Unheard { text: text.clone() });
                let effect = Effect::NoteStatus { text: text.clone() };
                decision.effects.push((Self::UNNUMBERED, effect));
            }
            Input::Proved(evidence) => events.push(Event::Proved(evidence.clone())),
            Input::Noted { text } => {
                events.push(Event::Reported(Report::Note { text: text.clone() }));
            }
            _ => {}
        }
        decision
    }

    fn follow_up(&self, now: u64) -> Decision<Event, (u64, Effect)> {
        next::follow_up(self, now)
    }

    fn apply(&mut self, event: &Event, at: u64) {
        match event {
            Event::Briefed { brief } => {
                self.began = at;
                self.brief = Some(brief.clone());
            }
            Event::Intended { id, effect } => {
                self.next_effect = id + 1;
                self.busy = Some((*id, effect.clone()));
            }
            Event::Finished { outcome, .. } => {
                if let Some((_, effect)) = self.busy.take() {
                    self.finish(&effect, outcome);
                }
            }
            Event::Halted { how } => self.halt = Some(*how),
            Event::Interrupted => self.interrupted = true,
            Event::Unheard { .. } | Event::Sealed { .. } | Event::Proved(_) => {}
            Event::Reported(report) => self.report(report, at),
        }
    }

    fn deadline(&self) -> Option<u64> {
        let wall = self.found.as_ref()?.settings.wall_max_ms?;
        (!self.ended && self.halt.is_none()).then_some(self.began + wall)
    }
}

impl Worker {
    /// The number of effects whose end nobody waits for.
    pub const UNNUMBERED: u64 = u64::MAX;

    /// Returns what the lead is told about the end of what the worker is doing.
    fn news(&self, outcome: &Outcome, now: u64) -> Vec<Report> {
        match (self.busy.as_ref().map(|(_, effect)| effect), outcome) {
            (Some(Effect::Look), Outcome::Found { found })
                if self.stage == Some(Stage::Execute) =>
            {
                let done = found.plans.iter().filter(|plan| plan.done).count();
                vec![Report::Plans { done, total: found.plans.len() }]
            }
            (Some(Effect::RunTask { plan, task }), Outcome::Committed { commit }) => {
                let (plan, commit) = (plan.clone(), commit.clone());
                vec![Report::TaskDone { plan, task: *task, commit }]
            }
            (Some(Effect::RunTask { plan, .. }), Outcome::Blocked { text }) => {
                let skipped = self.found.as_ref().is_some_and(|found| !found.settings.strict);
                vec![Report::Blocked { plan: plan.clone(), text: text.clone(), skipped }]
            }
            (Some(Effect::ClosePlan { plan, began }), Outcome::Committed { commit }) => {
                let total = self.found.as_ref().map_or(0, |found| found.plans.len());
                let minutes = now.saturating_sub(*began) / 60_000;
                let commit = commit.clone().unwrap_or_default();
                let done = self.plans_done.len() + 1;
                vec![
                    Report::PlanDone { plan: plan.clone(), commit, minutes },
                    Report::Plans { done, total },
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Takes in what came of an effect.
    fn finish(&mut self, effect: &Effect, outcome: &Outcome) {
        match (effect, outcome) {
            (Effect::Checkpoint { .. }, _) => self.checkpointed = true,
            (Effect::Look, Outcome::Found { found }) => self.look(found),
            (Effect::Look, Outcome::Failed { reason }) => {
                self.blind += 1;
                self.problem = Some(reason.clone());
            }
            (_, Outcome::Failed { reason }) => {
                self.tries += 1;
                self.problem = Some(reason.clone());
            }
            // What was cut off has not failed, and will be looked at by the next attempt.
            (_, Outcome::Interrupted) => {}
            _ => {
                (self.tries, self.problem) = (0, None);
                self.succeed(effect, outcome);
            }
        }
        if matches!(effect, Effect::RunRole { .. } | Effect::WriteContext { .. }) {
            self.found = None;
        }
    }

    fn succeed(&mut self, effect: &Effect, outcome: &Outcome) {
        match (effect, outcome) {
            (Effect::RunRole { role, .. }, outcome) => self.heard(*role, outcome),
            (Effect::Freeze, _) => self.frozen = true,
            (Effect::RunTask { plan, task }, Outcome::Blocked { text }) => {
                self.blocked.insert(plan.clone(), (*task, text.clone()));
                self.plan = None;
            }
            (Effect::RunTask { plan, task }, _) => {
                self.tasks_done.entry(plan.clone()).or_default().insert(*task);
            }
            (Effect::ClosePlan { plan, .. }, _) => {
                self.plans_done.insert(plan.clone());
                self.plan = None;
            }
            (Effect::ClosePhase, Outcome::Committed { commit: Some(commit) }) => {
                self.closed = Some(commit.clone());
            }
            _ => {}
        }
    }

    fn heard(&mut self, role: Role, outcome: &Outcome) {
        self.role_done = true;
        match (role, outcome) {
            (Role::PlanChecker, Outcome::Verdict { verdict: Verdict::Passed }) => {
                self.checked = true;
            }
            (Role::PlanChecker, Outcome::Verdict { .. }) => {
                self.rounds += 1;
                self.role_done = false;
            }
            (Role::Verifier, Outcome::Verdict { verdict }) => {
                self.verdict = Some(verdict.clone());
            }
            _ => {}
        }
    }

    fn look(&mut self, found: &Found) {
        self.plans_done =
            found.plans.iter().filter(|plan| plan.done).map(|plan| plan.id.clone()).collect();
        for plan in found.plans.iter().filter(|plan| !plan.done) {
            let tasks = self.tasks_done.entry(plan.id.clone()).or_default();
            tasks.extend(&plan.tasks_done);
        }
        self.found = Some(found.clone());
    }

    fn report(&mut self, report: &Report, at: u64) {
        match report {
            Report::Stage { to, .. } => {
                self.stage = Some(*to);
                self.found = None;
                self.role_done = false;
                (self.tries, self.problem) = (0, None);
            }
            Report::PlanStarted { plan, .. } => self.plan = Some((plan.clone(), at)),
            Report::TaskDone { plan, task, .. } => {
                self.tasks_done.entry(plan.clone()).or_default().insert(*task);
            }
            Report::Asked { ask } => {
                self.asked.insert(ask.key.clone());
            }
            _ => {}
        }
        self.ended |= report.is_last();
    }
}
