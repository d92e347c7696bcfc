//! The output of `mow ps --json`, and the summary of a run in other outputs.

use mow_core::lead::{Hold, RunStatus};
use mow_core::view::{PhaseView, PlanView, RunView};
use serde::Serialize;

use super::VERSION;
use super::cost::SpendingJson;
use super::inbox::QuestionJson;
use crate::runs::{format_utc, resume_command};

/// The state of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PsJson {
    /// The version of this format.
    v: u32,
    /// The id of the run.
    run: String,
    /// The number of the journal record that the output stands on.
    seq: u64,
    /// The branch that the work is merged into.
    target: String,
    /// The process id of the lead; null when the run is stopped.
    lead: Option<u32>,
    /// The status of the run: `moving`, `waiting`, `failed` or `done`.
    standing: &'static str,
    /// Whether the run is done.
    over: bool,
    /// Whether the circuit breaker is open.
    breaker: bool,
    /// Whether workers are started: `none` (yes), `draining` or `stopping`.
    hold: &'static str,
    /// The number of merged phases.
    merged: usize,
    /// The number of phases that hold a slot.
    workers: usize,
    /// The most phases that may hold a slot.
    max_workers: usize,
    /// What agents have used, against the budget.
    cost: SpendingJson,
    /// The phases in roadmap order.
    phases: Vec<PhaseJson>,
    /// How many phases are not in the list.
    phases_left_out: usize,
    /// The open questions; those that hold up the most phases come first.
    questions: Vec<QuestionJson>,
    /// How many open questions are not in the list.
    questions_left_out: usize,
    /// The number of commands that no lead has processed yet.
    pending_commands: usize,
    /// Why the branch was not fast-forwarded, and the command that does it; null if it was.
    follow_refused: Option<[String; 2]>,
    /// The command that continues a stopped run.
    next: Option<String>,
}

/// A phase of a run.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PhaseJson {
    /// The number of the phase.
    phase: String,
    /// The title in the roadmap.
    name: String,
    /// The status, as one word.
    status: &'static str,
    /// The last attempt; 0 before the first.
    attempt: u32,
    /// The stage that a worker reported last.
    stage: Option<&'static str>,
    /// Whether the worker only does look-ahead work.
    looks_ahead: bool,
    /// The number of complete plans.
    plans_done: usize,
    /// The number of all plans.
    plans: usize,
    /// The first open plan.
    plan: Option<String>,
    /// Its current task, counted from 1.
    task: Option<usize>,
    /// Its number of tasks.
    tasks: Option<usize>,
    /// All open plans.
    at: Vec<OpenPlanJson>,
    /// The most agents that the phase may run at the same time; 0 without a worker.
    agents: usize,
    /// Whether the worker or its command seems stuck.
    stuck: bool,
    /// The process id of the worker; null when it is not alive.
    worker: Option<u32>,
    /// Whether the worker or any process that it started is alive.
    alive: bool,
    /// When the status was set, in UTC.
    since: String,
    /// When the first full attempt began, in UTC.
    started: Option<String>,
    /// Why the phase has its status.
    why: String,
    /// The dependencies that are not merged.
    waits_for: Vec<String>,
    /// The numbers of the open questions about the phase.
    questions: Vec<u32>,
    /// The wave, counted from 1.
    wave: usize,
    /// What the agents of the phase have used.
    cost: SpendingJson,
}

/// A plan in progress.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OpenPlanJson {
    /// The id of the plan.
    plan: String,
    /// The current task, counted from 1.
    task: usize,
    /// The number of tasks.
    tasks: usize,
}

/// A run in a few facts. It is part of contract outputs, so its keys are fixed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunSummaryJson {
    /// The id of the run.
    run: String,
    /// The process id of the lead; null when the run is stopped.
    lead: Option<u32>,
    /// The progress, for people.
    standing: String,
    /// The numbers of the open questions.
    questions: Vec<u32>,
    /// The command that continues the run when it is stopped.
    go_on: String,
}

impl PsJson {
    pub(crate) fn of(run: &RunView) -> Self {
        let refusal = run.refusal.clone();
        Self {
            v: VERSION,
            run: run.run.clone(),
            seq: run.seq,
            target: run.target.clone(),
            lead: run.lead,
            standing: standing(run.status),
            over: run.is_over,
            breaker: run.breaker_open,
            hold: match run.hold {
                Hold::None => "none",
                Hold::Draining => "draining",
                Hold::Stopping => "stopping",
            },
            merged: run.counts.merged,
            workers: run.counts.running,
            max_workers: run.counts.max_workers,
            cost: SpendingJson::of(&run.cost),
            phases: run.phases.iter().map(PhaseJson::of).collect(),
            phases_left_out: run.phases_left_out,
            questions: run.questions.iter().map(QuestionJson::of).collect(),
            questions_left_out: run.questions_left_out,
            pending_commands: run.queued_commands,
            follow_refused: refusal.map(|refusal| [refusal.reason, refusal.command]),
            next: (run.lead.is_none() && !run.is_over).then(|| resume_command(run)),
        }
    }
}

impl PhaseJson {
    fn of(phase: &PhaseView) -> Self {
        let open = |plan: &PlanView| OpenPlanJson {
            plan: plan.plan.clone(),
            task: plan.task(),
            tasks: plan.tasks,
        };
        let first = phase.open_plans.first();
        Self {
            phase: phase.number.to_string(),
            name: phase.name.clone(),
            status: phase.word(),
            attempt: phase.attempt,
            stage: phase.stage.map(mow_core::stage::Stage::name),
            looks_ahead: phase.looks_ahead.is_some(),
            plans_done: phase.plans_done,
            plans: phase.plans,
            plan: first.map(|plan| plan.plan.clone()),
            task: first.map(PlanView::task),
            tasks: first.map(|plan| plan.tasks),
            at: phase.open_plans.iter().map(open).collect(),
            agents: phase.agents,
            stuck: phase.is_stuck,
            worker: phase.worker.and_then(|worker| worker.pid),
            alive: phase.worker.is_some_and(|worker| worker.is_alive),
            since: format_utc(phase.since),
            started: phase.started.map(format_utc),
            why: phase.why.clone(),
            waits_for: phase.open_dependencies().map(|number| number.to_string()).collect(),
            questions: phase.questions.clone(),
            wave: phase.wave,
            cost: SpendingJson::of(&phase.cost),
        }
    }
}

impl RunSummaryJson {
    pub(crate) fn of(run: &RunView) -> Self {
        let mut questions: Vec<_> = run.questions.iter().map(|question| question.id).collect();
        // The contract has them in the order in which they were put.
        questions.sort_unstable();
        Self {
            run: run.run.clone(),
            lead: run.lead,
            standing: run.progress(),
            questions,
            go_on: resume_command(run),
        }
    }
}

/// Returns the word for the status of a run.
pub(crate) fn standing(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Moving => "moving",
        RunStatus::Done => "done",
        RunStatus::Waiting => "waiting",
        RunStatus::Failed => "failed",
    }
}
