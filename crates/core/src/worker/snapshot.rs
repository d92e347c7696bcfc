//! What an inspection finds of a phase: its settings, documents, plans and tasks.
//!
//! Stored in journals: the serialised names never change.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Verdict;
use super::complete_plans::CheckpointSnapshot;
use super::role::Role;
use crate::stage::Gates;

/// The settings of a phase, as the configuration has them when the phase is inspected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Whether there is a research stage.
    pub research: bool,
    /// Whether plans are checked.
    pub plan_check: bool,
    /// Whether there is a refine stage.
    pub verifier: bool,
    /// After which stages a person must approve.
    pub gates: Gates,
    /// Whether a blocker stops the whole phase, and not only its plan.
    pub strict: bool,
    /// How often a task is tried before the phase fails.
    pub tries_max: u32,
    /// The time limit of an attempt in milliseconds; `None` for none.
    pub wall_max_ms: Option<u64>,
    /// The roles for which an agent or a command is configured.
    pub roles: BTreeSet<Role>,
    /// Whether plans may run in parallel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side_by_side: bool,
    /// The first wait for an unavailable model in milliseconds; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_ms: Option<u64>,
    /// How long a worker in strict mode waits for the lead to acknowledge a blocker, in
    /// milliseconds; `None` when it does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocker_timeout_ms: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            research: true,
            plan_check: true,
            verifier: true,
            gates: Gates::None,
            strict: false,
            tries_max: 1,
            wall_max_ms: None,
            roles: BTreeSet::from([Role::Executor, Role::Verifier]),
            side_by_side: false,
            retry_ms: None,
            blocker_timeout_ms: None,
        }
    }
}

/// What an inspection of the worktree found of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSnapshot {
    /// The settings of the phase.
    pub settings: Settings,
    /// The goal in the roadmap.
    pub goal: String,
    /// The success criteria in the roadmap.
    pub criteria: Vec<String>,
    /// Whether the roadmap skips the discuss stage.
    pub skip_discuss: bool,
    /// Whether there is a CONTEXT.md.
    pub context: bool,
    /// Whether there is a RESEARCH.md.
    pub research: bool,
    /// The plans, ordered by wave and id.
    pub plans: Vec<PlanSnapshot>,
    /// The verdict in VERIFICATION.md; `None` without one.
    pub verification: Option<Verdict>,
    /// The checkpoint of an interrupted attempt; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Box<CheckpointSnapshot>>,
}

/// A plan as an inspection found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSnapshot {
    /// The id, such as `01-02`.
    pub id: String,
    /// The wave; plans of a wave run after all earlier waves are complete.
    pub wave: u32,
    /// The plans of this phase that must be complete before.
    pub depends_on: Vec<String>,
    /// The tasks, in order.
    pub tasks: Vec<TaskSnapshot>,
    /// Whether the plan is complete.
    pub done: bool,
    /// The tasks that are committed, counted from one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tasks_done: BTreeSet<usize>,
    /// Why the plan cannot be carried out; `None` when it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The file scope: files and directories that the plan names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The commit of the last task, of a complete plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether tasks are committed whose checks have not been run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// Whether a task was undone after a parallel run; the plan then runs alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
}

/// A task of a plan as an inspection found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSnapshot {
    /// The title of the task.
    pub name: String,
    /// The question to a person, for a checkpoint task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The allowed answers; empty for any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}
