//! Describes the use of a tool that an agent asks for: the exact command, change, path or address.

use mow_core::inbox::SubjectAction;
use mow_host::shell_words::quote;
use serde_json::Value;

/// The names under which tools take a file.
const PATH_KEYS: [&str; 3] = ["file_path", "path", "notebook_path"];
/// What a tool that reads a file may be told besides the file.
const READ_KEYS: [&str; 2] = ["offset", "limit"];

/// Returns what a tool would do with this input; the whole input where a short form would hide a
/// part of it.
pub(super) fn subject_action(input: &Value) -> SubjectAction {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str());
    let path = text(&PATH_KEYS);
    let action = match (path, command(input), diff(input), text(&["url"])) {
        (None, Some(command), ..) => SubjectAction::Command(command),
        (Some(path), None, Some(diff), _) => SubjectAction::Edit { path: path.to_owned(), diff },
        (None, None, _, Some(url)) => SubjectAction::Url(url.to_owned()),
        (Some(path), ..) if only_reads(input) => SubjectAction::Path(path.to_owned()),
        _ => SubjectAction::Input(input.to_string()),
    };
    action.bounded()
}

/// Returns whether the input names a file and at most a part of it.
fn only_reads(input: &Value) -> bool {
    let mut keys = input.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    keys.all(|key| PATH_KEYS.contains(&key) || READ_KEYS.contains(&key))
}

/// Returns the command line; a list of words is quoted as a shell would need it.
fn command(input: &Value) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<_>> = words.iter().map(|word| word.as_str().map(quote)).collect();
            words.map(|words| words.join(" "))
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
            let is_everywhere = edit.get("replace_all").and_then(Value::as_bool) == Some(true);
            let title = if is_everywhere { "every occurrence:\n" } else { "" };
            let (old, new) = (text("old_string")?, text("new_string")?);
            Some(format!("{title}{}{}", marked('-', old), marked('+', new)))
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
        let quoted = SubjectAction::Command("rm -rf 'a b' ''".into());
        check(json!({"command": ["rm", "-rf", "a b", ""], "timeout": 9}), quoted);
        let edit = |diff: &str| SubjectAction::Edit { path: "a.rs".into(), diff: diff.into() };
        check(
            json!({"file_path": "a.rs", "old_string": "x\ny", "new_string": "z"}),
            edit("-x\n-y\n+z\n"),
        );
        check(
            json!({"file_path": "a.rs", "old_string": "x", "new_string": "z", "replace_all": true}),
            edit("every occurrence:\n-x\n+z\n"),
        );
        check(json!({"file_path": "a.rs", "content": "x\n"}), edit("+x\n"));
        check(json!({"file_path": "a.rs"}), SubjectAction::Path("a.rs".into()));
        check(json!({"url": "https://a.b"}), SubjectAction::Url("https://a.b".into()));
        check(json!({"n": 1}), SubjectAction::Input("{\"n\":1}".into()));
    }

    #[test]
    fn an_input_that_a_short_form_would_hide_is_shown_whole() {
        for input in [
            json!({"command": "str_replace", "old_str": "x", "path": "a.rs"}),
            json!({"command": ["rm", 1]}),
            json!({"path": "src", "pattern": "secret"}),
            json!({"new_source": "x", "notebook_path": "a.ipynb"}),
        ] {
            let whole = SubjectAction::Input(input.to_string());
            assert_eq!(subject_action(&input), whole, "{input}");
        }
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
