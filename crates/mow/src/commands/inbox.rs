//! `mow inbox`, `mow answer`, `mow approve`, `mow deny`: what a run asks people, and their answers.
//!
//! An answer is left for the lead in a file and is good without a lead, too. What would change
//! nothing is refused here, where the person still sees it.

use std::fmt::Write;

use mow_core::item::Item;
use mow_core::lead::Command;
use serde::Serialize;
use serde_json::json;

use super::steer::{self, Left};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, ago, time_text};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, YELLOW, fit, painted, width, wrap};

/// The arguments of `inbox`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also what is answered already
    #[arg(long)]
    all: bool,
}

/// The arguments of `answer`.
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// The number of the question, from `mow inbox`
    id: u32,
    /// One of the choices, by its word, its beginning or its number, or any text where that will do
    #[arg(required = true)]
    text: Vec<String>,
}

/// The arguments of `approve` and `deny`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerdictArgs {
    /// The number of the question, from `mow inbox`
    id: u32,
}

/// A question as it is listed.
#[derive(Serialize)]
struct Listed {
    id: u32,
    phase: Option<String>,
    kind: &'static str,
    question: String,
    choices: Vec<String>,
    since: Option<String>,
    /// What was answered; of an open question what waits for the lead.
    answer: Option<String>,
    /// `open`, `pending` when an answer waits for the lead, or `answered`.
    state: &'static str,
    /// The command to answer with.
    command: String,
    #[serde(skip)]
    asked_at: u64,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, None)?;
    let pending = run.pending()?;
    let asked_at = run.asked_at();
    let listed: Vec<_> = run
        .lead
        .items
        .values()
        .filter(|item| args.all || item.answer.is_none())
        .map(|item| listed(item, &pending, asked_at.get(&item.id).copied()))
        .collect();
    if context.wants_json() {
        return Ok(Output::json_lines(json!({ "run": run.dir.run(), "questions": listed })));
    }
    if listed.is_empty() {
        let text = format!("Nothing waits for you. Run {}: {}.\n", run.dir.run(), run.standing());
        return Ok(Output::Text(text));
    }
    let mut text = String::new();
    for question in &listed {
        show(&mut text, question);
    }
    if run.lead_pid()?.is_none() {
        let _ = writeln!(text, "No lead is running: {} goes on.", painted(CYAN, &run.go_on()));
    }
    Ok(Output::Text(text))
}

fn listed(item: &Item, pending: &[Command], at: Option<u64>) -> Listed {
    let waiting = pending_answer(pending, item.id);
    let state = match (&item.answer, waiting) {
        (Some(_), _) => "answered",
        (None, Some(_)) => "pending",
        (None, None) => "open",
    };
    Listed {
        id: item.id,
        phase: item.phase.map(|phase| phase.to_string()),
        kind: item.ask.kind.name(),
        question: item.ask.question.clone(),
        choices: item.ask.choices.clone(),
        since: at.map(time_text),
        answer: item.answer.clone().or_else(|| waiting.map(str::to_owned)),
        state,
        command: command_for(item),
        asked_at: at.unwrap_or_default(),
    }
}

/// Returns the answer that was given and is not taken up yet.
fn pending_answer(pending: &[Command], id: u32) -> Option<&str> {
    pending.iter().find_map(|command| match command {
        Command::Answer { item, text } if *item == id => Some(text.as_str()),
        _ => None,
    })
}

/// Returns the command that answers a question, ready to paste where there are choices.
fn command_for(item: &Item) -> String {
    match item.ask.choices.as_slice() {
        [] => format!("mow answer {} \"your answer\"", item.id),
        [first, ..] => format!("mow answer {} {first}", item.id),
    }
}

fn show(text: &mut String, question: &Listed) {
    let phase =
        question.phase.as_ref().map_or("the run".to_owned(), |phase| format!("phase {phase}"));
    let head =
        format!("{} · {phase} · {} · {} ago", question.id, question.kind, ago(question.asked_at));
    let _ = writeln!(text, "{}", painted(BOLD, &head));
    for line in wrap(&question.question, width().saturating_sub(4)) {
        let _ = writeln!(text, "  {line}");
    }
    match question.state {
        "answered" => {
            let answer = fit(question.answer.as_deref().unwrap_or_default(), usize::MAX);
            let _ = writeln!(text, "  {}", painted(GREEN, &format!("answered: {answer}")));
        }
        "pending" => {
            let answer = fit(question.answer.as_deref().unwrap_or_default(), usize::MAX);
            let line = format!("answered: {answer} (the lead has not taken it up yet)");
            let _ = writeln!(text, "  {}", painted(YELLOW, &line));
        }
        _ if question.choices.is_empty() => {
            let _ = writeln!(text, "  {}", painted(CYAN, &question.command));
        }
        _ => {
            let commands: Vec<_> = question
                .choices
                .iter()
                .map(|choice| painted(CYAN, &format!("mow answer {} {choice}", question.id)))
                .collect();
            let _ = writeln!(text, "  {}", commands.join(&painted(DIM, "  or  ")));
        }
    }
    text.push('\n');
}

/// `mow answer`.
pub(super) fn answer(context: &Context, args: &AnswerArgs) -> Result<Output, Failure> {
    let (run, item) = open(context, args.id)?;
    let text = item.ask.accept(&args.text.join(" ")).map_err(|problem| {
        let choices = item.ask.choices.join(", ");
        let hint = if choices.is_empty() { "write some text".to_owned() } else { choices };
        Failure::refused(format!("question {}: {problem}", args.id)).hint(hint)
    })?;
    leave(context, &run, args.id, &text)
}

/// `mow approve` and `mow deny`: the first choice and the last.
pub(super) fn verdict(context: &Context, args: &VerdictArgs, yes: bool) -> Result<Output, Failure> {
    let (run, item) = open(context, args.id)?;
    let Some(text) = item.ask.verdict(yes).map(str::to_owned) else {
        let message = format!("question {} is not answered by yes or no", args.id);
        return Err(Failure::refused(message).hint(command_for(&item)));
    };
    leave(context, &run, args.id, &text)
}

/// Loads the run and a question of it that nobody has answered.
fn open(context: &Context, id: u32) -> Result<(Run, Item), Failure> {
    steer::must_be_person()?;
    let run = Run::load(context, None)?;
    let Some(item) = run.lead.items.get(&id).cloned() else {
        let open: Vec<_> = run.lead.open_items().map(|item| item.id.to_string()).collect();
        let hint = match open.as_slice() {
            [] => "no question is open: mow inbox --all".to_owned(),
            open => format!("open questions: {}", open.join(", ")),
        };
        return Err(Failure::refused(format!("there is no question {id}")).hint(hint));
    };
    if let Some(answer) = &item.answer {
        let message = format!("question {id} was answered before: {answer}");
        return Err(Failure::refused(message).hint("mow inbox shows what is open"));
    }
    Ok((run, item))
}

/// Says that somebody else was quicker, whose answer waits for the lead.
fn too_late(run: &Run, id: u32, answer: &str) -> Result<Failure, Failure> {
    let message = format!("question {id} is answered already: {answer}");
    let hint = match run.lead_pid()? {
        Some(_) => "the lead is about to take it up".to_owned(),
        None => format!("{} takes it up", run.go_on()),
    };
    Ok(Failure::refused(message).hint(hint))
}

fn leave(context: &Context, run: &Run, id: u32, text: &str) -> Result<Output, Failure> {
    let said = format!("Question {id}: {}.", fit(text, usize::MAX));
    match Left::answer_to(run, id, text)? {
        Ok(left) => left.answer(context, &said),
        Err(answer) => Err(too_late(run, id, &answer)?),
    }
}
