//! `mow roadmap forecast`: how long the open phases take, in phases, and what each setting saves.

use std::fmt::Write;

use mow_core::forecast::{Forecast, Shares, UNIT, Way};
use mow_core::stage::Lookahead;
use mow_store::phase_dirs::Artifact;
use mow_store::survey::Surveyed;
use serde_json::{Value, json};

use super::{load, no_roadmap};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, DIM, painted};

/// The arguments of `roadmap forecast`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The most phases at a time; `multi_phase.max_workers` if not given
    #[arg(long, value_name = "COUNT")]
    workers: Option<usize>,
    /// The percentage of a phase's time that discussion and research take
    #[arg(long, value_name = "PERCENT", default_value_t = 20,
          value_parser = clap::value_parser!(u64).range(0..=100))]
    research: u64,
    /// The percentage of a phase's time that planning takes
    #[arg(long, value_name = "PERCENT", default_value_t = 15,
          value_parser = clap::value_parser!(u64).range(0..=100))]
    plan: u64,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let survey = load(context)?.ok_or_else(no_roadmap)?;
    if args.research + args.plan > 100 {
        return Err(Failure::refused("research and plan are more than the whole phase")
            .hint("their percentages may add up to 100 at most"));
    }
    let config = mow_engine::site::config(&context.project)?;
    let number = |key: &str| config.lookup(key).and_then(|value| value.as_u64());
    let set = number("multi_phase.max_workers").and_then(|n| usize::try_from(n).ok());
    let workers = args.workers.or(set).unwrap_or(3).max(1);
    let phases = survey.scheduled();
    let graph = survey.graph(&context.project.planning, &phases);
    let shares = Shares { research: args.research, plan: args.plan };
    let forecast = Forecast::new(&graph, |index| weight(phases[index]), shares)
        .map_err(|cyclic| Failure::refused(cyclic.to_string()).hint("mow roadmap analyze-dag"))?;
    let table = Table { forecast: &forecast, workers, shares };
    Ok(if context.wants_json() {
        Output::json_lines(table.value())
    } else {
        Output::Text(table.text())
    })
}

/// Returns how many plans a phase has; one where nobody knows.
fn weight(phase: &Surveyed) -> u64 {
    let plans = phase.dir.as_ref().map_or(0, |dir| dir.count(Artifact::Plan));
    plans.max(1) as u64
}

struct Table<'a> {
    forecast: &'a Forecast,
    workers: usize,
    shares: Shares,
}

impl Table<'_> {
    fn time(&self, lookahead: Lookahead, merge_at_once: bool) -> u64 {
        self.forecast.makespan(Way { workers: self.workers, lookahead, merge_at_once })
    }

    /// Returns the time in phases of one plan, and how many times faster than one by one it is.
    fn figures(&self, time: u64) -> (f64, f64) {
        let round = |number: f64| (number * 100.0).round() / 100.0;
        let speedup = self.forecast.sequential() as f64 / time.max(1) as f64;
        (round(time as f64 / UNIT as f64), if time == 0 { 1.0 } else { round(speedup) })
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
            painted(
                BOLD,
                &format!("{} open phases, {} workers", self.forecast.phases(), self.workers)
            ),
            "",
            "time",
            "speedup"
        );
        let mut row = |name: &str, time: u64| {
            let (time, speedup) = self.figures(time);
            let _ = writeln!(text, "{name:<44}{time:>8.2}{speedup:>9.2}x");
        };
        row("one after the other", self.forecast.sequential());
        for (merge, at_once) in [("merged by waves", false), ("merged at once", true)] {
            for kind in Lookahead::ALL {
                let name = format!("{merge}, multi_phase.lookahead {}", kind.name());
                row(&name, self.time(kind, at_once));
            }
        }
        let Shares { research, plan } = self.shares;
        let note = format!(
            "Time in phases of one plan, of which {research} % is discussion and research and {plan} % planning."
        );
        let _ = writeln!(text, "\n{}", painted(DIM, &note));
        text
    }
}
