//! `mow cost`: shows the tokens and dollars of a run, by phase, plan, role and agent run.

use std::fmt::Write;

use mow_core::money::Spending;
use mow_core::view::UsageSum;

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, format_utc};
use crate::terminal::{BOLD, DIM, styled};
use crate::wire::cost::CostJson;

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

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, args.run.as_deref())?;
    let report = run.cost_report();
    if context.wants_json() {
        return Ok(Output::pretty_json(CostJson::new(run.dir.run(), &report)));
    }
    if report.agent_runs.is_empty() {
        let text = format!("No agent has worked in run {} yet.\n", run.dir.run());
        return Ok(Output::Text(text));
    }
    let mut text = String::new();
    if args.each {
        for run in &report.agent_runs {
            let (at, phase) = (styled(DIM, &format_utc(run.at)), run.phase);
            let _ = writeln!(text, "{at} phase {phase}: {}", run.spent.sentence());
        }
        text.push('\n');
    }
    for (phase, sum) in &report.phases {
        let _ = writeln!(text, "phase {:<6} {}", phase.to_string(), line(sum));
    }
    for (role, sum) in &report.roles {
        let _ = writeln!(text, "{role:<12} {}", line(sum));
    }
    let _ = writeln!(text, "{:<12} {}", styled(BOLD, "total"), line(&report.total));
    Ok(Output::Text(text))
}

fn line(sum: &UsageSum) -> String {
    let Spending { input, output, cached, micro_usd } = sum.spent;
    let dollars = match micro_usd {
        0 => String::new(),
        _ => format!("${:.4}  ", sum.spent.usd()),
    };
    format!(
        "{dollars}tokens: {input} read, {output} written, {cached} cached, {}",
        counted(sum.agent_runs, "agent run")
    )
}
