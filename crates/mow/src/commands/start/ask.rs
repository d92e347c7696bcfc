//! The questions of `mow init`. They go to standard error, so that standard output stays the answer.

use std::io::{self, BufRead, IsTerminal};

use super::{StartArgs, Wishes, check_line};
use crate::context::Context;
use crate::failure::{Failure, code};
use crate::output;
use crate::terminal::{BOLD, DIM, painted};

/// How many phases are asked for; more are added with `mow phase add`.
const PHASES_MAX: usize = 50;

/// Returns whether somebody is there to answer.
pub(super) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for what the flags leave open; `None` when the user declines.
pub(super) fn wishes(
    context: &Context,
    args: &StartArgs,
    mut wishes: Wishes,
    ask_phases: bool,
) -> Result<Option<Wishes>, Failure> {
    say(&format!("A plan for {}\n\n", painted(BOLD, &context.project.root.display().to_string())))?;
    if args.name.is_none() {
        let question = format!("Name {}: ", painted(DIM, &format!("[{}]", wishes.name)));
        wishes.name = line(&question)?.unwrap_or(wishes.name);
    }
    if args.goal.is_none() {
        wishes.goal = line("Goal, in one sentence: ")?.unwrap_or(wishes.goal);
    }
    if ask_phases && args.phase.is_empty() {
        say(&painted(DIM, "The first phases, one on each line; an empty line ends the list.\n"))?;
        while wishes.phases.len() < PHASES_MAX
            && let Some(name) = line(&format!("Phase {}: ", wishes.phases.len() + 1))?
        {
            wishes.phases.push(name);
        }
    }
    let agreed = line("Write the planning files into .planning/? [Y/n] ")?;
    let is_yes = agreed.is_none_or(|word| word.to_lowercase().starts_with('y'));
    Ok(is_yes.then_some(wishes))
}

/// Asks until the answer is one plain line; `None` when it is empty.
fn line(question: &str) -> Result<Option<String>, Failure> {
    loop {
        say(question)?;
        let mut answer = String::new();
        let read = io::stdin().lock().read_line(&mut answer).map_err(|error| lost(&error))?;
        if read == 0 {
            say("\n")?;
            return Err(Failure::refused("the answers ended before the questions did")
                .hint("mow init --name NAME --goal TEXT --phase NAME --yes"));
        }
        let answer = answer.trim();
        if answer.is_empty() {
            return Ok(None);
        }
        match check_line(answer) {
            Ok(()) => return Ok(Some(answer.to_owned())),
            Err(failure) => say(&format!("{}\n", failure.message))?,
        }
    }
}

fn say(text: &str) -> Result<(), Failure> {
    output::say(text).map_err(|error| lost(&error))
}

fn lost(error: &io::Error) -> Failure {
    let message = format!("cannot ask on this terminal: {error}");
    Failure { code: code::OUTSIDE, kind: "terminal", message, hint: None }
}
