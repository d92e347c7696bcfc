//! The worker of a phase: which stage it is in, what is done next, when a person is asked.
//!
//! A worker does one thing at a time, but for plans that run side by side. What a stage does is an effect; the state only knows what
//! came of it. A worker that was killed is not continued: the next attempt looks at what is there
//! (context, research, plans, commits) and goes on from it. Start with [`Worker`], then `next.rs`.

mod agents;
mod beside;
mod event;
mod execute;
mod next;
mod role;
mod stuck;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::item::{Answer, Ask};
use crate::machine::{Decision, Machine};
use crate::report::{Brief, Halt, Note, Report};
use crate::stage::Stage;

pub use agents::discuss_key;
pub use event::{
    Effect, Event, Evidence, Found, FoundPlan, FoundTask, FrozenPlan, Input, Outcome, Settings,
    Verdict,
};
pub use role::Role;

/// A phase at work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    /// What the lead said at the start.
    pub brief: Option<Brief>,
    /// What is there; `None` when it has to be looked at again.
    pub found: Option<Found>,
    /// The stage it is in.
    pub stage: Option<Stage>,
    /// What it is doing, by the numbers of the effects.
    pub busy: BTreeMap<u64, Effect>,
    /// Whether the plans are frozen.
    frozen: bool,
    /// Plans that are complete.
    pub plans_done: BTreeSet<String>,
    /// Tasks that are done in plans that are not complete.
    pub tasks_done: BTreeMap<String, BTreeSet<usize>>,
    /// What stands in the way of plans: the task and the reason.
    pub blocked: BTreeMap<String, (usize, String)>,
    /// The plans it is at, and since when.
    pub plans: BTreeMap<String, u64>,
    /// How it is to be ended.
    pub halt: Option<Halt>,
    /// Whether it said its last word.
    pub ended: bool,
    /// When it began.
    began: u64,
    /// Questions it has put in this attempt.
    asked: BTreeSet<String>,
    /// The plans that run side by side; empty while they run one after the other.
    beside: BTreeSet<String>,
    /// Whether those are at rest, and what they left is looked at.
    gathered: bool,
    /// Why plans side by side are not to be relied on.
    strayed: Option<String>,
    /// Plans that are not to run beside others any more.
    alone: BTreeSet<String>,
    /// Plans with tasks that are committed and not checked.
    unchecked: BTreeSet<String>,
    /// How often each plan was tried in vain, and what was wrong the last time.
    trouble: BTreeMap<String, (u32, String)>,
    /// What seems to be stuck, by the numbers of the effects, with the keys of the questions.
    stuck: BTreeMap<u64, String>,
    /// Effects that a person gave up.
    given_up: BTreeSet<u64>,
    /// How often the present thing was tried in vain, and what was wrong the last time.
    tries: u32,
    problem: Option<String>,
    /// Questions of an agent that waits for the answers.
    pending: Vec<Ask>,
    /// When to go on after a model did not answer, and how often in a row it did not.
    retry_at: Option<u64>,
    later: u32,
    /// Why trying again is of no use.
    hopeless: Option<String>,
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
    /// Whether the planner has seen to the gaps that a person wants closed.
    gaps_planned: bool,
    /// Whether it went back to carry out the plans for those.
    went_back: bool,
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

    /// Returns the stage after which it ends, where it only looks ahead.
    fn through(&self) -> Option<Stage> {
        self.brief.as_ref().and_then(|brief| brief.through)
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
            Input::Finished { id, outcome } => {
                if let Some(effect) = self.busy.get(id) {
                    let outcome = self.judged(*id, outcome);
                    let mut news = self.news(effect, &outcome, now);
                    news.extend(self.settled(*id));
                    // If only a part of this is kept, others must know before the next attempt.
                    let first = self.news_of_agent(&outcome, now);
                    events.extend(first.map(Event::Reported));
                    events.push(Event::Finished { id: *id, outcome });
                    events.extend(news.into_iter().map(Event::Reported));
                }
            }
            Input::Stuck { id, signs } => self.notice_stuck(*id, signs, &mut decision),
            Input::Moving { id } => {
                if let Some(report) = self.settled(*id) {
                    events.push(Event::Moving { id: *id });
                    events.push(Event::Reported(report));
                }
            }
            Input::Told(Note::Answer(answer)) => self.obey(answer, &mut decision),
            Input::Told(Note::Halt { how }) if self.halt.is_none() || *how == Halt::Cancelled => {
                events.push(Event::Halted { how: *how });
            }
            Input::Unheard { text } => {
                events.push(Event::Unheard { text: text.clone() });
                let effect = Effect::NoteStatus { text: text.clone() };
                decision.effects.push((Self::UNNUMBERED, effect));
            }
            Input::Proved(evidence) => events.push(Event::Proved(evidence.clone())),
            Input::Spent(spent) => events.push(Event::Reported(Report::Spent(spent.clone()))),
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
                self.checked = brief.checked;
                self.brief = Some(brief.clone());
            }
            Event::Intended { id, effect } => {
                self.next_effect = id + 1;
                self.busy.insert(*id, effect.clone());
            }
            Event::Finished { id, outcome } => {
                self.stuck.remove(id);
                self.given_up.remove(id);
                if let Some(effect) = self.busy.remove(id)
                    && !self.take_from_agent(&effect, outcome, at)
                {
                    self.finish(&effect, outcome);
                }
            }
            Event::Stuck { id, key, .. } => {
                self.stuck.insert(*id, key.clone());
            }
            Event::Moving { id } => {
                self.stuck.remove(id);
            }
            Event::Decided { id, choice } => self.take_decision(*id, choice),
            Event::Halted { how } => self.halt = Some(*how),
            Event::Interrupted => self.interrupted = true,
            Event::Unheard { .. } | Event::Sealed { .. } | Event::Proved(_) => {}
            Event::Reported(report) => self.report(report, at),
        }
    }

    fn deadline(&self) -> Option<u64> {
        if self.ended || self.halt.is_some() {
            return None;
        }
        let wall = self.found.as_ref().and_then(|found| found.settings.wall_max_ms);
        let wall = wall.map(|wall| self.began + wall);
        wall.into_iter().chain(self.retry_at.filter(|_| self.busy.is_empty())).min()
    }
}

impl Worker {
    /// The number of effects whose end nobody waits for.
    pub const UNNUMBERED: u64 = u64::MAX;

    /// Returns whether another thing may begin beside those it is doing.
    fn has_room(&self) -> bool {
        let is_beside = |effect: &Effect| matches!(effect, Effect::RunTask { beside: true, .. });
        self.halt.is_none() && self.busy.values().all(is_beside)
    }

    fn is_done(&self, plan: &str, task: usize) -> bool {
        self.tasks_done.get(plan).is_some_and(|done| done.contains(&task))
    }

    /// Returns what the lead is told about the end of something.
    fn news(&self, effect: &Effect, outcome: &Outcome, now: u64) -> Vec<Report> {
        match (effect, outcome) {
            (Effect::Look, Outcome::Found { found }) if self.stage == Some(Stage::Execute) => {
                let done = found.plans.iter().filter(|plan| plan.done).count();
                vec![Report::Plans { done, total: found.plans.len() }]
            }
            (Effect::RunTask { plan, task, .. }, Outcome::Committed { commit }) => {
                let (plan, commit) = (plan.clone(), commit.clone());
                vec![Report::TaskDone { plan, task: *task, commit }]
            }
            (Effect::RunTask { plan, .. }, Outcome::Blocked { text }) => {
                let skipped = self.found.as_ref().is_some_and(|found| !found.settings.strict);
                vec![Report::Blocked { plan: plan.clone(), text: text.clone(), skipped }]
            }
            (Effect::Clear { plans }, Outcome::Done) => {
                let text = format!("plans {} run side by side", plans.join(", "));
                vec![Report::Note { text }]
            }
            (Effect::CheckPlan { plan }, Outcome::Undone { task, reason }) => {
                let text = format!("plan {plan}: task {task} is undone, {reason}");
                vec![Report::Note { text }]
            }
            (Effect::ClosePlan { plan, began }, Outcome::Committed { commit }) => {
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
            (Effect::Gather { .. }, Outcome::Failed { reason }) => {
                self.strayed = Some(reason.clone());
            }
            (Effect::CheckPlan { plan }, Outcome::Undone { task, reason }) => {
                self.tasks_done.entry(plan.clone()).or_default().retain(|done| done < task);
                self.stumble(plan, reason);
            }
            (_, Outcome::Failed { reason }) => match effect.plan() {
                Some(plan) => self.stumble(plan, reason),
                None => {
                    self.tries += 1;
                    self.problem = Some(reason.clone());
                }
            },
            // What was cut off has not failed, and is done again, or looked at by the next attempt.
            (_, Outcome::Interrupted) => {}
            _ => {
                (self.tries, self.problem) = (0, None);
                effect.plan().map(|plan| self.trouble.remove(plan));
                self.succeed(effect, outcome);
            }
        }
        if matches!(effect, Effect::RunRole { .. } | Effect::WriteContext { .. }) {
            self.found = None;
        }
    }

    /// Takes in that a plan did not go on; one that ran beside others goes on by itself.
    fn stumble(&mut self, plan: &str, reason: &str) {
        let trouble = self.trouble.entry(plan.to_owned()).or_default();
        *trouble = (trouble.0 + 1, reason.to_owned());
        if self.beside.contains(plan) {
            self.alone.insert(plan.to_owned());
            self.leave(plan);
        }
    }

    /// Leaves a plan. While plans run side by side, it stays one of those that are looked at.
    fn leave(&mut self, plan: &str) {
        self.plans.remove(plan);
        if self.gathered {
            self.beside.remove(plan);
            self.gathered = !self.beside.is_empty();
        }
    }

    fn succeed(&mut self, effect: &Effect, outcome: &Outcome) {
        match (effect, outcome) {
            (Effect::RunRole { role, .. }, outcome) => self.heard(*role, outcome),
            (Effect::Freeze, _) => self.frozen = true,
            (Effect::RunTask { plan, task, .. }, Outcome::Blocked { text }) => {
                self.blocked.insert(plan.clone(), (*task, text.clone()));
                self.leave(plan);
            }
            (Effect::RunTask { plan, task, beside }, _) => {
                self.tasks_done.entry(plan.clone()).or_default().insert(*task);
                if *beside {
                    self.unchecked.insert(plan.clone());
                }
            }
            (Effect::Clear { plans }, _) => self.beside = plans.iter().cloned().collect(),
            (Effect::Gather { .. }, _) => {
                self.beside.retain(|plan| self.plans.contains_key(plan));
                self.gathered = !self.beside.is_empty();
            }
            (Effect::CheckPlan { plan }, _) => {
                self.unchecked.remove(plan);
            }
            (Effect::ClosePlan { plan, .. }, _) => {
                self.plans_done.insert(plan.clone());
                self.leave(plan);
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
            (Role::Planner, _) if self.stage == Some(Stage::Refine) => self.gaps_planned = true,
            _ => {}
        }
    }

    fn look(&mut self, found: &Found) {
        self.plans_done =
            found.plans.iter().filter(|plan| plan.done).map(|plan| plan.id.clone()).collect();
        for plan in found.plans.iter().filter(|plan| !plan.done) {
            let tasks = self.tasks_done.entry(plan.id.clone()).or_default();
            tasks.extend(&plan.tasks_done);
            if plan.unchecked {
                self.unchecked.insert(plan.id.clone());
            }
            if plan.alone {
                self.alone.insert(plan.id.clone());
            }
        }
        self.found = Some(found.clone());
    }

    fn report(&mut self, report: &Report, at: u64) {
        match report {
            Report::Stage { from, to, .. } => {
                self.went_back |= *from == Some(Stage::Refine);
                self.stage = Some(*to);
                self.found = None;
                self.role_done = false;
                (self.tries, self.problem) = (0, None);
                // Going back to it means that there are new plans.
                self.frozen &= *to != Stage::Execute;
            }
            Report::PlanStarted { plan, .. } => {
                self.plans.insert(plan.clone(), at);
            }
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
