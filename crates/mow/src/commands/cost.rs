//! `mow cost`: what the agents of a run used, by phase, plan, role and run of an agent.

use std::collections::BTreeMap;
use std::fmt::Write;

use mow_core::lead::Event;
use mow_core::money::{Money, Spent};
use mow_core::phase::PhaseNumber;
use mow_core::report::Report;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, time_text};
use crate::terminal::{BOLD, DIM, painted};

/// What to count.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A run, as `mow log` names it; the last one otherwise
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// List every run of an agent
    #[arg(long)]
    each: bool,
}

/// One run of an agent.
struct One<'a> {
    at: u64,
    phase: PhaseNumber,
    spent: &'a Spent,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let all: Vec<_> = run
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Reported { phase, report: Report::Spent(spent), .. }
            | Event::Spent { phase, spent } => Some(One { at: entry.at, phase: *phase, spent }),
            _ => None,
        })
        .collect();
    let total = sum(all.iter());
    let phases = by(&all, |one| one.phase);
    let roles = by(&all, |one| one.spent.role.clone());
    let plans = by(&all, |one| one.spent.plan.clone().unwrap_or_default());
    if context.wants_json() {
        return Ok(Output::json_lines(json!({
            "run": run.dir.run(),
            "total": amount(&total),
            "phases": listed(phases.iter().map(|(key, value)| (key.to_string(), *value)), "phase"),
            "plans": listed(plans.into_iter().filter(|(plan, _)| !plan.is_empty()), "plan"),
            "roles": listed(roles, "role"),
            "agent_runs": all.iter().map(entry).collect::<Vec<_>>(),
        })));
    }
    if all.is_empty() {
        let text = format!("No agent was at work in run {}.\n", run.dir.run());
        return Ok(Output::Text(text));
    }
    let mut text = String::new();
    if args.each {
        for one in &all {
            let (at, phase) = (painted(DIM, &time_text(one.at)), one.phase);
            let _ = writeln!(text, "{at} phase {phase}: {}", one.spent.sentence());
        }
        text.push('\n');
    }
    for (phase, (money, runs)) in &phases {
        let _ = writeln!(text, "phase {:<6} {}", phase.to_string(), line(money, *runs));
    }
    for (role, (money, runs)) in &roles {
        let _ = writeln!(text, "{role:<12} {}", line(money, *runs));
    }
    let _ = writeln!(text, "{:<12} {}", painted(BOLD, "all"), line(&total.0, total.1));
    Ok(Output::Text(text))
}

type Sum = (Money, usize);

fn sum<'a, 'b: 'a>(all: impl Iterator<Item = &'a One<'b>>) -> Sum {
    all.fold((Money::default(), 0), |(mut money, runs), one| {
        money += one.spent.money;
        (money, runs + 1)
    })
}

fn by<K: Ord>(all: &[One<'_>], key: impl Fn(&One<'_>) -> K) -> BTreeMap<K, Sum> {
    let mut sums: BTreeMap<K, Sum> = BTreeMap::new();
    for one in all {
        let (money, runs) = sums.entry(key(one)).or_default();
        *money += one.spent.money;
        *runs += 1;
    }
    sums
}

fn line(money: &Money, runs: usize) -> String {
    let Money { input, output, cached, .. } = money;
    let dollars = match money.micro_usd {
        0 => String::new(),
        _ => format!("${:.4}  ", money.usd()),
    };
    format!("{dollars}{input} read, {output} written, {cached} cached, {runs} agent runs")
}

fn amount((money, runs): &Sum) -> Value {
    let usd = (money.micro_usd > 0).then(|| money.usd());
    json!({
        "usd": usd, "input_tokens": money.input, "output_tokens": money.output,
        "cached_tokens": money.cached, "agent_runs": runs,
    })
}

fn listed(sums: impl IntoIterator<Item = (String, Sum)>, name: &str) -> Vec<Value> {
    let one = |(key, sum): (String, Sum)| {
        let mut value = amount(&sum);
        value[name] = json!(key);
        value
    };
    sums.into_iter().map(one).collect()
}

fn entry(one: &One<'_>) -> Value {
    let mut value = told(&one.phase, one.spent);
    value["at"] = json!(time_text(one.at));
    value
}

/// Returns what one run of an agent used.
pub(super) fn told(phase: &PhaseNumber, spent: &Spent) -> Value {
    let Spent { role, plan, agent, model, ms, money } = spent;
    let mut value = amount(&(*money, 1));
    value["phase"] = json!(phase.to_string());
    for (key, field) in [("role", json!(role)), ("plan", json!(plan)), ("agent", json!(agent))] {
        value[key] = field;
    }
    (value["model"], value["ms"]) = (json!(model), json!(ms));
    value
}
