//! `mow message …`: messages of workers and lead, made and checked.

mod fill;
mod words;

use clap::Subcommand;
use mow_core::message::{self, BYTES_MAX, ENVELOPE, Kind, Received, Refusal};
use serde_json::{Map, Value, json};

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, warn};
use words::Words;

/// Commands on messages.
#[derive(Debug, Subcommand)]
pub(crate) enum Message {
    /// Make a message of its type and its fields
    #[command(
        after_help = "Fields are free: --some-key VALUE becomes some_key. --summary adds a line for people.\n\nExample:\n  mow message format plan_started --phase 3 --plan 03-01 --activity \"writing tests\" --summary"
    )]
    Format {
        /// The type, then its fields
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_names = ["TYPE", "--KEY VALUE"]
        )]
        words: Vec<String>,
    },
    /// Check a message and print what it says
    Parse {
        /// The message
        #[arg(allow_hyphen_values = true, value_name = "JSON")]
        text: String,
    },
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let hint = match &refusal {
            Refusal::MissingFields { kind, fields } => {
                let flags = fields.iter().map(|field| format!(" --{} …", field.replace('_', "-")));
                format!("mow message format {}{}", kind.name(), flags.collect::<String>())
            }
            _ => "mow message format --help".to_owned(),
        };
        Self::refused(refusal.to_string()).hint(hint)
    }
}

impl Message {
    pub(super) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Format { words } => format(context, words),
            Self::Parse { text } => Ok(Output::with_compact(verdict(message::parse(text)))),
        }
    }
}

fn format(context: &Context, words: &[String]) -> Result<Output, Failure> {
    let name = words.first().filter(|word| !words::is_flag(word)).map_or("", String::as_str);
    let kind = Kind::parse(name).ok_or_else(|| unknown_type(name))?;
    let Words { mut fields, summary, cwd, empty } = Words::parse(&words[1..]);
    for flag in empty {
        warn(&format!("{flag} has no value and is left out"));
    }
    for key in ENVELOPE.into_iter().filter(|key| fields.contains_key(*key)) {
        warn(&format!("--{key} is set by mow and is left out"));
    }
    match cwd {
        Some(cwd) => {
            fill::fill(&Context::new(false, false, Some(cwd.as_ref()))?, kind, &mut fields)
        }
        None => fill::fill(context, kind, &mut fields),
    }?;
    let message = message::Message::new(kind, fields)?;
    if let Some(word) = message.unknown_input_type() {
        warn(&format!("Unrecognized input_type: {word}"));
    }
    let text = message.render(&now(), summary);
    if text.len() > BYTES_MAX {
        warn(&format!("the message has {} bytes, more than 1KB ({BYTES_MAX})", text.len()));
    }
    let value = json!({ "message": text, "size": text.len(), "type": kind.name() });
    Ok(Output::with_raw(value, text))
}

fn unknown_type(name: &str) -> Failure {
    let known = Kind::ALL.map(Kind::name).join(", ");
    let name = if name.is_empty() { "none given" } else { name };
    Failure::refused(format!("Unknown event type: {name}. Known types: {known}"))
        .hint("mow message format plan_started --phase 3 --plan 03-01")
}

/// Puts what was read into the form of the answer; no key of the message can speak for us.
fn verdict(received: Received) -> Value {
    let Received { mut object, warnings, kind } = received;
    let mut verdict = Map::new();
    verdict.insert("valid".to_owned(), json!(kind.is_ok()));
    let is_json = !matches!(kind, Err(Refusal::NotJson(_)));
    let is_valid = kind.is_ok();
    match kind {
        Ok(_) => {
            object.shift_remove("valid");
            object.shift_remove("warnings");
            verdict.extend(object);
        }
        Err(refusal) => drop(verdict.insert("error".to_owned(), json!(refusal.to_string()))),
    }
    if is_json && !(is_valid && warnings.is_empty()) {
        verdict.insert("warnings".to_owned(), json!(warnings));
    }
    Value::Object(verdict)
}
