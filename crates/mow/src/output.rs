//! The one place that prints.
//!
//! Contract commands print one JSON value without a final newline, or with `--raw` a bare value.
//! JSON above 50,000 characters goes to a file, and its name is printed instead. Commands for
//! people print text, and JSON with `--json`.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::suited;

/// How many characters of JSON are printed before it goes to a file.
const PRINTED_MAX: usize = 50_000;

/// What a command answers.
#[derive(Debug)]
pub(crate) enum Output {
    /// JSON of the contract, or with `--raw` a bare value where there is one.
    Json { text: String, raw: Option<String> },
    /// Anything else; colours are taken off where they are not wanted.
    Text(String),
    /// A finding that things are not in order: printed like text, with exit code 1.
    Findings(String),
    /// Text whose colours were chosen for where it goes, printed byte for byte.
    Drawn(String),
}

impl Output {
    /// Answers with JSON whatever the flags.
    pub(crate) fn json(value: impl Serialize) -> Self {
        Self::Json { text: pretty(&value), raw: None }
    }

    /// Answers with JSON, or with a bare value for `--raw`.
    pub(crate) fn with_raw(value: impl Serialize, raw: impl Into<String>) -> Self {
        Self::Json { text: pretty(&value), raw: Some(raw.into()) }
    }

    /// Answers with JSON, or with the same on one line for `--raw`.
    pub(crate) fn with_compact(value: impl Serialize) -> Self {
        let raw = compact(&value);
        Self::with_raw(value, raw)
    }

    /// Answers a command that is not of the contract with JSON: never through a file.
    pub(crate) fn json_lines(value: impl Serialize) -> Self {
        Self::Text(pretty(&value) + "\n")
    }
}

/// A finished command: what to print, and how.
pub(crate) struct Answer {
    pub(crate) output: Output,
    pub(crate) context: Context,
}

/// Prints an answer or a failure and returns the exit code.
pub(crate) fn finish(result: Result<Answer, Failure>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let printed = match result {
        Ok(answer) => {
            if matches!(answer.output, Output::Findings(_)) {
                code = ExitCode::from(crate::failure::code::REFUSED);
            }
            print(&answer)
        }
        Err(failure) => {
            report(&failure);
            return ExitCode::from(failure.code);
        }
    };
    match printed {
        // The reader has gone, as in `mow … | head`: nobody is left to tell.
        Err(Stop::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Err(Stop::Io(error)) => {
            report(&Failure::refused(format!("cannot write the answer: {error}")));
            ExitCode::from(crate::failure::code::OUTSIDE)
        }
        Err(Stop::Failure(failure)) => {
            report(&failure);
            ExitCode::from(failure.code)
        }
        Ok(()) => code,
    }
}

enum Stop {
    Io(io::Error),
    Failure(Failure),
}

fn print(answer: &Answer) -> Result<(), Stop> {
    let context = &answer.context;
    match &answer.output {
        Output::Json { raw: Some(raw), .. } if context.raw => write(&on_own_line(raw)),
        Output::Json { text, .. } if is_long(text) => {
            let path = context.spill(text).map_err(Stop::Failure)?;
            write(&format!("@file:{}", path.display()))
        }
        Output::Json { text, .. } => write(&on_own_line(text)),
        Output::Text(text) | Output::Findings(text) => write(text),
        Output::Drawn(text) => write_bytes(text),
    }
}

/// Scripts get the bare value; a person's prompt wants its own line.
fn on_own_line(text: &str) -> Cow<'_, str> {
    let is_open = !text.is_empty() && !text.ends_with('\n');
    if is_open && io::stdout().is_terminal() {
        return Cow::Owned(format!("{text}\n"));
    }
    Cow::Borrowed(text)
}

fn is_long(text: &str) -> bool {
    text.len() > PRINTED_MAX && text.chars().count() > PRINTED_MAX
}

/// Returns a value as JSON on one line.
pub(crate) fn compact(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("answers have string keys and no failing parts")
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("answers have string keys and no failing parts")
}

/// Writes to standard output; colours are taken off where they are not wanted.
fn write(text: &str) -> Result<(), Stop> {
    write_bytes(&suited(text, &io::stdout()))
}

/// Writes to standard output as it is.
fn write_bytes(text: &str) -> Result<(), Stop> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Stop::Io)
}

/// Writes a part of an answer that goes on; returns whether anybody still reads.
pub(crate) fn stream(text: &str) -> Result<bool, Failure> {
    match write(text) {
        Ok(()) => Ok(true),
        Err(Stop::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(Stop::Io(error)) => {
            let failure = Failure::refused(format!("cannot write the answer: {error}"));
            Err(Failure { code: crate::failure::code::OUTSIDE, ..failure })
        }
        Err(Stop::Failure(failure)) => Err(failure),
    }
}

/// Writes to standard error; colours are taken off where they are not wanted.
pub(crate) fn say(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(suited(text, &stderr).as_bytes()).and_then(|()| stderr.flush())
}

/// Writes a failure to standard error; with `--json` as an object, for scripts.
fn report(failure: &Failure) {
    let text = if std::env::args_os().any(|arg| arg == "--json") {
        let Failure { code, kind, message, hint } = failure;
        pretty(&json!({ "error": message, "kind": kind, "code": code, "hint": hint })) + "\n"
    } else {
        let hint = failure.hint.as_ref();
        let hint = hint.map_or(String::new(), |hint| format!("Hint: {}\n", one_line(hint)));
        format!("Error: {}\n{hint}", one_line(&failure.message))
    };
    // Nothing is left to do when even this cannot be written.
    let _ = say(&text);
}

/// Returns a text with control characters made visible: what somebody typed must neither break the
/// line nor speak to the terminal.
fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let shown = text.chars().map(|c| match c {
        c if c.is_control() => c.escape_debug().to_string(),
        c => c.to_string(),
    });
    Cow::Owned(shown.collect())
}

/// Writes a warning, which never changes the answer or the exit code.
pub(crate) fn warn(message: &str) {
    let _ = say(&format!("Warning: {}\n", one_line(message)));
}

/// Writes a line about what was done on the side, which never changes the answer or the exit code.
pub(crate) fn notice(message: &str) {
    let _ = say(&format!("MOW: {}\n", one_line(message)));
}
