//! `mow doctor`: is everything here that mow needs, and is the plan in order?
//!
//! [`machine`] looks at programs and the filesystem, [`plan`] at the planning files, [`run`] at
//! the last run. Nothing is changed without `--fix`, and then only temporary files are removed.

mod agents;
mod machine;
mod plan;
mod run;

use std::fmt::Write;

use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::terminal::{BOLD, GREEN, RED, Screen, YELLOW, painted, wrap};

/// How many findings of one kind are shown.
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
enum Level {
    Ok,
    Warn,
    Fail,
}

/// One line of the report.
#[derive(Debug, Serialize)]
struct Check {
    /// A stable word for scripts.
    check: &'static str,
    level: Level,
    message: String,
    /// What to do: sentences or commands to paste, one on each line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice: Vec<String>,
}

impl Check {
    fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, message: message.into(), advice: Vec::new() }
    }

    fn warn(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Warn, ..Self::ok(check, message) }
    }

    fn fail(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Fail, ..Self::ok(check, message) }
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
    let count = |level: Level| machine.iter().chain(&plan).filter(|c| c.level == level).count();
    let (warnings, failures) = (count(Level::Warn), count(Level::Fail));
    let text = if context.wants_json() {
        let report = json!({
            "ok": failures == 0, "warnings": warnings, "failures": failures,
            "machine": machine, "plan": plan,
        });
        serde_json::to_string_pretty(&report).expect("reports have string keys") + "\n"
    } else {
        let screen = Screen::here();
        let mut text = String::new();
        section(&mut text, "This machine", &machine, &screen);
        section(&mut text, "The plan", &plan, &screen);
        let _ = writeln!(text, "{}", verdict(warnings, failures));
        text
    };
    Ok(if failures == 0 { Output::Text(text) } else { Output::Findings(text) })
}

fn section(text: &mut String, title: &str, checks: &[Check], screen: &Screen) {
    let _ = writeln!(text, "{}", painted(BOLD, title));
    for check in checks {
        let (style, word) = match check.level {
            Level::Ok => (GREEN, "ok  "),
            Level::Warn => (YELLOW, "warn"),
            Level::Fail => (RED, "fail"),
        };
        for (at, line) in wrap(&check.message, screen.width - 8).iter().enumerate() {
            let mark = if at == 0 { painted(style, word) } else { "    ".to_owned() };
            let _ = writeln!(text, "  {mark}  {line}");
        }
        for line in check.advice.iter().flat_map(|advice| wrap(advice, screen.width - 10)) {
            let _ = writeln!(text, "          {line}");
        }
    }
    text.push('\n');
}

fn verdict(warnings: usize, failures: usize) -> String {
    let counted = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    match (warnings, failures) {
        (0, 0) => painted(GREEN, "Everything is in order."),
        (_, 0) => painted(YELLOW, &format!("No failures, {}.", counted(warnings, "warning"))),
        _ => painted(
            RED,
            &format!("{}, {}.", counted(failures, "failure"), counted(warnings, "warning")),
        ),
    }
}

/// Lists some findings and counts the rest.
fn listed(check: Check, findings: &[String]) -> Check {
    let mut check = findings.iter().take(SHOWN_MAX).fold(check, Check::advise);
    if findings.len() > SHOWN_MAX {
        check = check.advise(format!("and {} more", findings.len() - SHOWN_MAX));
    }
    check
}
