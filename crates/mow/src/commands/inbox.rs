//! `mow inbox`, `mow answer`, `mow approve`, `mow deny`, `mow take-back`: the questions of a run and their answers.
//!
//! Answers are queued in a file for the lead, so they work without a running lead. An answer that
//! would have no effect is refused at once, while the person still sees it.

use std::fmt::Write;
use std::time::{Duration, Instant};

use mow_core::inbox::{QuestionSubject, SubjectAction};
use mow_core::lead::Command;
use mow_core::view::{ChoiceView, QuestionState, QuestionView};
use mow_engine::client::{
    AgentPolicy, AnswerRequest, Client, PersonAnswer, Refusal, TakeBackRequest,
};

use super::plural::counted;
use super::steer;
use crate::caller::caller;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Output;
use crate::refusal::refusal_about;
use crate::runs::{Run, format_age, resume_command};
use crate::terminal::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, fit_line, styled, width, wrap};
use crate::wire::inbox::InboxJson;

/// How long to wait until a running lead has processed a take-back, and how often to look.
const TAKE_BACK_WAIT: Duration = Duration::from_secs(5);
const TAKE_BACK_POLL: Duration = Duration::from_millis(50);
/// The most lines of a change that are shown.
const DIFF_LINES_MAX: usize = 20;

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
    /// Refuse if this is not the digest of the question; `mow inbox --json` has it
    #[arg(long, value_name = "DIGEST")]
    seen: Option<String>,
}

/// The arguments of `approve` and `deny`.
#[derive(Debug, clap::Args)]
pub(crate) struct VerdictArgs {
    /// The number of the question, as `mow inbox` shows it
    id: u32,
    /// Refuse if this is not the digest of the question; `mow inbox --json` has it
    #[arg(long, value_name = "DIGEST")]
    seen: Option<String>,
}

/// The arguments of `take-back`.
#[derive(Debug, clap::Args)]
pub(crate) struct TakeBackArgs {
    /// The number of the question, as `mow inbox` shows it
    id: u32,
}

pub(super) fn run(context: &Context, args: &Args) -> Result<Output, Failure> {
    let run = Run::load(context, None)?;
    let mut questions = run.all_questions()?;
    questions.retain(|question| args.all || question.state != QuestionState::Answered);
    if context.wants_json() {
        return Ok(Output::pretty_json(InboxJson::new(run.dir.run(), &questions)));
    }
    let view = run.view();
    if questions.is_empty() {
        let text = format!("No question waits for you. Run {}: {}.\n", view.run, view.progress());
        return Ok(Output::Text(text));
    }
    let mut text = String::new();
    for question in &questions {
        write_question(&mut text, question, view.now);
    }
    if run.lead_pid()?.is_none() {
        let command = styled(CYAN, &resume_command(&view));
        let _ = writeln!(text, "The run is stopped. Continue with {command}.");
    }
    Ok(Output::Text(text))
}

/// Writes a question with its number, age, and answer or answer commands.
fn write_question(text: &mut String, question: &QuestionView, now: u64) {
    let phase = question.phase.map_or("the run".to_owned(), |phase| format!("phase {phase}"));
    let (id, kind) = (question.id, question.kind.name());
    let age = format_age(question.asked_at.unwrap_or_default(), now);
    let _ = writeln!(text, "{}", styled(BOLD, &format!("{id} · {phase} · {kind} · {age} ago")));
    for line in wrap(&question.question, width().saturating_sub(4)) {
        let _ = writeln!(text, "  {line}");
    }
    if question.state == QuestionState::Open {
        write_subject(text, question.subject.as_ref());
    }
    let answer = fit_line(question.answer.as_deref().unwrap_or_default(), usize::MAX);
    match question.state {
        QuestionState::Answered => {
            let _ = writeln!(text, "  {}", styled(GREEN, &format!("answered: {answer}")));
        }
        QuestionState::Queued => {
            let line = format!("answered: {answer} (the run has not processed it yet)");
            let _ = writeln!(text, "  {}", styled(YELLOW, &line));
        }
        QuestionState::Open if question.choices.is_empty() => {
            let _ = writeln!(text, "  {}", styled(CYAN, &question.command()));
        }
        QuestionState::Open if question.choices.iter().any(|c| !c.description.is_empty()) => {
            for choice in &question.choices {
                let command = styled(CYAN, &format!("mow answer {id} {}", choice.label));
                let description = fit_line(&choice.description, usize::MAX);
                let _ = writeln!(text, "  {command}  {}", styled(DIM, &description));
            }
        }
        QuestionState::Open => {
            let command = |choice: &ChoiceView| format!("mow answer {id} {}", choice.label);
            let commands: Vec<_> =
                question.choices.iter().map(|choice| styled(CYAN, &command(choice))).collect();
            let _ = writeln!(text, "  {}", commands.join(&styled(DIM, "  or  ")));
        }
    }
    text.push('\n');
}

/// Writes the change that an agent wants to make; the question itself has a command or a path.
fn write_subject(text: &mut String, subject: Option<&QuestionSubject>) {
    let Some(SubjectAction::Edit { diff, .. }) = subject.and_then(|s| s.action.as_ref()) else {
        return;
    };
    for line in diff.lines().take(DIFF_LINES_MAX) {
        let line = fit_line(line, width().saturating_sub(4));
        let style = match line.chars().next() {
            Some('+') => GREEN,
            Some('-') => RED,
            _ => DIM,
        };
        let _ = writeln!(text, "    {}", styled(style, &line));
    }
    if let Some(more @ 1..) = diff.lines().count().checked_sub(DIFF_LINES_MAX) {
        let _ =
            writeln!(text, "    {}", styled(DIM, &format!("and {} more", counted(more, "line"))));
    }
}

/// `mow answer`.
pub(super) fn answer(context: &Context, args: &AnswerArgs) -> Result<Output, Failure> {
    let (answer, seen) = (PersonAnswer::Text(args.text.join(" ")), args.seen.clone());
    submit_answer(context, AnswerRequest { item: args.id, answer, seen })
}

/// `mow approve` and `mow deny`: answers with the first or the last choice.
pub(super) fn verdict(context: &Context, args: &VerdictArgs, yes: bool) -> Result<Output, Failure> {
    let answer = if yes { PersonAnswer::Approve } else { PersonAnswer::Deny };
    submit_answer(context, AnswerRequest { item: args.id, answer, seen: args.seen.clone() })
}

/// `mow take-back`: takes back an answer that no lead has taken up.
pub(super) fn take_back(context: &Context, args: &TakeBackArgs) -> Result<Output, Failure> {
    let (caller, item) = (caller(), args.id);
    let project = context.main_project()?;
    Client::of_project(&project).check_caller(AgentPolicy::Refuse, &caller)?;
    let mut run = Run::load(context, None)?;
    let receipt = run
        .client()
        .submit(TakeBackRequest { item }, &caller)
        .map_err(|refusal| refusal_about(&run, refusal))?;
    // A running lead may have taken up the answer in the meantime; only it can tell.
    let deadline = Instant::now() + TAKE_BACK_WAIT;
    while receipt.lead.is_some() && !run.has_processed(receipt.seq) && Instant::now() < deadline {
        std::thread::sleep(TAKE_BACK_POLL);
        run = Run::load(context, None)?;
    }
    if let Some(answer) = run.answer_to(item) {
        let answer = Some(answer);
        return Err(refusal_about(&run, Refusal::NothingToTakeBack { item, answer }));
    }
    let is_certain = receipt.lead.is_none() || run.has_processed(receipt.seq);
    let message = if is_certain {
        format!("Took back the answer to question {item}; it is open again.")
    } else {
        format!("Requested: take back the answer to question {item}. `mow inbox` shows the result.")
    };
    if run.has_processed(receipt.seq) && !context.wants_json() {
        return Ok(Output::Text(message + "\n"));
    }
    Ok(steer::queued_output(context, &run, &receipt, &message))
}

/// Queues an answer for the lead, and reports it.
fn submit_answer(context: &Context, request: AnswerRequest) -> Result<Output, Failure> {
    let (caller, item) = (caller(), request.item);
    let project = context.main_project()?;
    Client::of_project(&project).check_caller(AgentPolicy::Refuse, &caller)?;
    let run = Run::load(context, None)?;
    let receipt =
        run.client().submit(request, &caller).map_err(|refusal| refusal_about(&run, refusal))?;
    let text = match &receipt.command {
        Command::Answer { text, .. } => fit_line(text, usize::MAX),
        _ => String::new(),
    };
    let message = format!("Answered question {item}: {text}.");
    Ok(steer::queued_output(context, &run, &receipt, &message))
}
