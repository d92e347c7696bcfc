//! The execute stage: plans in waves, tasks in order, people and blockers on the way.
//!
//! One plan after the other, unless `beside.rs` finds some that can run at the same time.

use super::beside;
use super::next::{FAIL, Next, RETRY, ask_again};
use super::{Effect, Found, FoundPlan, FoundTask, Worker};
use crate::item::{Ask, ItemKind};
use crate::report::Report;

/// How often closing a plan, or making way for plans, is tried.
const CLOSE_TRIES: u32 = 2;
/// An answer to a checkpoint that ends the phase.
const REJECTED: &str = "rejected";

pub(super) fn execute(worker: &Worker, found: &Found) -> Next {
    if !worker.frozen {
        let problem = worker.problem.clone().filter(|_| worker.tries > 0);
        return problem.map_or(Next::Do(Effect::Freeze), Next::Fail);
    }
    if let Some(reason) = exhausted(worker, found) {
        // What other plans are at comes to its end before.
        return if worker.busy.is_empty() { Next::Fail(reason) } else { Next::Wait };
    }
    if !worker.beside.is_empty() {
        return beside::go_on(worker, found);
    }
    let current = found.plans.iter().find(|plan| worker.plans.contains_key(&plan.id));
    if let Some(plan) = current {
        return go_on(worker, plan);
    }
    if found.settings.strict && !worker.blocked.is_empty() {
        return ask_about_blockers(worker);
    }
    let group = beside::group(worker, found);
    if group.len() > 1 {
        return Next::Do(Effect::Clear { plans: group });
    }
    if let Some(plan) = available(worker, found).next() {
        let tasks = plan.tasks.len();
        return Next::Say(Report::PlanStarted { plan: plan.id.clone(), tasks });
    }
    let left: Vec<_> =
        found.plans.iter().filter(|plan| !worker.plans_done.contains(&plan.id)).collect();
    if left.is_empty() {
        return Next::Over(format!("{} plans complete", found.plans.len()));
    }
    if worker.blocked.is_empty() {
        let ids: Vec<_> = left.iter().map(|plan| plan.id.as_str()).collect();
        return Next::Fail(format!("plans wait for each other: {}", ids.join(", ")));
    }
    ask_about_blockers(worker)
}

/// Returns the plans that may begin: what they depend on and all earlier waves are complete.
pub(super) fn available<'a>(
    worker: &'a Worker,
    found: &'a Found,
) -> impl Iterator<Item = &'a FoundPlan> {
    let is_done = |id: &String| worker.plans_done.contains(id);
    let open = found.plans.iter().filter(move |plan| !is_done(&plan.id));
    let wave = open.clone().map(|plan| plan.wave).min();
    let known = |id: &&String| found.plans.iter().any(|plan| plan.id == **id);
    open.filter(move |plan| {
        Some(plan.wave) == wave
            && !worker.blocked.contains_key(&plan.id)
            && plan.depends_on.iter().filter(known).all(is_done)
    })
}

/// Returns why a plan is not tried any more, or why plans cannot run at all.
fn exhausted(worker: &Worker, found: &Found) -> Option<String> {
    if let Some(reason) = &worker.strayed {
        return Some(reason.clone());
    }
    if worker.tries >= CLOSE_TRIES {
        return Some(worker.problem.clone().unwrap_or_default());
    }
    worker.trouble.iter().find_map(|(id, (tries, problem))| {
        let plan = found.plans.iter().find(|plan| plan.id == *id)?;
        let open = (1..=plan.tasks.len()).find(|task| !worker.is_done(id, *task));
        let (limit, place) = match open {
            Some(task) => (found.settings.tries_max.max(1), format!("plan {id}, task {task}")),
            None => (CLOSE_TRIES, format!("plan {id}")),
        };
        (*tries >= limit).then(|| format!("{place}: {problem}"))
    })
}

fn go_on(worker: &Worker, plan: &FoundPlan) -> Next {
    let Some(at) = (1..=plan.tasks.len()).find(|task| !worker.is_done(&plan.id, *task)) else {
        return close(worker, plan);
    };
    let stem = blocker(worker, &plan.id, at);
    if worker.answers_to(&stem).last().is_some_and(|answer| answer.text == FAIL) {
        return Next::Fail(format!("plan {}, task {at}: a person gave it up", plan.id));
    }
    let task = &plan.tasks[at - 1];
    match &task.question {
        Some(question) => ask_at_checkpoint(worker, plan, (at, task), question),
        None => Next::Do(Effect::RunTask { plan: plan.id.clone(), task: at, beside: false }),
    }
}

/// Closes a plan whose tasks are done, once their checks have been run.
pub(super) fn close(worker: &Worker, plan: &FoundPlan) -> Next {
    let id = plan.id.clone();
    if worker.unchecked.contains(&id) {
        return Next::Do(Effect::CheckPlan { plan: id });
    }
    let began = worker.plans.get(&id).copied().unwrap_or_default();
    Next::Do(Effect::ClosePlan { plan: id, began })
}

fn ask_at_checkpoint(
    worker: &Worker,
    plan: &FoundPlan,
    (at, task): (usize, &FoundTask),
    question: &str,
) -> Next {
    let (phase, id) = (worker.phase(), &plan.id);
    let key = format!("{phase}/checkpoint/{id}/{at}");
    match worker.answers_to(&key).last() {
        Some(answer) if answer.text == REJECTED => {
            Next::Fail(format!("plan {id}, task {at}: a person rejected it"))
        }
        Some(_) => Next::Say(Report::TaskDone { plan: id.clone(), task: at, commit: None }),
        None => Next::Ask(vec![Ask {
            key,
            kind: ItemKind::Checkpoint,
            question: format!("Phase {phase}, plan {id}, task {at} ({}): {question}", task.name),
            choices: task.choices.clone(),
        }]),
    }
}

/// Asks what to do about everything that is in the way.
pub(super) fn ask_about_blockers(worker: &Worker) -> Next {
    let phase = worker.phase();
    let mut all = Vec::new();
    for (plan, (task, text)) in &worker.blocked {
        let stem = blocker(worker, plan, *task);
        let next = ask_again(worker, &stem, |key| Ask {
            key,
            kind: ItemKind::Blocker,
            question: format!("Phase {phase}, plan {plan}, task {task} is blocked: {text}"),
            choices: vec![RETRY.to_owned(), FAIL.to_owned()],
        });
        match next {
            Next::Ask(mut asks) => all.append(&mut asks),
            next => return next,
        }
    }
    Next::Ask(all)
}

/// Returns what the keys of questions about a blocked task begin with.
pub(super) fn blocker(worker: &Worker, plan: &str, task: usize) -> String {
    format!("{}/blocker/{plan}/{task}", worker.phase())
}
