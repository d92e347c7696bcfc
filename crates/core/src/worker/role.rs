//! The jobs that agents do in a phase.

use serde::{Deserialize, Serialize};

/// A job that an agent does, or a command in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Finds out what a person has to decide.
    Discusser,
    /// Finds out what a phase needs.
    Researcher,
    /// Writes the plans.
    Planner,
    /// Reads the plans.
    PlanChecker,
    /// Carries out a plan.
    Executor,
    /// Checks the result.
    Verifier,
}

impl Role {
    /// All roles.
    pub const ALL: [Self; 6] = [
        Self::Discusser,
        Self::Researcher,
        Self::Planner,
        Self::PlanChecker,
        Self::Executor,
        Self::Verifier,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Discusser => "discusser",
            Self::Researcher => "researcher",
            Self::Planner => "planner",
            Self::PlanChecker => "plan-checker",
            Self::Executor => "executor",
            Self::Verifier => "verifier",
        }
    }
}
