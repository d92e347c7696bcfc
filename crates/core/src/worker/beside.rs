//! Plans side by side: several at a time in one worktree, none in the way of another.
//!
//! While they run, each task is committed with what its plan says it changes, and nothing is
//! checked. When all of them are at rest, the worker looks for what they changed without having said
//! so; then it runs their checks on the clean tree and closes them, one after the other.

use super::execute;
use super::next::{FAIL, Next};
use super::{Effect, Found, FoundPlan, Worker};
use crate::report::Report;
use crate::touch;

/// Returns the plans that may now run side by side, beginning with the first that may begin at all;
/// fewer than two mean none.
pub(super) fn group(worker: &Worker, found: &Found) -> Vec<String> {
    if !found.settings.side_by_side || agents(worker) < 2 {
        return Vec::new();
    }
    let mut taken: Vec<String> = Vec::new();
    let mut group = Vec::new();
    for plan in execute::available(worker, found) {
        match files(worker, plan) {
            Some(files) if touch::common(&taken, &files).is_none() => {
                taken.extend(files);
                taken.sort_unstable();
                group.push(plan.id.clone());
            }
            // What comes first in order is not overtaken.
            _ if group.is_empty() => break,
            _ => {}
        }
    }
    group
}

/// Returns what a plan changes, if it can run beside others.
fn files(worker: &Worker, plan: &FoundPlan) -> Option<Vec<String>> {
    let open = || (1..=plan.tasks.len()).filter(|task| !worker.is_done(&plan.id, *task));
    let is_given_up = |task: usize| {
        let stem = execute::blocker(worker, &plan.id, task);
        worker.answers_to(&stem).last().is_some_and(|answer| answer.text == FAIL)
    };
    let needs_person = |task: usize| plan.tasks[task - 1].question.is_some() || is_given_up(task);
    let fits =
        !worker.alone.contains(&plan.id) && open().next().is_some() && !open().any(needs_person);
    touch::plain(&plan.files).filter(|_| fits)
}

fn agents(worker: &Worker) -> usize {
    worker.brief.as_ref().map_or(1, |brief| brief.agents)
}

/// Returns what comes next while plans run side by side.
pub(super) fn go_on(worker: &Worker, found: &Found) -> Next {
    let plans: Vec<_> =
        found.plans.iter().filter(|plan| worker.beside.contains(&plan.id)).collect();
    let is_stopped = found.settings.strict && !worker.blocked.is_empty();
    if !worker.gathered
        && !is_stopped
        && let Some(next) = begin(worker, &plans)
    {
        return next;
    }
    if !worker.busy.is_empty() {
        return Next::Wait;
    }
    if is_stopped {
        return execute::ask_about_blockers(worker);
    }
    if !worker.gathered {
        return Next::Do(Effect::Gather { plans: worker.beside.iter().cloned().collect() });
    }
    match plans.first() {
        Some(plan) => execute::close(worker, plan),
        // The files of a plan vanished while it ran.
        None => Next::Fail("the plans that ran side by side are gone".to_owned()),
    }
}

/// Begins the next task of a plan that is not at one.
fn begin(worker: &Worker, plans: &[&FoundPlan]) -> Option<Next> {
    if worker.busy.len() >= agents(worker) {
        return None;
    }
    let is_busy = |id: &str| worker.busy.values().any(|effect| effect.plan() == Some(id));
    let rests = |id: &String| worker.blocked.contains_key(id) || worker.alone.contains(id);
    plans.iter().filter(|plan| !is_busy(&plan.id) && !rests(&plan.id)).find_map(|plan| {
        let open = (1..=plan.tasks.len()).find(|task| !worker.is_done(&plan.id, *task))?;
        let id = plan.id.clone();
        Some(if worker.plans.contains_key(&id) {
            Next::Do(Effect::RunTask { plan: id, task: open, beside: true })
        } else {
            Next::Say(Report::PlanStarted { plan: id, tasks: plan.tasks.len() })
        })
    })
}
