//! `mow doctor`: checks the machine, the planning files and the last run, and says how to fix each
//! problem.
//!
//! [`machine`] checks programs and the filesystem, [`plan`] the planning files, [`run`] the last
//! run. Nothing is changed without `--fix`, which only removes temporary files.

mod agents;
mod machine;
mod plan;
mod run;

use std::fmt::Write;

use serde::Serialize;
use serde_json::json;

use super::plural::counted;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, GREEN, RED, Screen, YELLOW, styled, wrap};

/// How many problems of one kind are listed; the rest is counted.
const SHOWN_MAX: usize = 10;

/// The arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Remove temporary files that a power failure left behind
    #[arg(long)]
    fix: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckLevel {
    Ok,
    Warn,
    Fail,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct DoctorCheck {
    /// The name of the check, stable for scripts.
    check: &'static str,
    level: CheckLevel,
    message: String,
    /// What to do: sentences or commands to paste, one per line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice: Vec<String>,
}

impl DoctorCheck {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: CheckLevel::Ok, message: message.into(), advice: Vec::new() }
    }

    fn warn(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: CheckLevel::Warn, ..Self::ok(check, message) }
    }

    fn fail(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: CheckLevel::Fail, ..Self::ok(check, message) }
    }

    fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice.push(advice.into());
        self
    }
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let machine = machine::checks(context);
    let mut plan = plan::checks(context, args.fix);
    plan.extend(run::check(context));
    let count =
        |level: CheckLevel| machine.iter().chain(&plan).filter(|c| c.level == level).count();
    let (warnings, failures) = (count(CheckLevel::Warn), count(CheckLevel::Fail));
    let text = if context.wants_json() {
        let report = json!({
            "ok": failures == 0, "warnings": warnings, "failures": failures,
            "machine": machine, "plan": plan,
        });
        serde_json::to_string_pretty(&report).expect("reports have string keys") + "\n"
    } else {
        let screen = Screen::current();
        let mut text = String::new();
        write_section(&mut text, "Machine", &machine, &screen);
        write_section(&mut text, "Project", &plan, &screen);
        let _ = writeln!(text, "{}", verdict(warnings, failures));
        text
    };
    Ok(if failures == 0 { Output::Text(text) } else { Output::Findings(text) })
}

/// Writes a heading and the results below it.
fn write_section(text: &mut String, title: &str, checks: &[DoctorCheck], screen: &Screen) {
    let _ = writeln!(text, "{}", styled(BOLD, title));
    for check in checks {
        let (style, word) = match check.level {
            CheckLevel::Ok => (GREEN, "ok  "),
            CheckLevel::Warn => (YELLOW, "warn"),
            CheckLevel::Fail => (RED, "fail"),
        };
        for (index, line) in wrap(&check.message, screen.width - 8).iter().enumerate() {
            let mark = if index == 0 { styled(style, word) } else { "    ".to_owned() };
            let _ = writeln!(text, "  {mark}  {line}");
        }
        for line in check.advice.iter().flat_map(|advice| wrap(advice, screen.width - 10)) {
            let _ = writeln!(text, "          {line}");
        }
    }
    text.push('\n');
}

/// Returns the last line of the report.
fn verdict(warnings: usize, failures: usize) -> String {
    match (warnings, failures) {
        (0, 0) => styled(GREEN, "No problems found."),
        (_, 0) => styled(YELLOW, &format!("No failures, {}.", counted(warnings, "warning"))),
        _ => styled(
            RED,
            &format!("{}, {}.", counted(failures, "failure"), counted(warnings, "warning")),
        ),
    }
}

/// Adds the first problems to a check as advice, and the number of the others.
fn with_problems(check: DoctorCheck, problems: &[String]) -> DoctorCheck {
    let mut check = problems.iter().take(SHOWN_MAX).fold(check, DoctorCheck::advise);
    if problems.len() > SHOWN_MAX {
        check = check.advise(format!("and {} more", problems.len() - SHOWN_MAX));
    }
    check
}
