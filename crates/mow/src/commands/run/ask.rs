//! Questions on a terminal before a run begins.

use std::io::{BufRead, IsTerminal, Write};

use mow_engine::lead::{Choice, choose};
use mow_store::project::Project;

use super::{face, named};
use crate::failure::Failure;
use crate::terminal::{BOLD, DIM, painted};

/// Asks for yes or no; no without a terminal.
pub(in crate::commands) fn confirm(question: &str) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    let answer = line(&format!("{question} [y/N] "))?;
    Ok(matches!(answer.to_lowercase().as_str(), "y" | "yes"))
}

/// Lets a person pick phases from a list.
pub(super) fn pick(project: &Project) -> Result<Choice, Failure> {
    let all = choose(project, &Choice::All)?;
    if all.phases.is_empty() {
        return Ok(Choice::All);
    }
    let mut text = format!("{}\n", painted(BOLD, "Phases that are not done"));
    for spec in &all.phases {
        let on: Vec<_> = spec.depends_on.iter().map(ToString::to_string).collect();
        let note =
            if on.is_empty() { "ready".to_owned() } else { format!("after {}", on.join(", ")) };
        let (number, name) = (spec.number.to_string(), &spec.name);
        text += &format!("  {number:>5}  {name}  {}\n", painted(DIM, &note));
    }
    face::print(&text);
    let answer = line("Which? Numbers, `ready`, or Enter for all: ")?;
    match answer.as_str() {
        "" | "all" => Ok(Choice::All),
        "ready" => Ok(Choice::AllReady),
        numbers => named(&numbers.split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
    }
}

fn line(question: &str) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::refused(format!("no answer: {error}"));
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(question.as_bytes()).and_then(|()| stdout.flush()).map_err(failed)?;
    let mut answer = String::new();
    if std::io::stdin().lock().read_line(&mut answer).map_err(failed)? == 0 {
        return Err(Failure::refused("no answer: the input has ended"));
    }
    Ok(answer.trim().to_owned())
}
