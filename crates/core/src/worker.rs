//! The state machine of one attempt at a phase: stages, plans, tasks, and questions to people.
//!
//! A worker runs one effect at a time, except for plans that run in parallel. Stages do their work by
//! effects; the state only knows their outcomes. A killed worker is not continued: the next attempt
//! inspects the files and commits of the phase and continues from there. Start with [`Worker`], then
//! read `next_step.rs`.

mod agent_outcomes;
mod blocker_ack;
mod complete_plans;
mod event;
mod execute;
mod live_status;
mod next_step;
mod parallel_plans;
mod role;
mod snapshot;
mod state;
mod stuck;
pub mod task_knowledge;
#[cfg(test)]
mod tests;
mod text;

use crate::inbox::{InboxAnswer, QuestionKey, QuestionTopic};
use crate::machine::{Decision, Machine};
use crate::phase::PhaseNumber;
use crate::report::{Brief, LeadMessage, Report};
use crate::stage::Stage;

use blocker_ack::BlockerAck;
pub use complete_plans::CheckpointSnapshot;
pub use event::{Effect, Event, Evidence, FrozenPlan, Input, Outcome, Verdict};
pub use live_status::{
    COMPLETE, FAILED, IN_PROGRESS, INITIALIZING, LivePlan, LiveStatus, NOT_STARTED, WAITING,
};
pub use next_step::RETRY;
pub use role::Role;
pub use snapshot::{PhaseSnapshot, PlanSnapshot, Settings, TaskSnapshot};
use state::{EndingStep, GapClosing, ParallelGroup};
pub use state::{
    Lifecycle, ParallelPlans, PlanProgress, Questions, Refinement, Retries, RoleProgress,
    RunningEffects,
};

/// The state of an attempt at a phase: the fold of all its events.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worker {
    /// The start message of the lead; `None` before it has arrived.
    pub brief: Option<Brief>,
    /// The phase as it was last inspected; `None` when it has to be inspected again.
    pub snapshot: Option<PhaseSnapshot>,
    /// The current stage; `None` before the first.
    pub stage: Option<Stage>,
    /// The effects that are running.
    pub effects: RunningEffects,
    /// How far the plans are.
    pub plans: PlanProgress,
    /// Which plans run in parallel.
    pub parallel: ParallelPlans,
    /// Start and end of the attempt.
    pub lifecycle: Lifecycle,
    /// Failures that belong to no plan.
    pub retries: Retries,
    /// Questions to people.
    pub questions: Questions,
    /// What the roles of the current stage have done.
    pub roles: RoleProgress,
    /// The state of the refine stage.
    pub refinement: Refinement,
    /// Whether the lead has acknowledged the newest blocker.
    blocker_ack: BlockerAck,
}

impl Worker {
    /// Returns how many agents may run at a time, as the lead set it last.
    pub fn agents_max(&self) -> usize {
        self.parallel.agents_max
    }

    /// Returns whether the last report of the attempt is written.
    pub fn has_ended(&self) -> bool {
        self.lifecycle.step == EndingStep::Ended
    }

    /// Returns whether the checkpoint of an attempt that ends early is written.
    fn is_checkpointed(&self) -> bool {
        self.lifecycle.step >= EndingStep::Checkpointed
    }

    fn answers(&self) -> &[InboxAnswer] {
        self.brief.as_ref().map_or(&[], |brief| &brief.answers)
    }

    /// Returns the answers to all questions about some topics, in the order of the questions.
    fn answers_about(
        &self,
        is_meant: impl Fn(&QuestionTopic) -> bool,
    ) -> impl DoubleEndedIterator<Item = &InboxAnswer> {
        self.answers().iter().filter(move |answer| is_meant(answer.key.topic()))
    }

    /// Returns the newest answer to a question.
    fn answer_to(&self, key: &QuestionKey) -> Option<&InboxAnswer> {
        self.answers().iter().rev().find(|answer| answer.key == *key)
    }

    /// Returns the last stage of an attempt that only looks ahead.
    fn lookahead_goal(&self) -> Option<Stage> {
        self.brief.as_ref().and_then(|brief| brief.through)
    }

    /// Returns the phase; 0 before the brief has arrived.
    fn phase(&self) -> PhaseNumber {
        self.brief.as_ref().map_or(PhaseNumber::whole(0), |brief| brief.phase)
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
                if let Some(effect) = self.effects.running.get(id) {
                    let outcome = self.effects.final_outcome(*id, outcome);
                    let mut reports = self.reports_after(effect, &outcome, now);
                    reports.extend(self.question_obsolete(*id));
                    // A crash may cut off the records here. The lead must know of throttled or denied models first.
                    let urgent = self.report_of_agent(&outcome, now);
                    events.extend(urgent.map(Event::Reported));
                    events.push(Event::Finished { id: *id, outcome });
                    events.extend(reports.into_iter().map(Event::Reported));
                }
            }
            Input::Stuck { id, signs } => self.effect_stuck(*id, signs, &mut decision),
            Input::ActiveAgain { id } => {
                if let Some(report) = self.question_obsolete(*id) {
                    events.push(Event::ActiveAgain { id: *id });
                    events.push(Event::Reported(report));
                }
            }
            Input::FromLead(LeadMessage::Answer(answer)) => {
                self.on_stuck_answer(answer, &mut decision);
            }
            Input::FromLead(LeadMessage::Halt(order))
                if order.exceeds(self.lifecycle.halt.as_ref()) =>
            {
                events.push(Event::Halted(order.clone()));
            }
            Input::FromLead(LeadMessage::Agents { count }) => {
                events.push(Event::AgentsSet { count: (*count).max(1) });
            }
            Input::LeadSilent { text } => {
                events.push(Event::LeadSilent { text: text.clone() });
                let effect = Effect::NoteStatus { text: text.clone() };
                decision.effects.push((Self::UNNUMBERED, effect));
            }
            Input::BlockerAcknowledged if self.awaits_blocker_ack() => {
                events.push(Event::BlockerAcknowledged);
            }
            Input::CheckRan(evidence) => events.push(Event::CheckRan(evidence.clone())),
            Input::TaskReported(knowledge) => {
                events.push(Event::TaskReported(knowledge.clone()));
            }
            Input::Spent(spent) => events.push(Event::Reported(Report::Spent(spent.clone()))),
            Input::Noted { text } => {
                events.push(Event::Reported(Report::Note { text: text.clone() }));
            }
            _ => {}
        }
        decision
    }

    fn follow_up(&self, now: u64) -> Decision<Event, (u64, Effect)> {
        next_step::follow_up(self, now)
    }

    fn apply(&mut self, event: &Event, at: u64) {
        match event {
            Event::Briefed { brief } => {
                self.lifecycle.began = at;
                self.roles.plans_checked = brief.checked;
                self.parallel.agents_max = brief.agents;
                self.brief = Some(brief.clone());
            }
            Event::Intended { id, effect } => {
                self.effects.begin(*id, effect);
            }
            Event::Finished { id, outcome } => {
                if let Some(effect) = self.effects.end(*id)
                    && !self.apply_agent_outcome(&effect, outcome, at)
                {
                    self.effect_finished(&effect, outcome);
                }
            }
            Event::Stuck { id, key, .. } => {
                self.effects.stuck.insert(*id, key.clone());
            }
            Event::ActiveAgain { id } => {
                self.effects.stuck.remove(id);
            }
            Event::Decided { id, choice } => self.on_stuck_decision(*id, choice),
            Event::Halted(order) => self.lifecycle.halt = Some(order.clone()),
            Event::AgentsSet { count } => self.parallel.set_agents(*count),
            Event::Interrupted => self.lifecycle.reach(EndingStep::Interrupted),
            Event::BlockerAcknowledged => self.blocker_ack.acknowledge(),
            Event::BlockerUnanswered { .. } => self.blocker_ack.give_up(),
            Event::LeadSilent { .. }
            | Event::Sealed { .. }
            | Event::CheckRan(_)
            | Event::TaskReported(_) => {}
            Event::Reported(report) => self.report(report, at),
        }
    }

    fn deadline(&self) -> Option<u64> {
        if self.has_ended() || self.lifecycle.halt.is_some() {
            return None;
        }
        let wall = self.snapshot.as_ref().and_then(|found| found.settings.wall_max_ms);
        let wall = wall.map(|wall| self.lifecycle.began + wall);
        wall.into_iter()
            .chain(self.retries.retry_at.filter(|_| self.effects.running.is_empty()))
            .chain(self.blocker_deadline())
            .min()
    }
}

impl Worker {
    /// The number of all effects whose outcome the worker does not wait for.
    pub const UNNUMBERED: u64 = u64::MAX;

    /// Returns whether another effect may begin: nothing runs, or only tasks of parallel plans.
    fn can_begin_more(&self) -> bool {
        let is_parallel =
            |effect: &Effect| matches!(effect, Effect::RunTask { parallel: true, .. });
        self.lifecycle.halt.is_none() && self.effects.running.values().all(is_parallel)
    }

    /// Returns the reports to the lead that follow from an outcome.
    fn reports_after(&self, effect: &Effect, outcome: &Outcome, now: u64) -> Vec<Report> {
        match (effect, outcome) {
            (Effect::Inspect, Outcome::Inspected { found }) => {
                let mut reports = self.reports_of_plans(found);
                if !self.lifecycle.has_inspected {
                    reports.extend(complete_plans::checkpoint_notes(found));
                }
                reports
            }
            (Effect::CheckCompletePlans, Outcome::Verdict { verdict: Verdict::Passed }) => {
                complete_plans::passed_note(self)
            }
            (Effect::RunTask { plan, task, .. }, Outcome::Committed { commit }) => {
                let (plan, commit) = (plan.clone(), commit.clone());
                vec![Report::TaskDone { plan, task: *task, commit }]
            }
            (Effect::RunTask { plan, .. }, Outcome::Blocked { text }) => {
                let skipped = self.snapshot.as_ref().is_some_and(|found| !found.settings.strict);
                vec![Report::Blocked { plan: plan.clone(), text: text.clone(), skipped }]
            }
            (Effect::PrepareParallel { plans }, Outcome::Done) => {
                let text = format!("plans {} run in parallel", plans.join(", "));
                vec![Report::Note { text }]
            }
            (Effect::CheckPlan { plan }, Outcome::Undone { task, reason }) => {
                let text = format!("plan {plan}: task {task} was undone: {reason}");
                vec![Report::Note { text }]
            }
            (
                Effect::ClosePlan { plan, began },
                Outcome::Committed { .. } | Outcome::Closed { .. },
            ) => {
                let (commit, decisions) = outcome.closing();
                let total = self.snapshot.as_ref().map_or(0, |found| found.plans.len());
                let minutes = now.saturating_sub(*began) / 60_000;
                let done = self.plans.done.len() + 1;
                vec![
                    Report::PlanDone { plan: plan.clone(), commit, minutes, decisions },
                    Report::Plans { done, total },
                ]
            }
            (Effect::ClosePhase, Outcome::Closed { decisions, .. }) if !decisions.is_empty() => {
                vec![Report::Decisions { decisions: decisions.clone() }]
            }
            _ => Vec::new(),
        }
    }

    /// Returns the reports about the plans that an inspection found: the new ones, and their number.
    fn reports_of_plans(&self, found: &PhaseSnapshot) -> Vec<Report> {
        let is_new =
            |id: &String| self.plans.known.as_ref().is_some_and(|known| !known.contains(id));
        let new = found.plans.iter().map(|plan| &plan.id).filter(|id| is_new(id));
        let mut reports: Vec<_> =
            new.map(|plan| Report::PlanCreated { plan: plan.clone() }).collect();
        if self.stage == Some(Stage::Execute) {
            let done = found.plans.iter().filter(|plan| plan.done).count();
            reports.push(Report::Plans { done, total: found.plans.len() });
        }
        reports
    }

    /// Applies the outcome of an effect.
    fn effect_finished(&mut self, effect: &Effect, outcome: &Outcome) {
        match (effect, outcome) {
            (Effect::Checkpoint { .. }, _) => self.lifecycle.reach(EndingStep::Checkpointed),
            (Effect::Inspect, Outcome::Inspected { found }) => self.update_snapshot(found),
            (Effect::Inspect, Outcome::Failed { reason }) => {
                self.retries.failed_inspections += 1;
                self.retries.problem = Some(reason.clone());
            }
            (Effect::CheckFileScopes { .. }, Outcome::Failed { reason }) => {
                self.parallel.failure = Some(reason.clone());
            }
            (Effect::CheckPlan { plan }, Outcome::Undone { task, reason }) => {
                self.plans.undo_from(plan, *task);
                self.plan_failed(plan, reason);
            }
            (_, Outcome::Failed { reason }) => match effect.plan() {
                Some(plan) => self.plan_failed(plan, reason),
                None => self.retries.count_failure(reason),
            },
            // An interrupted effect has not failed: it is repeated, now or by the next attempt.
            (_, Outcome::Interrupted) => {}
            _ => {
                self.retries.reset();
                effect.plan().map(|plan| self.plans.failures.remove(plan));
                self.effect_succeeded(effect, outcome);
            }
        }
        if matches!(effect, Effect::RunRole { .. } | Effect::WriteContext { .. }) {
            self.snapshot = None;
        }
    }

    /// Counts a failure of a plan. A plan that ran in parallel continues alone afterwards.
    fn plan_failed(&mut self, plan: &str, reason: &str) {
        self.plans.count_failure(plan, reason);
        if self.parallel.group.contains(plan) {
            self.parallel.excluded.insert(plan.to_owned());
            self.stop_plan(plan);
        }
    }

    /// Stops a plan. While a parallel group runs, the plan stays a member of the group.
    fn stop_plan(&mut self, plan: &str) {
        self.plans.started.remove(plan);
        self.parallel.stop_plan(plan);
    }

    fn effect_succeeded(&mut self, effect: &Effect, outcome: &Outcome) {
        match (effect, outcome) {
            (Effect::RunRole { role, .. }, outcome) => self.role_finished(*role, outcome),
            (Effect::Freeze, _) => self.plans.is_frozen = true,
            (Effect::CheckCompletePlans, outcome) => self.complete_plans_checked(outcome),
            (Effect::RunTask { plan, task, .. }, Outcome::Blocked { text }) => {
                self.plans.blocked.insert(plan.clone(), (*task, text.clone()));
                self.stop_plan(plan);
            }
            (Effect::RunTask { plan, task, parallel }, _) => {
                self.plans.finish_task(plan, *task);
                if *parallel {
                    self.plans.unchecked.insert(plan.clone());
                }
            }
            (Effect::PrepareParallel { plans }, _) => {
                self.parallel.group = ParallelGroup::running(plans.iter().cloned().collect());
            }
            (Effect::CheckFileScopes { .. }, _) => {
                let started = &self.plans.started;
                self.parallel.begin_closing(|plan| started.contains_key(plan));
            }
            (Effect::CheckPlan { plan }, _) => {
                self.plans.unchecked.remove(plan);
            }
            (Effect::ClosePlan { plan, .. }, _) => {
                self.plans.done.insert(plan.clone());
                self.stop_plan(plan);
            }
            (
                Effect::ClosePhase,
                Outcome::Committed { commit: Some(commit) }
                | Outcome::Closed { commit: Some(commit), .. },
            ) => {
                self.lifecycle.final_commit = Some(commit.clone());
            }
            _ => {}
        }
    }

    fn role_finished(&mut self, role: Role, outcome: &Outcome) {
        self.roles.finished = Some(role);
        match (role, outcome) {
            (Role::PlanChecker, Outcome::Verdict { verdict: Verdict::Passed }) => {
                self.roles.plans_checked = true;
            }
            (Role::PlanChecker, Outcome::Verdict { .. }) => {
                self.roles.rounds += 1;
                self.roles.finished = None;
            }
            (Role::Verifier, Outcome::Verdict { verdict }) => {
                self.refinement.verdict = Some(verdict.clone());
            }
            (Role::Planner, _) if self.stage == Some(Stage::Refine) => {
                self.refinement.reach(GapClosing::Planned);
            }
            _ => {}
        }
    }

    fn update_snapshot(&mut self, found: &PhaseSnapshot) {
        self.plans.known = Some(found.plans.iter().map(|plan| plan.id.clone()).collect());
        self.plans.done =
            found.plans.iter().filter(|plan| plan.done).map(|plan| plan.id.clone()).collect();
        for plan in found.plans.iter().filter(|plan| !plan.done) {
            let tasks = self.plans.tasks_done.entry(plan.id.clone()).or_default();
            tasks.extend(&plan.tasks_done);
            if plan.unchecked {
                self.plans.unchecked.insert(plan.id.clone());
            }
            if plan.alone {
                self.parallel.excluded.insert(plan.id.clone());
            }
        }
        self.lifecycle.has_inspected = true;
        self.snapshot = Some(found.clone());
    }

    fn report(&mut self, report: &Report, at: u64) {
        match report {
            Report::Stage { from, to, .. } => {
                if *from == Some(Stage::Refine) {
                    self.refinement.reach(GapClosing::Executing);
                }
                self.stage = Some(*to);
                self.snapshot = None;
                self.roles.finished = None;
                self.retries.reset();
                // Going back to execute means that there are new plans.
                self.plans.is_frozen &= *to != Stage::Execute;
            }
            Report::PlanStarted { plan, .. } => {
                self.plans.started.insert(plan.clone(), at);
            }
            Report::TaskDone { plan, task, .. } => {
                self.plans.finish_task(plan, *task);
            }
            Report::Blocked { .. } => self.blocker_ack.begin(at),
            Report::Asked { ask } => {
                self.questions.asked.insert(ask.key.clone());
            }
            Report::Agents { .. } => self.parallel.agents_confirmed(),
            _ => {}
        }
        if report.is_last() {
            self.lifecycle.reach(EndingStep::Ended);
            self.lifecycle.end = live_status::end_word(report);
        }
    }
}
