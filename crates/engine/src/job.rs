//! What is the same about every job of a coding agent, whoever gives it: its environment, its bounds,
//! the text of its role, and what it used. What the job is about is known to who gives it.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use mow_core::money::{Budget, Money, Spent};
use mow_host::agent::{Limits, Usage, environment as of_agents};
use mow_prompts::{Prompt, Values};
use mow_store::disk;

use crate::EngineError;
use crate::cast::Cast;
use crate::site::Site;

/// Returns all that an agent finds in its environment: what it needs by itself, what the job is, and
/// what the settings say.
pub(crate) fn environment(cast: &Cast, job: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    let mut env = of_agents::select(std::env::vars_os(), &cast.pass);
    let own = job.into_iter().chain(cast.env.iter().cloned());
    env.extend(own.map(|(name, value)| (name.into(), value.into())));
    env
}

/// Returns the bounds of an agent within what is left of a budget.
pub(crate) fn limits(budget: &Budget, spent: &Money, wall: Option<Duration>) -> Limits {
    let left = |micro_usd: u64| Money {
        micro_usd: micro_usd.saturating_sub(spent.micro_usd),
        ..Money::default()
    };
    Limits {
        usd: budget.micro_usd.map(|most| left(most).usd()),
        tokens: budget.tokens.map(|most| most.saturating_sub(spent.tokens())),
        wall,
        ..Limits::default()
    }
}

/// Says that a phase has used what it may, and what to do before a command is given again.
pub(crate) fn over_budget(budget: &Budget, spent: &Money, again: &str) -> Option<String> {
    let words = budget.exceeded(spent)?;
    let hint = format!("raise budget.phase_usd or budget.phase_tokens, then {again}");
    Some(format!("the phase has used {words}; {hint}"))
}

/// Returns what an agent says that it used, as it is counted here.
pub(crate) fn money(used: &Usage) -> Money {
    let Usage { input, output, cached, usd } = *used;
    Money { input, output, cached, micro_usd: usd.map_or(0, Money::micro) }
}

/// Returns what there is to write down of an agent that began its job at a time.
pub(crate) fn spent(
    cast: &Cast,
    (role, plan): (&str, Option<&str>),
    began: Instant,
    money: Money,
) -> Spent {
    Spent {
        role: role.to_owned(),
        plan: plan.map(str::to_owned),
        agent: cast.agent.clone(),
        model: cast.model.clone(),
        ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        money,
    }
}

/// Returns what a role is told, in the project's own words where it has some.
pub(crate) fn prompt(site: &Site, prompt: Prompt, values: &Values) -> Result<String, EngineError> {
    // A text that belongs to the project is the main root's: no agent of a phase wrote it.
    let own = disk::read(&site.project.root.join(prompt.own_file()))?;
    let own = own.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    mow_prompts::render(prompt, own.as_deref(), values)
        .map_err(|error| EngineError::refused(error.to_string(), "repair the file"))
}
