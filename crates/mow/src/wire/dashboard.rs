//! The output of `mow dashboard --json`.

use mow_core::dashboard::AutoAdvance;
use serde::Serialize;

use super::VERSION;
use super::ps::RunSummaryJson;

/// What the dashboard would draw, in numbers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DashboardJson {
    /// The version of this format.
    v: u32,
    /// The number of lines.
    lines: usize,
    /// The number of events.
    events: usize,
    /// The number of notices that wait for a person.
    pinned: usize,
    /// The number of active phases.
    phases: usize,
    /// The progress of auto-advance, if it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    auto_advance: Option<AutoAdvanceJson>,
    /// The newest run, unless it is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunSummaryJson>,
}

/// The numbers of a drawing. The contract fixes its keys.
#[derive(Debug, Serialize)]
pub(crate) struct DrawingCounts {
    pub(crate) lines: usize,
    pub(crate) events: usize,
    pub(crate) pinned: usize,
    pub(crate) phases: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) auto_advance: Option<AutoAdvanceJson>,
}

/// The progress of auto-advance, which runs all phases of a milestone in turn.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AutoAdvanceJson {
    /// Always true.
    active: bool,
    /// The number of the current phase.
    current_phase: String,
    /// The number of phases in the milestone.
    total_phases: usize,
    /// The number of finished phases.
    completed_phases: usize,
    /// The percentage of finished phases.
    milestone_percent: u64,
}

impl DashboardJson {
    pub(crate) fn new(counts: DrawingCounts, run: Option<RunSummaryJson>) -> Self {
        let DrawingCounts { lines, events, pinned, phases, auto_advance } = counts;
        Self { v: VERSION, lines, events, pinned, phases, auto_advance, run }
    }
}

impl AutoAdvanceJson {
    pub(crate) fn of(progress: &AutoAdvance) -> Self {
        Self {
            active: true,
            current_phase: progress.phase.clone(),
            total_phases: progress.total,
            completed_phases: progress.done,
            milestone_percent: progress.percent(),
        }
    }
}
