//! The output of `mow cost --json`, and costs in other outputs.

use mow_core::money::{AgentSpending, Spending};
use mow_core::phase::PhaseNumber;
use mow_core::view::{AgentRunView, CostReport, CostView, UsageSum};
use serde::Serialize;

use super::VERSION;
use crate::runs::format_utc;

/// What the agents of a run have used.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CostJson {
    /// The version of this format.
    v: u32,
    /// The id of the run.
    run: String,
    /// The sum over all agent runs.
    total: UsageJson,
    /// The sums by phase.
    phases: Vec<UsageJson>,
    /// The sums by plan.
    plans: Vec<UsageJson>,
    /// The sums by role.
    roles: Vec<UsageJson>,
    /// Every run of an agent, oldest first.
    agent_runs: Vec<AgentRunJson>,
}

/// A sum over agent runs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct UsageJson {
    /// The phase, in a list of sums by phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<String>,
    /// The plan, in a list of sums by plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// The role, in a list of sums by role.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    /// Dollars; null if no agent reported them.
    usd: Option<f64>,
    /// Tokens that models read, without those from their cache.
    input_tokens: u64,
    /// Tokens that models wrote.
    output_tokens: u64,
    /// Tokens that models read from their cache.
    cached_tokens: u64,
    /// The number of agent runs.
    agent_runs: usize,
}

/// One run of an agent.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AgentRunJson {
    /// Dollars; null if the agent did not report them.
    usd: Option<f64>,
    /// Tokens that the model read, without those from its cache.
    input_tokens: u64,
    /// Tokens that the model wrote.
    output_tokens: u64,
    /// Tokens that the model read from its cache.
    cached_tokens: u64,
    /// Always 1.
    agent_runs: usize,
    /// The phase that is charged.
    phase: String,
    /// The role of the agent.
    role: String,
    /// The plan that the agent worked on.
    plan: Option<String>,
    /// The configured name of the agent.
    agent: String,
    /// The model, if one was set.
    model: Option<String>,
    /// The duration in milliseconds.
    ms: u64,
    /// When the agent ended, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

/// What agents have used, against the budget.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SpendingJson {
    /// Dollars; null if no agent reported them.
    usd: Option<f64>,
    /// Tokens that count towards a budget.
    tokens: u64,
    /// The most dollars; null without a limit.
    budget_usd: Option<f64>,
    /// The most tokens; null without a limit.
    budget_tokens: Option<u64>,
}

impl CostJson {
    pub(crate) fn new(run: &str, report: &CostReport) -> Self {
        let by_phase = |(phase, sum): (&PhaseNumber, &UsageSum)| UsageJson {
            phase: Some(phase.to_string()),
            ..UsageJson::of(sum)
        };
        let by_plan = |(plan, sum): (&String, &UsageSum)| UsageJson {
            plan: Some(plan.clone()),
            ..UsageJson::of(sum)
        };
        let by_role = |(role, sum): (&String, &UsageSum)| UsageJson {
            role: Some(role.clone()),
            ..UsageJson::of(sum)
        };
        Self {
            v: VERSION,
            run: run.to_owned(),
            total: UsageJson::of(&report.total),
            phases: report.phases.iter().map(by_phase).collect(),
            plans: report.plans.iter().map(by_plan).collect(),
            roles: report.roles.iter().map(by_role).collect(),
            agent_runs: report.agent_runs.iter().map(AgentRunJson::of).collect(),
        }
    }
}

impl UsageJson {
    fn of(sum: &UsageSum) -> Self {
        let Spending { input, output, cached, .. } = sum.spent;
        Self {
            phase: None,
            plan: None,
            role: None,
            usd: dollars(&sum.spent),
            input_tokens: input,
            output_tokens: output,
            cached_tokens: cached,
            agent_runs: sum.agent_runs,
        }
    }
}

impl AgentRunJson {
    fn of(run: &AgentRunView) -> Self {
        Self { at: Some(format_utc(run.at)), ..Self::new(&run.phase, &run.spent) }
    }

    /// Makes the value of an agent run whose time is not known.
    pub(crate) fn new(phase: &PhaseNumber, spent: &AgentSpending) -> Self {
        let AgentSpending { role, plan, agent, model, ms, money } = spent.clone();
        Self {
            usd: dollars(&money),
            input_tokens: money.input,
            output_tokens: money.output,
            cached_tokens: money.cached,
            agent_runs: 1,
            phase: phase.to_string(),
            role,
            plan,
            agent,
            model,
            ms,
            at: None,
        }
    }
}

impl SpendingJson {
    pub(crate) fn of(cost: &CostView) -> Self {
        let limit = cost.budget.micro_usd;
        let limit = limit.map(|micro_usd| Spending { micro_usd, ..Spending::default() }.usd());
        Self {
            usd: dollars(&cost.spent),
            tokens: cost.spent.tokens(),
            budget_usd: limit,
            budget_tokens: cost.budget.tokens,
        }
    }
}

/// Returns the dollars; `None` if no agent reported any.
fn dollars(spent: &Spending) -> Option<f64> {
    (spent.micro_usd > 0).then(|| spent.usd())
}
