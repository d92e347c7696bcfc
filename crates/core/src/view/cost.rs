//! What agents have used, as screens show it.

use std::collections::BTreeMap;

use crate::lead::Event;
use crate::money::{AgentSpending, Budget, Spending};
use crate::phase::PhaseNumber;
use crate::report::Report;

/// What agents have used, and the most that they may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostView {
    /// Tokens and dollars.
    pub spent: Spending,
    /// The limits; none for a single phase.
    pub budget: Budget,
}

/// One run of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRunView {
    /// When the agent ended, in milliseconds since 1970.
    pub at: u64,
    /// The phase that is charged.
    pub phase: PhaseNumber,
    /// The role, agent, model, duration, tokens and dollars.
    pub spent: AgentSpending,
}

/// The sum over some runs of agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageSum {
    /// Tokens and dollars.
    pub spent: Spending,
    /// The number of runs.
    pub agent_runs: usize,
}

/// What the agents of a run have used, by phase, plan, role and agent run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CostReport {
    /// The sum over all.
    pub total: UsageSum,
    /// The sums by phase.
    pub phases: BTreeMap<PhaseNumber, UsageSum>,
    /// The sums by plan; agents that work on no plan are not in it.
    pub plans: BTreeMap<String, UsageSum>,
    /// The sums by role.
    pub roles: BTreeMap<String, UsageSum>,
    /// Every run of an agent, oldest first.
    pub agent_runs: Vec<AgentRunView>,
}

impl CostReport {
    /// Adds what an event says about the use of an agent.
    pub fn add(&mut self, event: &Event, at: u64) {
        let (phase, spent) = match event {
            Event::Reported { phase, report: Report::Spent(spent), .. }
            | Event::Spent { phase, spent } => (*phase, spent),
            _ => return,
        };
        self.total.add(spent);
        self.phases.entry(phase).or_default().add(spent);
        self.roles.entry(spent.role.clone()).or_default().add(spent);
        if let Some(plan) = spent.plan.as_ref().filter(|plan| !plan.is_empty()) {
            self.plans.entry(plan.clone()).or_default().add(spent);
        }
        self.agent_runs.push(AgentRunView { at, phase, spent: spent.clone() });
    }
}

impl UsageSum {
    fn add(&mut self, spent: &AgentSpending) {
        self.spent += spent.money;
        self.agent_runs += 1;
    }
}
