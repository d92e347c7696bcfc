//! Describes the use of a tool that an agent asks for: the exact command, change, path or address.

use mow_core::inbox::SubjectAction;
use serde_json::Value;

/// Returns what a tool would do with this input.
pub(super) fn subject_action(input: &Value) -> SubjectAction {
    let text = |keys: &[&str]| keys.iter().find_map(|key| text_of(input.get(key)?));
    let path = text(&["file_path", "path", "notebook_path"]);
    let action = if let Some(command) = text(&["command", "cmd"]) {
        SubjectAction::Command(command)
    } else if let (Some(path), Some(diff)) = (path.clone(), diff(input)) {
        SubjectAction::Edit { path, diff }
    } else if let Some(url) = text(&["url"]) {
        SubjectAction::Url(url)
    } else if let Some(path) = path {
        SubjectAction::Path(path)
    } else {
        SubjectAction::Input(input.to_string())
    };
    action.bounded()
}

/// Returns a text, or the words of a command that is given as a list.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// Returns the change that an editing tool would make.
fn diff(input: &Value) -> Option<String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    if let Some(diff) = text("diff").or_else(|| text("patch")) {
        return Some(diff.to_owned());
    }
    if let Some(new) = text("content") {
        return Some(marked('+', new));
    }
    let edits = match input.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.clone(),
        None => vec![input.clone()],
    };
    let pairs: Option<Vec<_>> = edits
        .iter()
        .map(|edit| {
            let text = |key: &str| edit.get(key).and_then(Value::as_str);
            Some(marked('-', text("old_string")?) + &marked('+', text("new_string")?))
        })
        .collect();
    pairs.map(|pairs| pairs.join("\n"))
}

/// Returns the lines of a text, each with a mark in front.
fn marked(mark: char, text: &str) -> String {
    text.lines().map(|line| format!("{mark}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_command_an_edit_a_path_and_an_address_are_told_apart() {
        let check = |input: Value, action: SubjectAction| {
            assert_eq!(subject_action(&input), action, "{input}");
        };
        check(json!({"command": "psql -f a.sql"}), SubjectAction::Command("psql -f a.sql".into()));
        check(json!({"command": ["rm", "a"]}), SubjectAction::Command("rm a".into()));
        let edit = |diff: &str| SubjectAction::Edit { path: "a.rs".into(), diff: diff.into() };
        check(
            json!({"file_path": "a.rs", "old_string": "x\ny", "new_string": "z"}),
            edit("-x\n-y\n+z\n"),
        );
        check(json!({"file_path": "a.rs", "content": "x\n"}), edit("+x\n"));
        check(json!({"file_path": "a.rs"}), SubjectAction::Path("a.rs".into()));
        check(json!({"url": "https://a.b"}), SubjectAction::Url("https://a.b".into()));
        check(json!({"n": 1}), SubjectAction::Input("{\"n\":1}".into()));
    }

    #[test]
    fn a_long_command_is_cut() {
        let SubjectAction::Command(text) = subject_action(&json!({"command": "é".repeat(20_000)}))
        else {
            panic!("it is a command");
        };
        assert!(text.len() < 17_000 && text.ends_with("[cut]"), "{}", text.len());
    }
}
