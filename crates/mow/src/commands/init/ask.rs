//! Asks the questions of `mow init`, on standard error, so that standard output has only the result.

use std::io::{self, BufRead, IsTerminal};

use super::{InitArgs, NewProjectFields, check_line};
use crate::context::Context;
use crate::failure::{Failure, code};
use crate::output;
use crate::terminal::{BOLD, DIM, styled};

/// How many phases are asked for; `mow phase add` adds more.
const PHASES_MAX: usize = 50;

/// Returns whether questions can be asked: input and standard error are terminals.
pub(super) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks for the values that the options leave open; `None` if the user declines.
pub(super) fn ask_fields(
    context: &Context,
    args: &InitArgs,
    mut fields: NewProjectFields,
    ask_phases: bool,
) -> Result<Option<NewProjectFields>, Failure> {
    show(&format!(
        "New plan for {}\n\n",
        styled(BOLD, &context.project.root.display().to_string())
    ))?;
    if args.name.is_none() {
        let question = format!("Name {}: ", styled(DIM, &format!("[{}]", fields.name)));
        fields.name = ask_line(&question)?.unwrap_or(fields.name);
    }
    if args.goal.is_none() {
        fields.goal = ask_line("Goal, in one sentence: ")?.unwrap_or(fields.goal);
    }
    if ask_phases && args.phase.is_empty() {
        show(&styled(DIM, "The first phases, one per line. An empty line ends the list.\n"))?;
        while fields.phases.len() < PHASES_MAX
            && let Some(name) = ask_line(&format!("Phase {}: ", fields.phases.len() + 1))?
        {
            fields.phases.push(name);
        }
    }
    let answer = ask_line("Write the planning files to .planning/? [Y/n] ")?;
    let is_yes = answer.is_none_or(|word| word.to_lowercase().starts_with('y'));
    Ok(is_yes.then_some(fields))
}

/// Repeats a question until the answer is one line of plain text; `None` if it is empty.
fn ask_line(question: &str) -> Result<Option<String>, Failure> {
    loop {
        show(question)?;
        let mut answer = String::new();
        let read =
            io::stdin().lock().read_line(&mut answer).map_err(|error| terminal_error(&error))?;
        if read == 0 {
            show("\n")?;
            return Err(Failure::refused("the input ended before all questions were answered")
                .hint("mow init --name NAME --goal TEXT --phase NAME --yes"));
        }
        let answer = answer.trim();
        if answer.is_empty() {
            return Ok(None);
        }
        match check_line(answer) {
            Ok(()) => return Ok(Some(answer.to_owned())),
            Err(failure) => show(&format!("{}\n", failure.message))?,
        }
    }
}

fn show(text: &str) -> Result<(), Failure> {
    output::write_stderr(text).map_err(|error| terminal_error(&error))
}

fn terminal_error(error: &io::Error) -> Failure {
    let message = format!("cannot ask on this terminal: {error}");
    Failure { code: code::OUTSIDE, kind: "terminal", message, hint: None }
}
