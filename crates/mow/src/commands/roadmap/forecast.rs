//! `mow roadmap forecast`: estimates how long the open phases take with each merge and look-ahead
//! setting.
//!
//! The unit of time is a phase with one plan.

use std::fmt::Write;

use mow_core::forecast::{AheadShares, Forecast, ForecastPolicy, TIME_PER_WEIGHT};
use mow_core::stage::Lookahead;
use mow_store::phase_dirs::PhaseFileKind;
use mow_store::project_phases::ProjectPhase;
use serde_json::{Value, json};

use super::{load, no_roadmap};
use crate::commands::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, DIM, styled};

/// The arguments of `roadmap forecast`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many phases run in parallel [default: the setting `multi_phase.max_workers`]
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// The share of discussion and research in the time of a phase
    #[arg(long, value_name = "PERCENT", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(0..=100))]
    research: u64,
    /// The share of planning in the time of a phase
    #[arg(long, value_name = "PERCENT", default_value_t = 15,
          value_parser = clap::value_parser!(u64).range(0..=100))]
    plan: u64,
}

pub(crate) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let all_phases = load(context)?.ok_or_else(no_roadmap)?;
    if args.research + args.plan > 100 {
        return Err(Failure::refused(
            "research and planning cannot take more than 100 % of a phase",
        )
        .hint("choose `--research` and `--plan` so that they add up to 100 or less"));
    }
    let config = mow_engine::run_context::config(&context.project)?;
    let number = |key: &str| config.lookup(key).and_then(|value| value.as_u64());
    let set = number("multi_phase.max_workers").and_then(|n| usize::try_from(n).ok());
    let workers = args.workers.or(set).unwrap_or(3).max(1);
    let phases = all_phases.scheduled();
    let graph = all_phases.graph(&context.project.planning, &phases);
    let shares = AheadShares { research: args.research, plan: args.plan };
    let forecast = Forecast::new(&graph, |index| weight(phases[index]), shares)
        .map_err(|cyclic| Failure::refused(cyclic.to_string()).hint("mow roadmap analyze-dag"))?;
    let table = ForecastTable { forecast: &forecast, workers, shares };
    Ok(if context.wants_json() {
        Output::pretty_json(table.value())
    } else {
        Output::Text(table.text())
    })
}

/// Returns the number of plans of a phase, at least one.
fn weight(phase: &ProjectPhase) -> u64 {
    let plans = phase.dir.as_ref().map_or(0, |dir| dir.count(PhaseFileKind::Plan));
    plans.max(1) as u64
}

/// The results of the forecast, ready to be printed.
struct ForecastTable<'a> {
    forecast: &'a Forecast,
    workers: usize,
    shares: AheadShares,
}

impl ForecastTable<'_> {
    fn time(&self, lookahead: Lookahead, merge_at_once: bool) -> u64 {
        self.forecast.makespan(ForecastPolicy { workers: self.workers, lookahead, merge_at_once })
    }

    /// Returns the time in phases of one plan, and the speedup over running one phase at a time.
    fn figures(&self, time: u64) -> (f64, f64) {
        let round = |number: f64| (number * 100.0).round() / 100.0;
        let speedup = self.forecast.sequential() as f64 / time.max(1) as f64;
        (round(time as f64 / TIME_PER_WEIGHT as f64), if time == 0 { 1.0 } else { round(speedup) })
    }

    fn value(&self) -> Value {
        let row = |time: u64| {
            let (time, speedup) = self.figures(time);
            json!({ "time": time, "speedup": speedup })
        };
        let kinds = |at_once: bool| {
            let kinds = Lookahead::ALL.map(|kind| (kind.name(), row(self.time(kind, at_once))));
            Value::Object(kinds.into_iter().map(|(name, row)| (name.to_owned(), row)).collect())
        };
        json!({
            "phases": self.forecast.phases(),
            "workers": self.workers,
            "shares": { "research": self.shares.research, "plan": self.shares.plan },
            "sequential": row(self.forecast.sequential()),
            "wave": kinds(false),
            "immediate": kinds(true),
        })
    }

    fn text(&self) -> String {
        if self.forecast.phases() == 0 {
            return "Every phase is done.\n".to_owned();
        }
        let mut text = format!(
            "{}\n\n{:<44}{:>8}{:>10}\n",
            styled(
                BOLD,
                &format!(
                    "{}, {}",
                    counted(self.forecast.phases(), "open phase"),
                    counted(self.workers, "worker")
                )
            ),
            "",
            "time",
            "speedup"
        );
        let mut row = |name: &str, time: u64| {
            let (time, speedup) = self.figures(time);
            let _ = writeln!(text, "{name:<44}{time:>8.2}{speedup:>9.2}x");
        };
        row("one phase at a time", self.forecast.sequential());
        for (merge, at_once) in [("merged by waves", false), ("merged at once", true)] {
            for kind in Lookahead::ALL {
                let name = format!("{merge}, multi_phase.lookahead {}", kind.name());
                row(&name, self.time(kind, at_once));
            }
        }
        let AheadShares { research, plan } = self.shares;
        let note = format!(
            "The unit of time is a phase with one plan: {research} % discussion and research, {plan} % planning."
        );
        let _ = writeln!(text, "\n{}", styled(DIM, &note));
        text
    }
}
