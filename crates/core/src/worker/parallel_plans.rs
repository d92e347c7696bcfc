//! Runs plans with disjoint file scopes in parallel in one worktree.
//!
//! While they run, each task commits only files within the scope of its plan, and no checks run. When
//! all have stopped, the worker looks for changes outside the scopes. Then it runs the checks on the
//! clean tree and closes the plans, one after the other.

use super::execute;
use super::next_step::{FAIL, NextStep};
use super::state::ParallelGroup;
use super::{Effect, PhaseSnapshot, PlanSnapshot, Worker};
use crate::file_scope;
use crate::report::Report;

/// Returns the plans that may now run in parallel, beginning with the first that may begin; fewer than
/// two mean none.
pub(super) fn group(worker: &Worker, found: &PhaseSnapshot) -> Vec<String> {
    if !found.settings.side_by_side || worker.parallel.agents_max < 2 {
        return Vec::new();
    }
    let mut taken: Vec<String> = Vec::new();
    let mut group = Vec::new();
    for plan in execute::available(worker, found) {
        match files(worker, plan) {
            Some(files) if file_scope::common_path(&taken, &files).is_none() => {
                taken.extend(files);
                taken.sort_unstable();
                group.push(plan.id.clone());
            }
            // The first plan in order is not overtaken.
            _ if group.is_empty() => break,
            _ => {}
        }
    }
    group
}

/// Returns the file scope of a plan that can run in parallel; `None` for other plans.
fn files(worker: &Worker, plan: &PlanSnapshot) -> Option<Vec<String>> {
    let open = || (1..=plan.tasks.len()).filter(|task| !worker.plans.is_task_done(&plan.id, *task));
    let is_given_up = |task: usize| {
        let mut answers = worker.answers_about(|topic| execute::is_blocker(topic, &plan.id, task));
        answers.next_back().is_some_and(|answer| answer.text == FAIL)
    };
    let needs_person = |task: usize| plan.tasks[task - 1].question.is_some() || is_given_up(task);
    let can_run = !worker.parallel.excluded.contains(&plan.id)
        && open().next().is_some()
        && !open().any(needs_person);
    file_scope::plain_paths(&plan.files).filter(|_| can_run)
}

/// Returns the next step while plans run in parallel.
pub(super) fn go_on(worker: &Worker, found: &PhaseSnapshot) -> NextStep {
    let plans: Vec<_> =
        found.plans.iter().filter(|plan| worker.parallel.group.contains(&plan.id)).collect();
    let is_stopped = worker.is_stopped_by_blocker(found);
    let is_closing = matches!(worker.parallel.group, ParallelGroup::Closing(_));
    if !is_closing
        && !is_stopped
        && let Some(next) = begin(worker, &plans)
    {
        return next;
    }
    if !worker.effects.is_empty() {
        return NextStep::Wait;
    }
    if is_stopped {
        return execute::pause_for_blockers(worker);
    }
    if !is_closing {
        return NextStep::Run(Effect::CheckFileScopes {
            plans: worker.parallel.group.plans().cloned().collect(),
        });
    }
    match plans.first() {
        Some(plan) => execute::close(worker, plan),
        // The plan files were deleted while the plans ran.
        None => NextStep::Fail("the files of the parallel plans are missing".to_owned()),
    }
}

/// Begins the next task of a plan that has no running task.
fn begin(worker: &Worker, plans: &[&PlanSnapshot]) -> Option<NextStep> {
    if worker.effects.running.len() >= worker.parallel.agents_max {
        return None;
    }
    let is_busy = |id: &str| worker.effects.has_plan(id);
    let is_stopped = |id: &String| {
        worker.plans.blocked.contains_key(id) || worker.parallel.excluded.contains(id)
    };
    plans.iter().filter(|plan| !is_busy(&plan.id) && !is_stopped(&plan.id)).find_map(|plan| {
        let open =
            (1..=plan.tasks.len()).find(|task| !worker.plans.is_task_done(&plan.id, *task))?;
        let id = plan.id.clone();
        Some(if worker.plans.started.contains_key(&id) {
            NextStep::Run(Effect::RunTask { plan: id, task: open, parallel: true })
        } else {
            NextStep::Report(Report::PlanStarted { plan: id, tasks: plan.tasks.len() })
        })
    })
}
