//! `mow message send`: an agent or a hook inside a phase tells the lead something.
//!
//! The message is a report of the phase's worker: a record in the journal of its attempt, durable
//! when the command returns, with or without a live lead. Blockers, and what is too long for a
//! message, are in the phase's STATUS.md as well.

use mow_core::message::{BYTES_MAX, Message, MessageKind};
use mow_core::phase::PhaseNumber;
use mow_engine::contract_messages::status_ref;
use mow_store::{disk, status};
use serde_json::{Map, Value, json};

use super::arguments::{MessageArguments, is_flag};
use crate::caller::{CallingWorker, worker_of_run};
use crate::context::{Context, now};
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::runs::LiveWorktrees;
use crate::status_file;

/// The most bytes of a message with its long texts.
const SENT_BYTES_MAX: usize = 8 * 1024;
/// The most fields of a message.
const FIELDS_MAX: usize = 32;
/// What a worker does because of a blocker.
const ACTIONS: [&str; 3] = ["skip", "pause", "halt"];

pub(super) fn run(context: &Context, words: &[String]) -> Result<Output, Failure> {
    let name = words.first().filter(|word| !is_flag(word)).map_or("", String::as_str);
    let kind = sendable_kind(name)?;
    let arguments = MessageArguments::parse(&words[1..]);
    if let Some(cwd) = arguments.cwd.clone() {
        return send(&Context::new(false, false, Some(cwd.as_ref()))?, kind, arguments);
    }
    send(context, kind, arguments)
}

fn send(
    context: &Context,
    kind: MessageKind,
    arguments: MessageArguments,
) -> Result<Output, Failure> {
    let worker = worker_of_run(context)?.ok_or_else(|| not_in_a_phase(kind))?;
    let message = checked_message(&worker, kind, arguments)?;
    worker.require_open_attempt(&context.project)?;
    let ts = now();
    let whole = message.render(&ts, false);
    if whole.len() > SENT_BYTES_MAX {
        let size = whole.len();
        let problem =
            format!("the message has {size} bytes, and at most {SENT_BYTES_MAX} are allowed");
        return Err(Failure::refused(problem).hint("write the rest into a file of the phase"));
    }
    let mut sent = Map::new();
    sent.insert("type".to_owned(), json!(kind.name()));
    sent.extend(message.fields().clone());
    let seq = worker.send_message(&context.project, &Value::Object(sent))?;
    let mut answer = json!({
        "sent": true, "type": kind.name(), "run": worker.run, "phase": worker.phase,
        "attempt": worker.attempt, "seq": seq,
    });
    let is_long = message.render(&ts, true).len() > BYTES_MAX;
    if let Some(number) = PhaseNumber::parse(&worker.phase)
        && (is_long || kind == MessageKind::Blocker)
    {
        note_in_status(context, &number, &message)?;
        answer["status_ref"] = json!(status_ref(&context.project, &number, kind));
    }
    Ok(Output::json(answer))
}

fn sendable_kind(name: &str) -> Result<MessageKind, Failure> {
    let kind = MessageKind::parse(name);
    if let Some(kind) = kind.filter(|kind| kind.is_for_agents()) {
        return Ok(kind);
    }
    let own = MessageKind::ALL.into_iter().filter(|kind| kind.is_for_agents());
    let own = own.map(MessageKind::name).collect::<Vec<_>>().join(", ");
    let problem = match (kind, name) {
        (Some(_), _) => format!("mow itself makes {name} messages"),
        (None, "") => "the type is missing".to_owned(),
        (None, _) => format!("Unknown event type: {name}"),
    };
    let problem = format!("{problem}; types that can be sent: {own}");
    Err(Failure::refused(problem).hint(example("send", MessageKind::Blocker, "")))
}

/// Returns a command that works for a type.
fn example(command: &str, kind: MessageKind, phase: &str) -> String {
    let fields = match kind {
        MessageKind::Error => "--plan ID --error TEXT",
        MessageKind::StateChange => "--plan ID --from-state STATE --to-state STATE",
        _ => "--plan ID --blocker TEXT --action skip",
    };
    format!("mow message {command} {}{phase} {fields}", kind.name())
}

fn not_in_a_phase(kind: MessageKind) -> Failure {
    let problem = "only an agent or a hook inside a phase of a run can send a message to the lead; \
                   `mow message format` prints a message and sends nothing";
    Failure::refused(problem).hint(example("format", kind, " --phase PHASE"))
}

/// Checks the fields, and fills in the phase of the worker.
fn checked_message(
    worker: &CallingWorker,
    kind: MessageKind,
    arguments: MessageArguments,
) -> Result<Message, Failure> {
    for flag in &arguments.empty_flags {
        warn(&format!("{flag} has no value and is left out"));
    }
    let mut fields = arguments.fields;
    fields.retain(|_, value| value.as_str().is_none_or(|text| !text.trim().is_empty()));
    let named = fields.get("phase").and_then(Value::as_str);
    if let Some(named) = named.filter(|named| **named != worker.phase) {
        let number = PhaseNumber::parse(named)
            .ok_or_else(|| Failure::refused(format!("`{named}` is not a phase number")))?;
        worker.require_own_phase(&number)?;
    }
    fields.insert("phase".to_owned(), json!(worker.phase));
    if fields.len() > FIELDS_MAX {
        return Err(Failure::refused(format!("a message has at most {FIELDS_MAX} fields")));
    }
    let action =
        fields.get("action").and_then(Value::as_str).filter(|word| !ACTIONS.contains(word));
    if let Some(action) = action.filter(|_| kind == MessageKind::Blocker) {
        let problem = format!("unknown action {action}; known actions: {}", ACTIONS.join(", "));
        return Err(Failure::refused(problem).hint(example("send", kind, "")));
    }
    Message::new(kind, fields)
        .map_err(|error| Failure::refused(error.to_string()).hint(example("send", kind, "")))
}

/// Adds the whole text to the phase's STATUS.md: a blocker once, anything else as a note.
fn note_in_status(
    context: &Context,
    phase: &PhaseNumber,
    message: &Message,
) -> Result<(), Failure> {
    let in_worktree = LiveWorktrees::of_runs(&context.main_project()?).dir(phase);
    let Some(dir) = in_worktree.or_else(|| context.phase_dir(&phase.to_string())) else {
        warn(&format!("phase {phase} has no directory, so its STATUS.md was not written"));
        return Ok(());
    };
    let place = status_file::place(dir);
    let (new, _) = status_file::new_text(context, &place)?;
    let field = |key: &str| message.fields().get(key).and_then(Value::as_str).unwrap_or("-");
    let plan = field("plan");
    disk::update(&context.project, &place.path, |old| {
        let old = old.unwrap_or(new.as_bytes());
        Ok::<_, Failure>(match message.kind() {
            MessageKind::Blocker => {
                status::add_blocker_once(old, &format!("Plan {plan}: {}", field("blocker")))?
            }
            kind => {
                let text = message.fields().iter().filter(|(key, _)| *key != "phase");
                let text = text.map(|(key, value)| match value.as_str() {
                    Some(value) => format!("{key}: {value}"),
                    None => format!("{key}: {value}"),
                });
                let text = text.collect::<Vec<_>>().join("; ");
                Some(status::add_context(old, &format!("{}: {text}", kind.name()))?)
            }
        })
    })?;
    Ok(())
}
