//! Prints the output, warnings and failures of commands.
//!
//! Contract commands print one JSON value without a final newline, or with `--raw` a bare value.
//! JSON above 50,000 characters goes to a file, and its path is printed instead. Commands for
//! people print text, and JSON with `--json`.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::terminal::strip_unwanted_colors;

/// The most characters of JSON that are printed; longer JSON goes to a file.
const INLINE_JSON_MAX: usize = 50_000;

/// The output of a command.
#[derive(Debug)]
pub(crate) enum Output {
    /// JSON of a contract command; with `--raw` the bare value is printed if there is one.
    Json { text: String, raw: Option<String> },
    /// Text; colours are removed where they are not wanted.
    Text(String),
    /// Text that reports problems; the exit code is 1.
    Findings(String),
    /// Text whose colours already fit the terminal; printed byte for byte.
    Verbatim(String),
}

impl Output {
    /// Creates JSON output that ignores `--raw`.
    pub(crate) fn json(value: impl Serialize) -> Self {
        Self::Json { text: pretty(&value), raw: None }
    }

    /// Creates JSON output with a bare value for `--raw`.
    pub(crate) fn with_raw(value: impl Serialize, raw: impl Into<String>) -> Self {
        Self::Json { text: pretty(&value), raw: Some(raw.into()) }
    }

    /// Creates JSON output that `--raw` prints on one line.
    pub(crate) fn with_compact(value: impl Serialize) -> Self {
        let raw = compact(&value);
        Self::with_raw(value, raw)
    }

    /// Creates JSON output of a command outside the contract; it never goes to a file.
    pub(crate) fn pretty_json(value: impl Serialize) -> Self {
        Self::Text(pretty(&value) + "\n")
    }
}

/// The output of a finished command, with the context that decides how to print it.
pub(crate) struct CommandOutput {
    pub(crate) output: Output,
    pub(crate) context: Context,
}

/// Prints the output or the failure of a command, and returns the exit code.
pub(crate) fn finish(result: Result<CommandOutput, Failure>) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let printed = match result {
        Ok(answer) => {
            if matches!(answer.output, Output::Findings(_)) {
                code = ExitCode::from(crate::failure::code::REFUSED);
            }
            print(&answer)
        }
        Err(failure) => {
            print_failure(&failure);
            return ExitCode::from(failure.code);
        }
    };
    match printed {
        // The reader has closed the pipe, as in `mow … | head`.
        Err(PrintError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => code,
        Err(PrintError::Io(error)) => {
            print_failure(&Failure::refused(format!("cannot write the output: {error}")));
            ExitCode::from(crate::failure::code::OUTSIDE)
        }
        Err(PrintError::Failure(failure)) => {
            print_failure(&failure);
            ExitCode::from(failure.code)
        }
        Ok(()) => code,
    }
}

/// Why output could not be printed.
enum PrintError {
    Io(io::Error),
    Failure(Failure),
}

fn print(answer: &CommandOutput) -> Result<(), PrintError> {
    let context = &answer.context;
    match &answer.output {
        Output::Json { raw: Some(raw), .. } if context.raw => write(&with_newline_on_terminal(raw)),
        Output::Json { text, .. } if is_long(text) => {
            let path = context.spill(text).map_err(PrintError::Failure)?;
            write(&format!("@file:{}", path.display()))
        }
        Output::Json { text, .. } => write(&with_newline_on_terminal(text)),
        Output::Text(text) | Output::Findings(text) => write(text),
        Output::Verbatim(text) => write_bytes(text),
    }
}

/// Adds a final newline on a terminal only; scripts get the bare value.
fn with_newline_on_terminal(text: &str) -> Cow<'_, str> {
    let lacks_newline = !text.is_empty() && !text.ends_with('\n');
    if lacks_newline && io::stdout().is_terminal() {
        return Cow::Owned(format!("{text}\n"));
    }
    Cow::Borrowed(text)
}

fn is_long(text: &str) -> bool {
    text.len() > INLINE_JSON_MAX && text.chars().count() > INLINE_JSON_MAX
}

/// Returns a value as JSON on one line.
pub(crate) fn compact(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("output has string keys and serializers that do not fail")
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value)
        .expect("output has string keys and serializers that do not fail")
}

/// Writes to standard output; removes colours where they are not wanted.
fn write(text: &str) -> Result<(), PrintError> {
    write_bytes(&strip_unwanted_colors(text, &io::stdout()))
}

/// Writes to standard output without changes.
fn write_bytes(text: &str) -> Result<(), PrintError> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(PrintError::Io)
}

/// Writes a part of longer output; returns `false` when the reader has closed the pipe.
pub(crate) fn stream(text: &str) -> Result<bool, Failure> {
    match write(text) {
        Ok(()) => Ok(true),
        Err(PrintError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(PrintError::Io(error)) => {
            let failure = Failure::refused(format!("cannot write the output: {error}"));
            Err(Failure { code: crate::failure::code::OUTSIDE, ..failure })
        }
        Err(PrintError::Failure(failure)) => Err(failure),
    }
}

/// Writes to standard error; removes colours where they are not wanted.
pub(crate) fn write_stderr(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(strip_unwanted_colors(text, &stderr).as_bytes()).and_then(|()| stderr.flush())
}

/// Writes a failure to standard error; with `--json` as an object, for scripts.
fn print_failure(failure: &Failure) {
    let text = if std::env::args_os().any(|arg| arg == "--json") {
        let Failure { code, kind, message, hint } = failure;
        pretty(&json!({ "error": message, "kind": kind, "code": code, "hint": hint })) + "\n"
    } else {
        let hint = failure.hint.as_ref();
        let hint = hint.map_or(String::new(), |hint| format!("Hint: {}\n", one_line(hint)));
        format!("Error: {}\n{hint}", one_line(&failure.message))
    };
    // If standard error cannot be written, nothing else can be done.
    let _ = write_stderr(&text);
}

/// Escapes control characters, so that user input cannot break the line or control the terminal.
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

/// Writes a warning to standard error; changes neither the output nor the exit code.
pub(crate) fn warn(message: &str) {
    let _ = write_stderr(&format!("Warning: {}\n", one_line(message)));
}

/// Writes a note to standard error; changes neither the output nor the exit code.
pub(crate) fn notice(message: &str) {
    let _ = write_stderr(&format!("MOW: {}\n", one_line(message)));
}
