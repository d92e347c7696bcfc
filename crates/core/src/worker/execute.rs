//! The execute stage: plans in waves, tasks in order, people and blockers on the way.

use super::next::{FAIL, Next, RETRY, ask_again};
use super::{Effect, Found, FoundPlan, FoundTask, Worker};
use crate::item::{Ask, ItemKind};
use crate::report::Report;

/// An answer to a checkpoint that ends the phase.
const REJECTED: &str = "rejected";

pub(super) fn execute(worker: &Worker, found: &Found) -> Next {
    if !worker.frozen {
        let problem = worker.problem.clone().filter(|_| worker.tries > 0);
        return problem.map_or(Next::Do(Effect::Freeze), Next::Fail);
    }
    let current = worker.plan.as_ref();
    let plan = current.and_then(|(id, _)| found.plans.iter().find(|plan| plan.id == *id));
    if let Some(plan) = plan {
        return go_on(worker, found, plan);
    }
    if found.settings.strict && !worker.blocked.is_empty() {
        return ask_about_blockers(worker);
    }
    if let Some(plan) = available(worker, found) {
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

/// Returns the first plan that may begin: what it depends on and all earlier waves are complete.
fn available<'a>(worker: &Worker, found: &'a Found) -> Option<&'a FoundPlan> {
    let is_done = |id: &String| worker.plans_done.contains(id);
    let open = found.plans.iter().filter(|plan| !is_done(&plan.id));
    let wave = open.clone().map(|plan| plan.wave).min()?;
    let known = |id: &&String| found.plans.iter().any(|plan| plan.id == **id);
    open.filter(|plan| plan.wave == wave && !worker.blocked.contains_key(&plan.id))
        .find(|plan| plan.depends_on.iter().filter(known).all(is_done))
}

fn go_on(worker: &Worker, found: &Found, plan: &FoundPlan) -> Next {
    let is_done =
        |task: &usize| worker.tasks_done.get(&plan.id).is_some_and(|done| done.contains(task));
    let Some(at) = (1..=plan.tasks.len()).find(|task| !is_done(task)) else {
        return close(worker, plan);
    };
    if worker.tries >= found.settings.tries_max.max(1) {
        let problem = worker.problem.as_deref().unwrap_or("it did not work");
        return Next::Fail(format!("plan {}, task {at}: {problem}", plan.id));
    }
    let stem = blocker(worker, &plan.id, at);
    if worker.answers_to(&stem).last().is_some_and(|answer| answer.text == FAIL) {
        return Next::Fail(format!("plan {}, task {at}: a person gave it up", plan.id));
    }
    let task = &plan.tasks[at - 1];
    match &task.question {
        Some(question) => ask_at_checkpoint(worker, plan, (at, task), question),
        None => Next::Do(Effect::RunTask { plan: plan.id.clone(), task: at }),
    }
}

fn close(worker: &Worker, plan: &FoundPlan) -> Next {
    if worker.tries > 1 {
        let problem = worker.problem.as_deref().unwrap_or("it cannot be closed");
        return Next::Fail(format!("plan {}: {problem}", plan.id));
    }
    let began = worker.plan.as_ref().map_or(0, |(_, began)| *began);
    Next::Do(Effect::ClosePlan { plan: plan.id.clone(), began })
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
fn ask_about_blockers(worker: &Worker) -> Next {
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
fn blocker(worker: &Worker, plan: &str, task: usize) -> String {
    format!("{}/blocker/{plan}/{task}", worker.phase())
}
