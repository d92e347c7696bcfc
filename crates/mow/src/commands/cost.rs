//! `mow cost`: shows the tokens and dollars of a run, by phase, plan, role and agent run.

use std::collections::BTreeMap;
use std::fmt::Write;

use mow_core::lead::Event;
use mow_core::money::{AgentSpending, Spending};
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use serde_json::{Value, json};

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, format_utc};
use crate::terminal::{BOLD, DIM, styled};

/// The arguments of `cost`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id of the run; default: the newest run
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// List every agent run
    #[arg(long)]
    each: bool,
}

/// The spending of one agent run.
struct AgentRun<'a> {
    /// When the run ended, in milliseconds since 1970.
    at: u64,
    phase: PhaseNumber,
    spent: &'a AgentSpending,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let agent_runs: Vec<_> = run
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Reported { phase, report: Report::Spent(spent), .. }
            | Event::Spent { phase, spent } => {
                Some(AgentRun { at: entry.at, phase: *phase, spent })
            }
            _ => None,
        })
        .collect();
    let total = sum(agent_runs.iter());
    let phases = group_by(&agent_runs, |run| run.phase);
    let roles = group_by(&agent_runs, |run| run.spent.role.clone());
    let plans = group_by(&agent_runs, |run| run.spent.plan.clone().unwrap_or_default());
    if context.wants_json() {
        return Ok(Output::pretty_json(json!({
            "run": run.dir.run(),
            "total": sum_json(&total),
            "phases": rows_json(phases.iter().map(|(key, sum)| (key.to_string(), *sum)), "phase"),
            "plans": rows_json(plans.into_iter().filter(|(plan, _)| !plan.is_empty()), "plan"),
            "roles": rows_json(roles, "role"),
            "agent_runs": agent_runs.iter().map(entry_json).collect::<Vec<_>>(),
        })));
    }
    if agent_runs.is_empty() {
        let text = format!("No agent has worked in run {} yet.\n", run.dir.run());
        return Ok(Output::Text(text));
    }
    let mut text = String::new();
    if args.each {
        for run in &agent_runs {
            let (at, phase) = (styled(DIM, &format_utc(run.at)), run.phase);
            let _ = writeln!(text, "{at} phase {phase}: {}", run.spent.sentence());
        }
        text.push('\n');
    }
    for (phase, (money, runs)) in &phases {
        let _ = writeln!(text, "phase {:<6} {}", phase.to_string(), line(money, *runs));
    }
    for (role, (money, runs)) in &roles {
        let _ = writeln!(text, "{role:<12} {}", line(money, *runs));
    }
    let _ = writeln!(text, "{:<12} {}", styled(BOLD, "total"), line(&total.0, total.1));
    Ok(Output::Text(text))
}

/// Total spending, and the number of agent runs.
type UsageSum = (Spending, usize);

fn sum<'a, 'b: 'a>(all: impl Iterator<Item = &'a AgentRun<'b>>) -> UsageSum {
    all.fold((Spending::default(), 0), |(mut money, runs), run| {
        money += run.spent.money;
        (money, runs + 1)
    })
}

fn group_by<K: Ord>(
    all: &[AgentRun<'_>],
    key: impl Fn(&AgentRun<'_>) -> K,
) -> BTreeMap<K, UsageSum> {
    let mut sums: BTreeMap<K, UsageSum> = BTreeMap::new();
    for run in all {
        let (money, runs) = sums.entry(key(run)).or_default();
        *money += run.spent.money;
        *runs += 1;
    }
    sums
}

fn line(money: &Spending, runs: usize) -> String {
    let Spending { input, output, cached, .. } = money;
    let dollars = match money.micro_usd {
        0 => String::new(),
        _ => format!("${:.4}  ", money.usd()),
    };
    format!(
        "{dollars}tokens: {input} read, {output} written, {cached} cached, {}",
        counted(runs, "agent run")
    )
}

fn sum_json((money, runs): &UsageSum) -> Value {
    let usd = (money.micro_usd > 0).then(|| money.usd());
    json!({
        "usd": usd, "input_tokens": money.input, "output_tokens": money.output,
        "cached_tokens": money.cached, "agent_runs": runs,
    })
}

fn rows_json(sums: impl IntoIterator<Item = (String, UsageSum)>, name: &str) -> Vec<Value> {
    let row = |(key, sum): (String, UsageSum)| {
        let mut value = sum_json(&sum);
        value[name] = json!(key);
        value
    };
    sums.into_iter().map(row).collect()
}

fn entry_json(run: &AgentRun<'_>) -> Value {
    let mut value = agent_run_json(&run.phase, run.spent);
    value["at"] = json!(format_utc(run.at));
    value
}

/// Returns the spending of one agent run as JSON.
pub(super) fn agent_run_json(phase: &PhaseNumber, spent: &AgentSpending) -> Value {
    let AgentSpending { role, plan, agent, model, ms, money } = spent;
    let mut value = sum_json(&(*money, 1));
    value["phase"] = json!(phase.to_string());
    for (key, field) in [("role", json!(role)), ("plan", json!(plan)), ("agent", json!(agent))] {
        value[key] = field;
    }
    (value["model"], value["ms"]) = (json!(model), json!(ms));
    value
}
