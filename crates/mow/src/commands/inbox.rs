//! `mow inbox`, `mow answer`, `mow approve`, `mow deny`: the questions of a run and their answers.
//!
//! Answers are queued in a file for the lead, so they work without a running lead. An answer that
//! would have no effect is refused at once, while the person still sees it.

use std::fmt::Write;

use mow_core::inbox::InboxItem;
use mow_core::lead::Command;
use serde::Serialize;
use serde_json::json;

use super::steer::{self, QueuedCommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::runs::{Run, format_age, format_utc};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, YELLOW, fit_line, styled, width, wrap};

/// The arguments of `inbox`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List answered questions too
    #[arg(long)]
    all: bool,
}

/// The arguments of `answer`.
#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// The number of the question, as `mow inbox` shows it
    id: u32,
    /// A choice by its word, its first letters or its number; free text if the question allows it
    #[arg(required = true)]
    text: Vec<String>,
}

/// The arguments of `approve` and `deny`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerdictArgs {
    /// The number of the question, as `mow inbox` shows it
    id: u32,
}

/// The row of one question. Field names are JSON keys.
#[derive(Serialize)]
struct QuestionRow {
    id: u32,
    phase: Option<String>,
    kind: &'static str,
    question: String,
    choices: Vec<String>,
    since: Option<String>,
    /// The answer; for a pending question the answer that the lead has not processed yet.
    answer: Option<String>,
    /// `open`, `pending` when the lead has not processed the answer yet, or `answered`.
    state: &'static str,
    /// The command that answers the question.
    command: String,
    #[serde(skip)]
    asked_at: u64,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, None)?;
    let pending = run.pending_commands()?;
    let asked_at = run.asked_at();
    let rows: Vec<_> = run
        .lead
        .inbox
        .items
        .values()
        .filter(|item| args.all || item.answer.is_none())
        .map(|item| question_row(item, &pending, asked_at.get(&item.id).copied()))
        .collect();
    if context.wants_json() {
        return Ok(Output::pretty_json(json!({ "run": run.dir.run(), "questions": rows })));
    }
    if rows.is_empty() {
        let text =
            format!("No question waits for you. Run {}: {}.\n", run.dir.run(), run.progress());
        return Ok(Output::Text(text));
    }
    let mut text = String::new();
    for question in &rows {
        write_question(&mut text, question);
    }
    if run.lead_pid()?.is_none() {
        let _ = writeln!(
            text,
            "The run is stopped. Continue with {}.",
            styled(CYAN, &run.resume_command())
        );
    }
    Ok(Output::Text(text))
}

fn question_row(item: &InboxItem, pending: &[Command], at: Option<u64>) -> QuestionRow {
    let waiting = pending_answer(pending, item.id);
    let state = match (&item.answer, waiting) {
        (Some(_), _) => "answered",
        (None, Some(_)) => "pending",
        (None, None) => "open",
    };
    QuestionRow {
        id: item.id,
        phase: item.phase.map(|phase| phase.to_string()),
        kind: item.ask.kind.name(),
        question: item.ask.question.clone(),
        choices: item.ask.choices.clone(),
        since: at.map(format_utc),
        answer: item.answer.clone().or_else(|| waiting.map(str::to_owned)),
        state,
        command: command_for(item),
        asked_at: at.unwrap_or_default(),
    }
}

/// Returns the queued answer to a question, which the lead has not processed yet.
fn pending_answer(pending: &[Command], id: u32) -> Option<&str> {
    pending.iter().find_map(|command| match command {
        Command::Answer { item, text } if *item == id => Some(text.as_str()),
        _ => None,
    })
}

/// Returns a command that answers a question, with its first choice where there are choices.
fn command_for(item: &InboxItem) -> String {
    match item.ask.choices.as_slice() {
        [] => format!("mow answer {} \"your answer\"", item.id),
        [first, ..] => format!("mow answer {} {first}", item.id),
    }
}

/// Writes a question with its number, age, and answer or answer commands.
fn write_question(text: &mut String, question: &QuestionRow) {
    let phase =
        question.phase.as_ref().map_or("the run".to_owned(), |phase| format!("phase {phase}"));
    let head = format!(
        "{} · {phase} · {} · {} ago",
        question.id,
        question.kind,
        format_age(question.asked_at)
    );
    let _ = writeln!(text, "{}", styled(BOLD, &head));
    for line in wrap(&question.question, width().saturating_sub(4)) {
        let _ = writeln!(text, "  {line}");
    }
    match question.state {
        "answered" => {
            let answer = fit_line(question.answer.as_deref().unwrap_or_default(), usize::MAX);
            let _ = writeln!(text, "  {}", styled(GREEN, &format!("answered: {answer}")));
        }
        "pending" => {
            let answer = fit_line(question.answer.as_deref().unwrap_or_default(), usize::MAX);
            let line = format!("answered: {answer} (the run has not processed it yet)");
            let _ = writeln!(text, "  {}", styled(YELLOW, &line));
        }
        _ if question.choices.is_empty() => {
            let _ = writeln!(text, "  {}", styled(CYAN, &question.command));
        }
        _ => {
            let commands: Vec<_> = question
                .choices
                .iter()
                .map(|choice| styled(CYAN, &format!("mow answer {} {choice}", question.id)))
                .collect();
            let _ = writeln!(text, "  {}", commands.join(&styled(DIM, "  or  ")));
        }
    }
    text.push('\n');
}

/// `mow answer`.
pub(super) fn answer(context: &Context, args: &AnswerArgs) -> Result<Output, Failure> {
    let (run, item) = load_open_question(context, args.id)?;
    let text = item.ask.accept(&args.text.join(" ")).map_err(|problem| {
        let choices = item.ask.choices.join(", ");
        let hint =
            if choices.is_empty() { "the answer must not be empty".to_owned() } else { choices };
        Failure::refused(format!("question {}: {problem}", args.id)).hint(hint)
    })?;
    queue_answer(context, &run, args.id, &text)
}

/// `mow approve` and `mow deny`: answers with the first or the last choice.
pub(super) fn verdict(context: &Context, args: &VerdictArgs, yes: bool) -> Result<Output, Failure> {
    let (run, item) = load_open_question(context, args.id)?;
    let Some(text) = item.ask.verdict(yes).map(str::to_owned) else {
        let message = format!("question {} has no choices to approve or deny", args.id);
        return Err(Failure::refused(message).hint(command_for(&item)));
    };
    queue_answer(context, &run, args.id, &text)
}

/// Loads the run and one of its unanswered questions.
fn load_open_question(context: &Context, id: u32) -> Result<(Run, InboxItem), Failure> {
    steer::refuse_agents()?;
    let run = Run::load(context, None)?;
    let Some(item) = run.lead.inbox.items.get(&id).cloned() else {
        let open: Vec<_> = run.lead.inbox.open().map(|item| item.id.to_string()).collect();
        let hint = match open.as_slice() {
            [] => "no question is open; `mow inbox --all` lists answered ones".to_owned(),
            open => format!("the open questions are {}", open.join(", ")),
        };
        return Err(Failure::refused(format!("there is no question {id}")).hint(hint));
    };
    if let Some(answer) = &item.answer {
        let message = format!("question {id} is already answered: {answer}");
        return Err(Failure::refused(message).hint("`mow inbox` lists the open questions"));
    }
    Ok((run, item))
}

/// The failure when another answer to the question is already queued.
fn already_answered(run: &Run, id: u32, answer: &str) -> Result<Failure, Failure> {
    let message = format!("question {id} is already answered: {answer}");
    let hint = match run.lead_pid()? {
        Some(_) => "the run will process that answer".to_owned(),
        None => format!("continue the run with `{}`", run.resume_command()),
    };
    Ok(Failure::refused(message).hint(hint))
}

/// Queues an answer for the lead, and reports it.
fn queue_answer(context: &Context, run: &Run, id: u32, text: &str) -> Result<Output, Failure> {
    let message = format!("Answered question {id}: {}.", fit_line(text, usize::MAX));
    match QueuedCommand::answer_to(run, id, text)? {
        Ok(queued) => queued.output(context, &message),
        Err(answer) => Err(already_answered(run, id, &answer)?),
    }
}
