//! The roles that agents have in a phase.

use serde::{Deserialize, Serialize};

/// A job in a phase that an agent does, or a configured command instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Finds questions that a person has to answer; runs in the discuss stage.
    Discusser,
    /// Writes RESEARCH.md.
    Researcher,
    /// Writes the PLAN.md files.
    Planner,
    /// Accepts or refuses the plans.
    PlanChecker,
    /// Carries out the tasks of a plan.
    Executor,
    /// Checks the result against the goal; writes VERIFICATION.md.
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

    /// Returns the name that settings, prompts and logs use.
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
