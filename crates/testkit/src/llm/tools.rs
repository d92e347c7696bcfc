//! Translates a script's tool call into a tool that the agent offers, with that tool's input format.

use std::path::Path;

use serde_json::{Value, json};

use super::conversation::{OfferedTool, ToolCall};
use super::scripts::{Portable, Tool};

/// Builders of a tool's input from the values of the script.
type CommandInput = fn(&str) -> Value;
type FileInput = fn(&str, &str) -> Value;
type QuestionInput = fn() -> Value;

/// The tools that run a command.
const SHELLS: [(&str, CommandInput); 6] = [
    ("Bash", |cmd| json!({ "command": cmd, "description": "scripted" })),
    ("exec_command", |cmd| json!({ "cmd": cmd })),
    ("shell_command", |cmd| json!({ "command": cmd })),
    ("shell", |cmd| json!({ "command": ["sh", "-c", cmd] })),
    ("run_shell_command", |cmd| json!({ "command": cmd, "description": "scripted" })),
    ("bash", |cmd| json!({ "command": cmd, "description": "scripted" })),
];

/// The tools that write a file.
const WRITERS: [(&str, FileInput); 4] = [
    ("Write", |path, content| json!({ "file_path": path, "content": content })),
    ("write_file", |path, content| json!({ "file_path": path, "content": content })),
    ("write", |path, content| json!({ "filePath": path, "content": content })),
    ("apply_patch", |path, content| json!(patch(path, content))),
];

/// The tools that ask the user, with the fields that each needs besides question and choices.
const QUESTIONS: [(&str, QuestionInput); 4] = [
    ("AskUserQuestion", || json!({ "multiSelect": false })),
    ("request_user_input", || json!({ "id": "choice" })),
    ("ask_user", || json!({ "type": "choice", "multiSelect": false })),
    ("question", || json!({})),
];

/// Translates a script's call into a call of the requesting agent's tool.
///
/// # Errors
/// Fails when the agent offers no suitable tool.
pub(super) fn translate(
    tool: &Tool,
    offered_tools: &[OfferedTool],
    id: String,
) -> Result<ToolCall, String> {
    let (name, input) = match tool {
        Tool::Named { name, input } => (name.clone(), object(input)),
        Tool::FirstOf { names, input } => {
            let name = names.iter().find(|name| find(offered_tools, name).is_some());
            (name.ok_or_else(|| none_of(names, offered_tools))?.clone(), object(input))
        }
        Tool::Portable(Portable::Sh { cmd }) => shell(cmd, offered_tools)?,
        Tool::Portable(Portable::Write { path, content }) => write(path, content, offered_tools)?,
        Tool::Portable(Portable::Ask { question, options }) => {
            ask(question, options, offered_tools)?
        }
    };
    let offer = find(offered_tools, &name);
    // A tool that does not take plain text gets the text as a field.
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

fn find<'a>(offered_tools: &'a [OfferedTool], name: &str) -> Option<&'a OfferedTool> {
    offered_tools.iter().find(|offer| offer.name == name)
}

fn none_of(names: &[impl AsRef<str>], offered_tools: &[OfferedTool]) -> String {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    let offered: Vec<_> = offered_tools.iter().map(|offer| offer.name.as_str()).collect();
    format!("the script wants one of {names:?}, and offered are {offered:?}")
}

/// A call without input still has an object.
fn object(input: &Value) -> Value {
    if input.is_null() { json!({}) } else { input.clone() }
}

fn shell(cmd: &str, offered_tools: &[OfferedTool]) -> Result<(String, Value), String> {
    let fitting = SHELLS.iter().find(|(name, _)| find(offered_tools, name).is_some());
    let (name, shape) =
        fitting.ok_or_else(|| none_of(&SHELLS.map(|(name, _)| name), offered_tools))?;
    Ok(((*name).to_owned(), shape(cmd)))
}

/// Writes a file by the agent's tool for it, or by the shell when there is none.
fn write(
    path: &str,
    content: &str,
    offered_tools: &[OfferedTool],
) -> Result<(String, Value), String> {
    if let Some((name, shape)) =
        WRITERS.iter().find(|(name, _)| find(offered_tools, name).is_some())
    {
        return Ok(((*name).to_owned(), shape(path, content)));
    }
    let folder = Path::new(path).parent().map(|folder| folder.to_string_lossy().into_owned());
    let make = match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => format!("mkdir -p {} && ", quote(&folder)),
        None => String::new(),
    };
    shell(&format!("{make}printf %s {} > {}", quote(content), quote(path)), offered_tools)
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a patch in Codex's format that adds or overwrites a file. Every line ends with a line break.
fn patch(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn ask(
    question: &str,
    options: &[String],
    offered_tools: &[OfferedTool],
) -> Result<(String, Value), String> {
    let fitting = QUESTIONS.iter().find(|(name, _)| find(offered_tools, name).is_some());
    let (name, more) =
        fitting.ok_or_else(|| none_of(&QUESTIONS.map(|(name, _)| name), offered_tools))?;
    let choice = |label: &String| json!({ "label": label, "description": label });
    let mut asked = more();
    asked["question"] = json!(question);
    asked["header"] = json!("Choice");
    asked["options"] = options.iter().map(choice).collect();
    Ok(((*name).to_owned(), json!({ "questions": [asked] })))
}
