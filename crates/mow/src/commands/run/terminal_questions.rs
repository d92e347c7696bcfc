//! Questions on the terminal before a run starts.

use std::io::{BufRead, IsTerminal, Write};

use mow_engine::lead::{PhaseChoice, select_phases};
use mow_store::project::Project;

use super::{live_view, parse_phases};
use crate::failure::Failure;
use crate::terminal::{BOLD, DIM, styled};

/// Asks a yes-or-no question; returns `false` without a terminal.
pub(in crate::commands) fn confirm(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let answer = read_answer(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// Lists the open phases and asks which ones to run.
pub(super) fn pick(project: &Project) -> Result<PhaseChoice, Failure> {
    let all = select_phases(project, &PhaseChoice::All)?;
    if all.phases.is_empty() {
        return Ok(PhaseChoice::All);
    }
    let mut text = format!("{}\n", styled(BOLD, "Open phases"));
    for spec in &all.phases {
        let dependencies: Vec<_> = spec.depends_on.iter().map(ToString::to_string).collect();
        let note = if dependencies.is_empty() {
            "ready".to_owned()
        } else {
            format!("after {}", dependencies.join(", "))
        };
        let (number, name) = (spec.number.to_string(), &spec.name);
        text += &format!("  {number:>5}  {name}  {}\n", styled(DIM, &note));
    }
    live_view::print(&text);
    let answer = read_answer("Phases to run (numbers, `ready`, or Enter for all): ")?;
    match answer.as_str() {
        "" | "all" => Ok(PhaseChoice::All),
        "ready" => Ok(PhaseChoice::AllReady),
        numbers => parse_phases(&numbers.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
    }
}

/// Prints a question and reads one line.
fn read_answer(question: &str) -> Result<String, Failure> {
    let failed =
        |error: std::io::Error| Failure::refused(format!("cannot read an answer: {error}"));
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(question.as_bytes()).and_then(|()| stdout.flush()).map_err(failed)?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer).map_err(failed)? == 0 {
        return Err(Failure::refused("cannot read an answer: the input has ended"));
    }
    Ok(answer.trim().to_owned())
}
