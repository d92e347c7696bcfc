//! Builds what every job of a coding agent needs: environment, limits, prompt, and usage
//! accounting.
//!
//! The caller (a worker, or the lead for conflicts) decides what the job is about.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use mow_core::money::{AgentSpending, Budget, Spending};
use mow_host::agent::{Limits, Usage, environment as agent_environment};
use mow_prompts::{Prompt, PromptValues};
use mow_store::disk;

use crate::EngineError;
use crate::agent_config::AgentConfig;
use crate::run_context::RunContext;

/// Returns the environment of an agent: what agents need in general, the job's own variables, and
/// those of the settings, which come last and win.
pub(crate) fn environment(
    agent: &AgentConfig,
    job: Vec<(String, String)>,
) -> Vec<(OsString, OsString)> {
    let mut env = agent_environment::select(std::env::vars_os(), &agent.pass);
    let added = job.into_iter().chain(agent.env.iter().cloned());
    env.extend(added.map(|(name, value)| (name.into(), value.into())));
    env
}

/// Returns the limits of an agent: what is left of the budget, and the time limit `wall`.
pub(crate) fn limits(budget: &Budget, spent: &Spending, wall: Option<Duration>) -> Limits {
    let left = |micro_usd: u64| Spending {
        micro_usd: micro_usd.saturating_sub(spent.micro_usd),
        ..Spending::default()
    };
    Limits {
        usd: budget.micro_usd.map(|most| left(most).usd()),
        tokens: budget.tokens.map(|most| most.saturating_sub(spent.tokens())),
        wall,
        ..Limits::default()
    }
}

/// Returns a message if a phase has used up its budget; `again` is the command to repeat then.
pub(crate) fn over_budget(budget: &Budget, spent: &Spending, again: &str) -> Option<String> {
    let words = budget.exceeded(spent)?;
    let hint = format!("raise budget.phase_usd or budget.phase_tokens, then {again}");
    Some(format!("the phase has used {words}; {hint}"))
}

/// Converts the usage that an agent reports.
pub(crate) fn money_from_usage(used: &Usage) -> Spending {
    let Usage { input, output, cached, usd } = *used;
    Spending { input, output, cached, micro_usd: usd.map_or(0, Spending::micro) }
}

/// Returns the record of what an agent used in a job that began at `began`.
pub(crate) fn spending_record(
    agent: &AgentConfig,
    (role, plan): (&str, Option<&str>),
    began: Instant,
    money: Spending,
) -> AgentSpending {
    AgentSpending {
        role: role.to_owned(),
        plan: plan.map(str::to_owned),
        agent: agent.name.clone(),
        model: agent.model.clone(),
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        money,
    }
}

/// Renders the prompt of a role, from the project's own template if it has one.
pub(crate) fn render_prompt(
    ctx: &RunContext,
    prompt: Prompt,
    values: &PromptValues,
) -> Result<String, EngineError> {
    // The template is read from the main root, where no agent of a phase can have changed it.
    let own = disk::read(&ctx.project.root.join(prompt.override_path()))?;
    let own = own.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    mow_prompts::render(prompt, own.as_deref(), values)
        .map_err(|error| EngineError::refused(error.to_string(), "repair the file"))
}
