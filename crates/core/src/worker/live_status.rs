//! What STATUS.md shows of an attempt: a pure function of the worker's state.

use super::{PlanSnapshot, Worker};
use crate::message::BlockerMode;
use crate::report::Report;
use crate::stage::Stage;

/// A plan that nobody has begun.
pub const NOT_STARTED: &str = "not started";
/// A plan whose tasks run, or of which some tasks are done.
pub const IN_PROGRESS: &str = "in progress";
/// A plan or a phase that is complete.
pub const COMPLETE: &str = "complete";
/// A plan or a phase that failed.
pub const FAILED: &str = "failed";
/// A phase that waits for a person.
pub const WAITING: &str = "waiting for input";
/// A phase whose worker has not begun its first stage.
pub const INITIALIZING: &str = "initializing";

/// What STATUS.md shows of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveStatus {
    /// The stage of the phase, or how the attempt ended.
    pub status: &'static str,
    /// The blocker mode; `None` until the settings are known.
    pub blocker_mode: Option<BlockerMode>,
    /// All plans; `None` while the phase is inspected.
    pub plans: Option<Vec<LivePlan>>,
}

/// What STATUS.md shows of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LivePlan {
    /// The id, such as `01-02`.
    pub id: String,
    /// The state of the plan.
    pub status: &'static str,
    /// When an open plan began in this attempt, in milliseconds since 1970.
    pub started: Option<u64>,
    /// The number of tasks that are done.
    pub tasks_done: usize,
    /// The number of all tasks.
    pub tasks: usize,
    /// The commit of the last task of a complete plan, if known.
    pub commit: Option<String>,
}

impl Worker {
    /// Returns what STATUS.md shows; `None` for a look-ahead, since the phase has not begun.
    pub fn live_status(&self) -> Option<LiveStatus> {
        self.brief.as_ref().filter(|brief| brief.through.is_none())?;
        let status = match self.lifecycle.end {
            Some(end) => end,
            None => self.stage.map_or(INITIALIZING, stage_word),
        };
        let found = self.snapshot.as_ref();
        let mode = found.map(|found| found.settings.strict);
        let mode = mode.map(|is_strict| match is_strict {
            true => BlockerMode::Strict,
            false => BlockerMode::Skip,
        });
        let all = found.map(|found| found.plans.iter().map(|plan| self.live_plan(plan)).collect());
        Some(LiveStatus { status, blocker_mode: mode, plans: all })
    }

    /// Returns what STATUS.md shows after the attempt. `end` is how the lead ended it, if it did.
    ///
    /// A worker that died without a last report has failed. What is complete stays complete.
    pub fn status_after_end(&self, end: Option<&'static str>) -> Option<LiveStatus> {
        let mut over = self.clone();
        over.effects.running.clear();
        let own = over.lifecycle.end;
        over.lifecycle.end = match own {
            Some(COMPLETE) => own,
            _ => end.or(own).or(Some(FAILED)),
        };
        over.live_status()
    }

    fn live_plan(&self, plan: &PlanSnapshot) -> LivePlan {
        let is_done = self.plans.done.contains(&plan.id);
        let tasks = plan.tasks.len();
        let count = (1..=tasks).filter(|task| self.plans.is_task_done(&plan.id, *task)).count();
        let status = if is_done { COMPLETE } else { self.open_plan_status(&plan.id, count > 0) };
        let started = self.plans.started.get(&plan.id).copied();
        LivePlan {
            id: plan.id.clone(),
            status,
            started: started.filter(|_| status != NOT_STARTED),
            tasks_done: if is_done { tasks } else { count },
            tasks,
            commit: plan.commit.clone().filter(|_| is_done),
        }
    }

    /// Returns the state of a plan that is not complete.
    fn open_plan_status(&self, id: &str, has_begun: bool) -> &'static str {
        let is_started = self.plans.started.contains_key(id);
        let has_failed = self.plans.failures.contains_key(id) && !self.effects.has_plan(id);
        if has_failed || is_started && self.lifecycle.end == Some(FAILED) {
            return FAILED;
        }
        let is_at_rest = self.lifecycle.end.is_some_and(|end| end != WAITING);
        if has_begun || is_started && !is_at_rest { IN_PROGRESS } else { NOT_STARTED }
    }
}

/// Returns the status of a phase after the last report of an attempt.
pub(super) fn end_word(report: &Report) -> Option<&'static str> {
    match report {
        Report::Complete { .. } => Some(COMPLETE),
        Report::Failed { .. } => Some(FAILED),
        Report::Stopped { how } => Some(how.name()),
        Report::Parked => Some(WAITING),
        // The phase waits until other phases leave its files alone.
        Report::Planned { waits: true, .. } | Report::LookaheadDone { .. } => Some(NOT_STARTED),
        _ => None,
    }
}

/// Returns the status of a phase in a stage, as STATE.md has it, too.
fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Discuss => "discussing",
        Stage::Research => "researching",
        Stage::Plan => "planning",
        Stage::Execute => "executing",
        Stage::Refine => "refining",
    }
}
