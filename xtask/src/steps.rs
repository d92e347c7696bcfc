//! Runs a list of steps one after the other, measures each, and prints a table at the end.
//!
//! The first failing step ends the list with the command that repeats it.

use anyhow::{Context, Result, anyhow};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The steps run so far.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<TimedStep>,
}

struct TimedStep {
    tier: &'static str,
    name: String,
    took: Duration,
}

impl Steps {
    /// Runs a program as a step; its output goes to the terminal as it comes.
    pub(crate) fn command(
        &mut self,
        tier: &'static str,
        name: &str,
        mut command: Command,
    ) -> Result<()> {
        self.call(tier, name, &shell_line(&command), || {
            let status =
                command.status().with_context(|| format!("cannot run {}", shell_line(&command)))?;
            status.success().then_some(()).ok_or_else(|| anyhow!("ended with {status}"))
        })
    }

    /// Runs a function as a step; `repeat` is the command line that does the same again.
    pub(crate) fn call(
        &mut self,
        tier: &'static str,
        name: &str,
        repeat: &str,
        action: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        println!("\n── {tier}: {name}\n   {repeat}");
        let start = Instant::now();
        let outcome = action();
        let took = start.elapsed();
        self.done.push(TimedStep { tier, name: name.to_owned(), took });
        println!("── {tier}: {name}: {:.1} s", took.as_secs_f64());
        outcome.map_err(|error| {
            println!("{}", self.table());
            error.context(format!("step `{name}` of tier `{tier}`; repeat it with\n    {repeat}\n"))
        })
    }

    /// The seconds of each step and the minutes of each tier.
    pub(crate) fn table(&self) -> String {
        let mut table = String::from("\nstep                          seconds\n");
        let mut tiers: Vec<(&str, Duration)> = Vec::new();
        for step in &self.done {
            let name = format!("{}: {}", step.tier, step.name);
            writeln!(table, "{name:28} {:8.1}", step.took.as_secs_f64()).expect("a String grows");
            match tiers.iter_mut().find(|(tier, _)| *tier == step.tier) {
                Some((_, sum)) => *sum += step.took,
                None => tiers.push((step.tier, step.took)),
            }
        }
        table.push_str("\ntier                          minutes\n");
        let all = tiers.iter().map(|(_, sum)| *sum).sum();
        for (tier, sum) in tiers.into_iter().chain([("all", all)]) {
            writeln!(table, "{tier:28} {:8.2}", sum.as_secs_f64() / 60.0).expect("a String grows");
        }
        table
    }
}

/// The command as one would type it, with the variables that were set for it.
pub(crate) fn shell_line(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        let value = value.unwrap_or_default().to_string_lossy();
        words.push(format!("{}={value}", name.to_string_lossy()));
    }
    let program = Path::new(command.get_program());
    // Cargo is on everyone's path; a tool of the cache is found only by its full name.
    let is_cargo = program.file_name().is_some_and(|name| name == "cargo");
    words.push(if is_cargo { "cargo".to_owned() } else { program.display().to_string() });
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests;
