//! `mow message …` creates and checks the JSON messages between workers and lead.

mod arguments;
mod missing_fields;
mod send;

use clap::Subcommand;
use mow_core::message::{self, BYTES_MAX, ENVELOPE, MessageError, MessageKind, ParsedMessage};
use serde_json::{Map, Value, json};

use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, warn};
use arguments::MessageArguments;

/// The subcommands of `mow message`.
#[derive(Debug, Subcommand)]
pub(crate) enum MessageCommand {
    /// Create a message from its type and fields
    #[command(
        after_help = "Any field is allowed: --some-key VALUE becomes some_key. --summary adds a line for people.\n\nExample:\n  mow message format plan_started --phase 3 --plan 03-01 --activity \"writing tests\" --summary"
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
    /// Send a message to the lead, from inside a phase of a run
    #[command(
        after_help = "TYPE is blocker, error or state_change; mow itself makes all other messages. The phase is filled in.\n\nExample:\n  mow message send blocker --plan 03-01 --blocker \"The port is taken\" --action skip"
    )]
    Send {
        /// The type, then its fields
        #[arg(
            trailing_var_arg = true,
            allow_hyphen_values = true,
            value_names = ["TYPE", "--KEY VALUE"]
        )]
        words: Vec<String>,
    },
    /// Check a message and print its fields
    Parse {
        /// The message as JSON
        #[arg(allow_hyphen_values = true, value_name = "JSON")]
        text: String,
    },
}

impl From<MessageError> for Failure {
    fn from(refusal: MessageError) -> Self {
        let hint = match &refusal {
            MessageError::MissingFields { kind, fields } => {
                let flags = fields.iter().map(|field| format!(" --{} …", field.replace('_', "-")));
                format!("mow message format {}{}", kind.name(), flags.collect::<String>())
            }
            _ => "mow message format --help".to_owned(),
        };
        Self::refused(refusal.to_string()).hint(hint)
    }
}

impl MessageCommand {
    pub(crate) fn run(&self, context: &Context) -> Result<Output, Failure> {
        match self {
            Self::Format { words } => format(context, words),
            Self::Send { words } => send::run(context, words),
            Self::Parse { text } => Ok(Output::with_compact(parse_answer(message::parse(text)))),
        }
    }
}

fn format(context: &Context, words: &[String]) -> Result<Output, Failure> {
    let name = words.first().filter(|word| !arguments::is_flag(word)).map_or("", String::as_str);
    let kind = MessageKind::parse(name).ok_or_else(|| unknown_type(name))?;
    let MessageArguments { mut fields, summary, cwd, empty_flags } =
        MessageArguments::parse(&words[1..]);
    for flag in empty_flags {
        warn(&format!("{flag} has no value and is left out"));
    }
    for key in ENVELOPE.into_iter().filter(|key| fields.contains_key(*key)) {
        warn(&format!("--{key} is set by mow and is left out"));
    }
    match cwd {
        Some(cwd) => missing_fields::fill_missing(
            &Context::new(false, false, Some(cwd.as_ref()))?,
            kind,
            &mut fields,
        ),
        None => missing_fields::fill_missing(context, kind, &mut fields),
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
    let known = MessageKind::ALL.map(MessageKind::name).join(", ");
    let name = if name.is_empty() { "none given" } else { name };
    Failure::refused(format!("Unknown event type: {name}. Known types: {known}"))
        .hint("mow message format plan_started --phase 3 --plan 03-01")
}

/// Builds the answer of `message parse`.
///
/// The keys `valid` and `warnings` are set by mow; the message cannot override them.
fn parse_answer(received: ParsedMessage) -> Value {
    let ParsedMessage { mut object, warnings, kind } = received;
    let mut answer = Map::new();
    answer.insert("valid".to_owned(), json!(kind.is_ok()));
    let is_json = !matches!(kind, Err(MessageError::NotJson(_)));
    let is_valid = kind.is_ok();
    match kind {
        Ok(_) => {
            object.shift_remove("valid");
            object.shift_remove("warnings");
            answer.extend(object);
        }
        Err(refusal) => drop(answer.insert("error".to_owned(), json!(refusal.to_string()))),
    }
    if is_json && !(is_valid && warnings.is_empty()) {
        answer.insert("warnings".to_owned(), json!(warnings));
    }
    Value::Object(answer)
}
