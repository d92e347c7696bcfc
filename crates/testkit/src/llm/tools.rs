//! Which of the tools that an agent offers a script's call means, and what that one wants to be given.

use std::path::Path;

use serde_json::{Value, json};

use super::conversation::{Offer, ToolCall};
use super::scripts::{Portable, Tool};

/// Makes what a tool is given of what the script says.
type OfCommand = fn(&str) -> Value;
type OfFile = fn(&str, &str) -> Value;
type OfQuestion = fn() -> Value;

/// The tools that run a command.
const SHELLS: [(&str, OfCommand); 6] = [
    ("Bash", |cmd| json!({ "command": cmd, "description": "scripted" })),
    ("exec_command", |cmd| json!({ "cmd": cmd })),
    ("shell_command", |cmd| json!({ "command": cmd })),
    ("shell", |cmd| json!({ "command": ["sh", "-c", cmd] })),
    ("run_shell_command", |cmd| json!({ "command": cmd, "description": "scripted" })),
    ("bash", |cmd| json!({ "command": cmd, "description": "scripted" })),
];

/// The tools that write a file.
const WRITERS: [(&str, OfFile); 4] = [
    ("Write", |path, content| json!({ "file_path": path, "content": content })),
    ("write_file", |path, content| json!({ "file_path": path, "content": content })),
    ("write", |path, content| json!({ "filePath": path, "content": content })),
    ("apply_patch", |path, content| json!(patch(path, content))),
];

/// The tools that ask the user, with what each wants to know beside the question and its choices.
const QUESTIONS: [(&str, OfQuestion); 4] = [
    ("AskUserQuestion", || json!({ "multiSelect": false })),
    ("request_user_input", || json!({ "id": "choice" })),
    ("ask_user", || json!({ "type": "choice", "multiSelect": false })),
    ("question", || json!({})),
];

/// Makes the call of a script a call of the agent that asks.
///
/// # Errors
/// When nothing that fits is offered.
pub(super) fn translate(tool: &Tool, offers: &[Offer], id: String) -> Result<ToolCall, String> {
    let (name, input) = match tool {
        Tool::Named { name, input } => (name.clone(), object(input)),
        Tool::FirstOf { names, input } => {
            let name = names.iter().find(|name| find(offers, name).is_some());
            (name.ok_or_else(|| none_of(names, offers))?.clone(), object(input))
        }
        Tool::Portable(Portable::Sh { cmd }) => shell(cmd, offers)?,
        Tool::Portable(Portable::Write { path, content }) => write(path, content, offers)?,
        Tool::Portable(Portable::Ask { question, options }) => ask(question, options, offers)?,
    };
    let offer = find(offers, &name);
    // A tool that may take text takes it; another one takes the same as a field.
    let input = match (input, offer) {
        (Value::String(text), Some(offer)) if !offer.takes_text => json!({ "input": text }),
        (input, _) => input,
    };
    let (space, name) = match offer.and_then(|offer| offer.space.clone()) {
        Some((space, own)) => (Some(space), own),
        None => (None, name),
    };
    Ok(ToolCall { id, name, space, input })
}

fn find<'a>(offers: &'a [Offer], name: &str) -> Option<&'a Offer> {
    offers.iter().find(|offer| offer.name == name)
}

fn none_of(names: &[impl AsRef<str>], offers: &[Offer]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    let offered: Vec<_> = offers.iter().map(|offer| offer.name.as_str()).collect();
    format!("the script wants one of {names:?}, and offered are {offered:?}")
}

/// A call without input still has an object.
fn object(input: &Value) -> Value {
    if input.is_null() { json!({}) } else { input.clone() }
}

fn shell(cmd: &str, offers: &[Offer]) -> Result<(String, Value), String> {
    let fitting = SHELLS.iter().find(|(name, _)| find(offers, name).is_some());
    let (name, shape) = fitting.ok_or_else(|| none_of(&SHELLS.map(|(name, _)| name), offers))?;
    Ok(((*name).to_owned(), shape(cmd)))
}

/// An agent that has no tool to write files with writes them by the shell.
fn write(path: &str, content: &str, offers: &[Offer]) -> Result<(String, Value), String> {
    if let Some((name, shape)) = WRITERS.iter().find(|(name, _)| find(offers, name).is_some()) {
        return Ok(((*name).to_owned(), shape(path, content)));
    }
    let folder = Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned());
    let make = match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => format!("mkdir -p {} && ", quote(&folder)),
        None => String::new(),
    };
    shell(&format!("{make}printf %s {} > {}", quote(content), quote(path)), offers)
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Codex' own form of a patch, which adds a file or writes over it. Its lines always end.
fn patch(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn ask(question: &str, options: &[String], offers: &[Offer]) -> Result<(String, Value), String> {
    let fitting = QUESTIONS.iter().find(|(name, _)| find(offers, name).is_some());
    let (name, more) = fitting.ok_or_else(|| none_of(&QUESTIONS.map(|(name, _)| name), offers))?;
    let choice = |label: &String| json!({ "label": label, "description": label });
    let mut asked = more();
    asked["question"] = json!(question);
    asked["header"] = json!("Choice");
    asked["options"] = options.iter().map(choice).collect();
    Ok(((*name).to_owned(), json!({ "questions": [asked] })))
}
