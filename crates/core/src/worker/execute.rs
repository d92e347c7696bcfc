//! The execute stage: runs plans by wave and tasks in order, with checkpoints and blockers.
//!
//! Plans run one after the other, unless `parallel_plans.rs` finds some that can run in parallel.

use super::complete_plans;
use super::next_step::{FAIL, NextStep, RETRY, ask_again};
use super::parallel_plans;
use super::state::ParallelGroup;
use super::{Effect, PhaseSnapshot, PlanSnapshot, TaskSnapshot, Worker};
use crate::inbox::{InboxQuestion, QuestionKind, QuestionTopic};
use crate::report::Report;

/// How often closing a plan, or preparing parallel plans, is tried.
const CLOSE_TRIES: u32 = 2;
/// The answer to a checkpoint that ends the phase. Stored in journals.
const REJECTED: &str = "rejected";

pub(super) fn execute(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    if !worker.plans.is_frozen {
        let problem = worker.retries.problem.clone().filter(|_| worker.retries.tries > 0);
        return problem.map_or(NextStep::Run(Effect::Freeze), NextStep::Fail);
    }
    if let Some(reason) = exhausted(worker, found) {
        // Wait until the plans that run in parallel have stopped.
        return if worker.effects.is_empty() { NextStep::Fail(reason) } else { NextStep::Wait };
    }
    if let Some(step) = complete_plans::check(worker, found) {
        return step;
    }
    if worker.parallel.group != ParallelGroup::None {
        return parallel_plans::go_on(worker, found);
    }
    let current = found.plans.iter().find(|plan| worker.plans.started.contains_key(&plan.id));
    if let Some(plan) = current {
        return go_on(worker, plan);
    }
    if worker.is_stopped_by_blocker(found) {
        return pause_for_blockers(worker);
    }
    let group = parallel_plans::group(worker, found);
    if group.len() > 1 {
        return NextStep::Run(Effect::PrepareParallel { plans: group });
    }
    // An interrupted phase goes on with the plan in which it stopped.
    let stopped_in = found.checkpoint.as_ref().and_then(|checkpoint| checkpoint.plan.as_ref());
    let next = available(worker, found).find(|plan| Some(&plan.id) == stopped_in);
    if let Some(plan) = next.or_else(|| available(worker, found).next()) {
        let tasks = plan.tasks.len();
        return NextStep::Report(Report::PlanStarted { plan: plan.id.clone(), tasks });
    }
    let left: Vec<_> =
        found.plans.iter().filter(|plan| !worker.plans.done.contains(&plan.id)).collect();
    if left.is_empty() {
        let text = match found.plans.len() {
            1 => "1 plan complete".to_owned(),
            count => format!("{count} plans complete"),
        };
        return NextStep::StageDone(text);
    }
    if worker.plans.blocked.is_empty() {
        let ids: Vec<_> = left.iter().map(|plan| plan.id.as_str()).collect();
        return NextStep::Fail(format!(
            "plans depend on each other in a cycle: {}",
            ids.join(", ")
        ));
    }
    ask_about_blockers(worker)
}

/// Returns the plans that may begin: their dependencies and all earlier waves are complete.
pub(super) fn available<'a>(
    worker: &'a Worker,
    found: &'a PhaseSnapshot,
) -> impl Iterator<Item = &'a PlanSnapshot> {
    let is_done = |id: &String| worker.plans.done.contains(id);
    let open = found.plans.iter().filter(move |plan| !is_done(&plan.id));
    let wave = open.clone().map(|plan| plan.wave).min();
    let known = |id: &&String| found.plans.iter().any(|plan| plan.id == **id);
    open.filter(move |plan| {
        Some(plan.wave) == wave
            && !worker.plans.blocked.contains_key(&plan.id)
            && plan.depends_on.iter().filter(known).all(is_done)
    })
}

/// Returns why the phase fails: a plan has used up its tries, or parallel plans failed.
fn exhausted(worker: &Worker, found: &PhaseSnapshot) -> Option<String> {
    if let Some(reason) = &worker.parallel.failure {
        return Some(reason.clone());
    }
    if worker.retries.tries >= CLOSE_TRIES {
        return Some(worker.retries.last_problem());
    }
    worker.plans.failures.iter().find_map(|(id, (tries, problem))| {
        let plan = found.plans.iter().find(|plan| plan.id == *id)?;
        let open = (1..=plan.tasks.len()).find(|task| !worker.plans.is_task_done(id, *task));
        let (limit, place) = match open {
            Some(task) => (found.settings.tries_max.max(1), format!("plan {id}, task {task}")),
            None => (CLOSE_TRIES, format!("plan {id}")),
        };
        (*tries >= limit).then(|| format!("{place}: {problem}"))
    })
}

fn go_on(worker: &Worker, plan: &PlanSnapshot) -> NextStep {
    let Some(at) = (1..=plan.tasks.len()).find(|task| !worker.plans.is_task_done(&plan.id, *task))
    else {
        return close(worker, plan);
    };
    let mut blockers = worker.answers_about(|topic| is_blocker(topic, &plan.id, at));
    if blockers.next_back().is_some_and(|answer| answer.text == FAIL) {
        return NextStep::Fail(format!("plan {}, task {at}: a person gave it up", plan.id));
    }
    let task = &plan.tasks[at - 1];
    match &task.question {
        Some(question) => ask_at_checkpoint(worker, plan, (at, task), question),
        None => NextStep::Run(Effect::RunTask { plan: plan.id.clone(), task: at, parallel: false }),
    }
}

/// Closes a plan whose tasks are done, after its outstanding checks have run.
pub(super) fn close(worker: &Worker, plan: &PlanSnapshot) -> NextStep {
    let id = plan.id.clone();
    if worker.plans.unchecked.contains(&id) {
        return NextStep::Run(Effect::CheckPlan { plan: id });
    }
    let began = worker.plans.started.get(&id).copied().unwrap_or_default();
    NextStep::Run(Effect::ClosePlan { plan: id, began })
}

fn ask_at_checkpoint(
    worker: &Worker,
    plan: &PlanSnapshot,
    (at, task): (usize, &TaskSnapshot),
    question: &str,
) -> NextStep {
    let (phase, id) = (worker.phase(), &plan.id);
    let key = QuestionTopic::Checkpoint { plan: id.clone(), task: at }.of_phase(phase);
    match worker.answer_to(&key) {
        Some(answer) if answer.text == REJECTED => {
            NextStep::Fail(format!("plan {id}, task {at}: a person rejected it"))
        }
        Some(_) => NextStep::Report(Report::TaskDone { plan: id.clone(), task: at, commit: None }),
        None => {
            let question =
                format!("Phase {phase}, plan {id}, task {at} ({}): {question}", task.name);
            let ask = InboxQuestion::new(key, QuestionKind::Checkpoint, question);
            NextStep::Ask(vec![ask.with_choices(task.choices.clone())])
        }
    }
}

/// Stops because of a blocker: asks a person, once the lead has acknowledged the blocker.
pub(super) fn pause_for_blockers(worker: &Worker) -> NextStep {
    if worker.awaits_blocker_ack() { NextStep::Wait } else { ask_about_blockers(worker) }
}

/// Asks what to do about each blocked plan.
fn ask_about_blockers(worker: &Worker) -> NextStep {
    let phase = worker.phase();
    let mut all = Vec::new();
    for (plan, (task, text)) in &worker.plans.blocked {
        let is_same = |topic: &QuestionTopic| is_blocker(topic, plan, *task);
        let next = ask_again(worker, is_same, |time| {
            let topic = QuestionTopic::Blocker { plan: plan.clone(), task: *task, time };
            let question = format!("Phase {phase}, plan {plan}, task {task} is blocked: {text}");
            InboxQuestion::new(topic.of_phase(phase), QuestionKind::Blocker, question)
                .with_choices([RETRY, FAIL])
        });
        match next {
            NextStep::Ask(mut asks) => all.append(&mut asks),
            next => return next,
        }
    }
    NextStep::Ask(all)
}

/// Returns whether a question is about a blocked task.
pub(super) fn is_blocker(topic: &QuestionTopic, plan: &str, task: usize) -> bool {
    let is_blocker = matches!(topic, QuestionTopic::Blocker { .. });
    is_blocker && topic.plan() == Some(plan) && topic.task() == Some(task)
}
