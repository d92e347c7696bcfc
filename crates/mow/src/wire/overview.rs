//! The output of `mow --json`.

use mow_core::view::RunView;
use mow_store::state::active_phases::ActivePhase;
use serde::Serialize;

use super::VERSION;
use crate::runs::resume_command;

/// The answer outside of a project.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NoPlanJson {
    /// The version of this format.
    v: u32,
    /// Always false: there is no plan here.
    planned: bool,
    /// The commands to run next.
    next: Vec<StepJson>,
}

/// The state of a project.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OverviewJson {
    /// The version of this format.
    pub(crate) v: u32,
    /// Whether there is a plan here; true.
    pub(crate) planned: bool,
    /// The name of the project.
    pub(crate) project: String,
    /// The directory of the project.
    pub(crate) root: String,
    /// The current milestone; null if the roadmap has none.
    pub(crate) milestone: Option<String>,
    /// The current phase and plan, as STATE.md has them.
    pub(crate) position: Option<PositionJson>,
    /// How many phases the roadmap has.
    pub(crate) phases: PhaseCountsJson,
    /// The newest run, unless it is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<UnfinishedRunJson>,
    /// The phases that STATE.md lists as running.
    pub(crate) running: Vec<ActivePhaseJson>,
    /// Phases of the run that are not in `running`, such as paused or failed ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) held: Vec<RunPhaseJson>,
    /// The phases that can start.
    pub(crate) ready: Vec<RoadmapPhaseJson>,
    /// The phases that wait for others.
    pub(crate) blocked: Vec<RoadmapPhaseJson>,
    /// The blockers that STATE.md lists.
    pub(crate) blockers: Vec<String>,
    /// What is wrong with the project.
    pub(crate) problems: Vec<String>,
    /// The command that fast-forwards the user's branch to the work of the last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) to_finish: Option<String>,
    /// The commands to run next.
    pub(crate) next: Vec<StepJson>,
}

/// A command and the reason to run it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StepJson {
    /// The command.
    pub(crate) command: String,
    /// What it does.
    pub(crate) why: String,
}

/// The current phase and plan.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PositionJson {
    /// The current phase.
    pub(crate) phase: Option<String>,
    /// Its name.
    pub(crate) phase_name: Option<String>,
    /// The number of phases.
    pub(crate) total_phases: Option<i64>,
    /// The current plan.
    pub(crate) plan: Option<String>,
    /// The number of plans of the phase.
    pub(crate) total_plans: Option<i64>,
    /// The status.
    pub(crate) status: Option<String>,
    /// The last activity.
    pub(crate) last_activity: Option<String>,
}

/// How many phases there are.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PhaseCountsJson {
    /// All phases.
    pub(crate) total: usize,
    /// Finished phases.
    pub(crate) done: usize,
    /// Phases that can start.
    pub(crate) ready: usize,
    /// Phases that wait for others.
    pub(crate) blocked: usize,
    /// Phases that are running.
    pub(crate) running: usize,
}

/// A phase in the table of STATE.md.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ActivePhaseJson {
    /// The number of the phase.
    phase: String,
    /// The name of the phase.
    name: String,
    /// The status, such as `executing`.
    status: String,
    /// The worker, or `--`.
    worker: String,
    /// Complete plans and all plans, such as `1/3`.
    plans: String,
    /// The time of the last change.
    last_update: String,
}

/// A phase that the run has begun.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RunPhaseJson {
    /// The number of the phase.
    pub(crate) number: String,
    /// The name of the phase.
    pub(crate) name: String,
    /// The state, for people.
    pub(crate) how: &'static str,
}

/// A phase that is ready or blocked.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RoadmapPhaseJson {
    /// The number of the phase.
    pub(crate) number: String,
    /// The name of the phase.
    pub(crate) name: String,
    /// The phases that it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting_on: Vec<String>,
}

/// A run that is not finished.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UnfinishedRunJson {
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
    /// The open questions.
    asks: Vec<OpenQuestionJson>,
}

/// A question that waits for an answer.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OpenQuestionJson {
    /// The number that people answer by.
    id: u32,
    /// The text.
    question: String,
}

impl NoPlanJson {
    pub(crate) fn new(next: Vec<StepJson>) -> Self {
        Self { v: VERSION, planned: false, next }
    }
}

impl StepJson {
    pub(crate) fn new(command: impl Into<String>, why: impl Into<String>) -> Self {
        Self { command: command.into(), why: why.into() }
    }
}

impl From<&ActivePhase> for ActivePhaseJson {
    fn from(row: &ActivePhase) -> Self {
        let ActivePhase { phase, name, status, worker, plans, last_update } = row.clone();
        Self { phase, name, status, worker, plans, last_update }
    }
}

impl UnfinishedRunJson {
    pub(crate) fn of(run: &RunView) -> Self {
        let ask = |question: &mow_core::view::QuestionView| OpenQuestionJson {
            id: question.id,
            question: question.question.clone(),
        };
        Self {
            run: run.run.clone(),
            lead: run.lead,
            standing: run.progress(),
            questions: run.questions.iter().map(|question| question.id).collect(),
            go_on: resume_command(run),
            asks: run.questions.iter().map(ask).collect(),
        }
    }
}
