//! A phase as every screen shows it.

use super::{CostView, RunFacts, bounded};
use crate::color::{ColorPair, phase_colors};
use crate::lead::{Lead, PhaseState, Status};
use crate::phase::PhaseNumber;
use crate::stage::Stage;
use crate::team_color::{TeamColor, worker_color};

/// Whether the worker of a phase lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerFacts {
    /// The process id of the worker; `None` when it is not alive or not known.
    pub pid: Option<u32>,
    /// Whether the worker or any process that it started is alive.
    pub is_alive: bool,
}

/// A phase of a run as every screen shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseView {
    /// The number that the roadmap gives the phase.
    pub number: PhaseNumber,
    /// The title in the roadmap.
    pub name: String,
    /// The status; `word`, `phrase`, `sign` and `tone` say it to people.
    pub status: Status,
    /// Why the phase has its status; for a waiting phase, what it waits for.
    pub why: String,
    /// When the status was set, in milliseconds since 1970.
    pub since: u64,
    /// When the first full attempt began, in milliseconds since 1970.
    pub started: Option<u64>,
    /// The last attempt that was begun; 0 before the first.
    pub attempt: u32,
    /// The stage that a worker reported last.
    pub stage: Option<Stage>,
    /// The last stage of an attempt that runs and only looks ahead.
    pub looks_ahead: Option<Stage>,
    /// The number of complete plans.
    pub plans_done: usize,
    /// The number of all plans.
    pub plans: usize,
    /// The plans that a worker carries out now.
    pub open_plans: Vec<PlanView>,
    /// How many such plans are not in the list.
    pub open_plans_left_out: usize,
    /// What agents decided in complete plans, each text once.
    pub decisions: Vec<String>,
    /// The plans of this run that are complete; the last ones, if there are too many.
    pub finished_plans: Vec<FinishedPlanView>,
    /// The number of the worker among those that run, counted from one; `None` without a worker.
    pub worker_number: Option<usize>,
    /// The most agents that the worker may run at a time; 0 without a worker.
    pub agents: usize,
    /// What the agents of the phase have used.
    pub cost: CostView,
    /// The phases that must be merged first.
    pub waits_for: Vec<WaitView>,
    /// How many such phases are not in the list.
    pub waits_for_left_out: usize,
    /// The numbers of the open questions about the phase.
    pub questions: Vec<u32>,
    /// How many open questions are not in the list.
    pub questions_left_out: usize,
    /// Whether the worker or its command seems stuck.
    pub is_stuck: bool,
    /// The wave of the phase, counted from one.
    pub wave: usize,
    /// The colours of the phase on all screens.
    pub colors: ColorPair,
    /// The worker, if it was looked for.
    pub worker: Option<WorkerFacts>,
}

/// A plan that is being carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanView {
    /// The id of the plan.
    pub plan: String,
    /// The number of finished tasks.
    pub tasks_done: usize,
    /// The number of all tasks.
    pub tasks: usize,
}

/// A plan that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedPlanView {
    /// The id of the plan.
    pub plan: String,
    /// From its start to its end, in milliseconds.
    pub duration_ms: u64,
    /// The number of its tasks; 0 if unknown.
    pub tasks: usize,
}

impl PlanView {
    /// Returns the number of the current task, counted from one.
    pub fn task(&self) -> usize {
        (self.tasks_done + 1).min(self.tasks)
    }
}

/// A phase that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitView {
    /// The phase that must be merged first.
    pub number: PhaseNumber,
    /// Its status.
    pub status: Status,
    /// The first open question about it.
    pub question: Option<u32>,
    /// The file that both change, if that is the reason; `None` for a dependency.
    pub file: Option<String>,
}

impl PhaseView {
    /// Returns the view of one phase; `None` if the run does not have it.
    pub fn of(lead: &Lead, number: PhaseNumber, facts: &RunFacts) -> Option<Self> {
        Some(Self::of_state(lead, lead.phases.get(&number)?, facts))
    }

    pub(super) fn of_state(lead: &Lead, state: &PhaseState, facts: &RunFacts) -> Self {
        let number = state.spec.number;
        let has_worker = state.status.holds_slot();
        // Open plans mean something only while a worker works on them.
        let plans = state.open_plans.iter().filter(|_| has_worker);
        let plans = plans.map(|(plan, &(tasks_done, tasks))| PlanView {
            plan: bounded::text(plan, bounded::NAME_MAX),
            tasks_done,
            tasks,
        });
        let (open_plans, open_plans_left_out) = bounded::list(plans, bounded::LIST_MAX);
        let (waits_for, waits_for_left_out) =
            bounded::list(waits_for(lead, state), bounded::LIST_MAX);
        let (questions, questions_left_out) =
            bounded::list(lead.open_questions_about(number), bounded::LIST_MAX);
        Self {
            number,
            name: bounded::text(&state.spec.name, bounded::NAME_MAX),
            status: state.status,
            why: bounded::text(&lead.explain_status(state), bounded::TEXT_MAX),
            since: state.since,
            started: state.started,
            attempt: state.attempt,
            stage: state.stage,
            looks_ahead: state.through.filter(|_| state.looks_ahead()),
            plans_done: state.plans.0,
            plans: state.plans.1,
            open_plans,
            open_plans_left_out,
            decisions: state.decisions.clone(),
            finished_plans: finished_plans(state),
            worker_number: state.worker_number,
            agents: if has_worker { state.agents } else { 0 },
            cost: CostView { spent: state.spent, ..CostView::default() },
            waits_for,
            waits_for_left_out,
            questions,
            questions_left_out,
            is_stuck: lead.is_stuck(number),
            wave: state.wave,
            colors: phase_colors(&number),
            worker: facts.workers.get(&number).copied(),
        }
    }

    /// Returns the colour of the worker in the team; `None` without a worker.
    pub fn team_color(&self) -> Option<TeamColor> {
        self.worker_number.and_then(worker_color)
    }

    /// Returns the dependencies that are not merged.
    pub fn open_dependencies(&self) -> impl Iterator<Item = PhaseNumber> + '_ {
        self.waits_for.iter().filter(|wait| wait.file.is_none()).map(|wait| wait.number)
    }
}

fn finished_plans(state: &PhaseState) -> Vec<FinishedPlanView> {
    let finished = state.plan_times.iter().filter_map(|(plan, time)| {
        Some(FinishedPlanView {
            plan: bounded::text(plan, bounded::NAME_MAX),
            duration_ms: time.ended?.saturating_sub(time.started),
            tasks: time.tasks,
        })
    });
    let mut last: Vec<_> = finished.rev().take(bounded::LIST_MAX).collect();
    last.reverse();
    last
}

/// Returns the dependencies that are not merged, or else the phase that has the same files.
fn waits_for<'a>(lead: &'a Lead, state: &'a PhaseState) -> impl Iterator<Item = WaitView> + 'a {
    let wait = |other: &PhaseState, file| WaitView {
        number: other.spec.number,
        status: other.status,
        question: lead.open_questions_about(other.spec.number).next(),
        file,
    };
    let dependencies = state.spec.depends_on.iter().filter_map(|number| lead.phases.get(number));
    let open = dependencies.filter(|other| other.status != Status::Merged);
    let mut open = open.map(move |other| wait(other, None)).peekable();
    let may_overlap = state.status == Status::Waiting && open.peek().is_none();
    let overlap = may_overlap.then(|| lead.blocking_phase(state)).flatten();
    let overlap = overlap.and_then(|(number, path)| {
        let path = bounded::text(path, bounded::NAME_MAX);
        Some(wait(lead.phases.get(&number)?, Some(path)))
    });
    open.chain(overlap)
}
