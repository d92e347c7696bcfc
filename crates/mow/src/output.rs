//! The one place that prints.
//!
//! Contract commands print one JSON value without a final newline, or with `--raw` a bare value.
//! JSON above 50,000 characters goes to a file, and its name is printed instead. Commands for
//! people print text, and JSON with `--json`.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;

/// How many characters of JSON are printed before it goes to a file.
const PRINTED_MAX: usize = 50_000;

/// What a command answers.
#[derive(Debug)]
pub(crate) enum Output {
    /// JSON, or with `--raw` a bare value where the contract defines one.
    Json { value: Value, raw: Option<String> },
    /// Text, or with `--raw` or `--json` the same as JSON.
    Text { text: String, value: Value },
    /// Text that is meant for another program as it is: a drawing, a completion script.
    Plain(String),
}

impl Output {
    /// Answers with JSON whatever the flags.
    pub(crate) fn json(value: Value) -> Self {
        Self::Json { value, raw: None }
    }

    /// Answers with JSON, or with a bare value for `--raw`.
    pub(crate) fn with_raw(value: Value, raw: impl Into<String>) -> Self {
        Self::Json { value, raw: Some(raw.into()) }
    }
}

/// A finished command: what to print, and how.
pub(crate) struct Answer {
    pub(crate) output: Output,
    pub(crate) context: Context,
}

/// Prints an answer or a failure and returns the exit code.
pub(crate) fn finish(result: Result<Answer, Failure>) -> ExitCode {
    let printed = match result {
        Ok(answer) => print(&answer),
        Err(failure) => {
            report(&failure);
            return ExitCode::from(failure.code);
        }
    };
    match printed {
        // The reader has gone, as in `mow … | head`: nobody is left to tell.
        Err(Stop::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Stop::Io(error)) => {
            report(&Failure::refused(format!("cannot write the answer: {error}")));
            ExitCode::from(crate::failure::code::OUTSIDE)
        }
        Err(Stop::Failure(failure)) => {
            report(&failure);
            ExitCode::from(failure.code)
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

enum Stop {
    Io(io::Error),
    Failure(Failure),
}

fn print(answer: &Answer) -> Result<(), Stop> {
    let context = &answer.context;
    match &answer.output {
        Output::Json { raw: Some(raw), .. } if context.raw => write(raw),
        Output::Json { value, .. } => {
            let text = pretty(value);
            if text.chars().count() > PRINTED_MAX {
                let path = context.spill(&text).map_err(Stop::Failure)?;
                return write(&format!("@file:{}", path.display()));
            }
            write(&text)
        }
        Output::Text { value, .. } if context.raw || context.json => write(&(pretty(value) + "\n")),
        Output::Text { text, .. } | Output::Plain(text) => write(text),
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).expect("a JSON value can always be printed")
}

/// Writes to standard output; colours are taken off where they are not wanted.
fn write(text: &str) -> Result<(), Stop> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Stop::Io)
}

/// Writes a failure to standard error; with `--json` as an object, for scripts.
fn report(failure: &Failure) {
    let text = if std::env::args_os().any(|arg| arg == "--json") {
        let Failure { code, kind, message, hint } = failure;
        pretty(&json!({ "error": message, "kind": kind, "code": code, "hint": hint })) + "\n"
    } else {
        let hint = failure.hint.as_ref().map_or(String::new(), |hint| format!("Hint: {hint}\n"));
        format!("Error: {}\n{hint}", failure.message)
    };
    // Nothing is left to do when even this cannot be written.
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Writes a warning, which never changes the answer or the exit code.
pub(crate) fn warn(message: &str) {
    let _ = writeln!(anstream::stderr(), "Warning: {message}");
}
