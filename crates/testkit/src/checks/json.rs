//! Checks of JSON files: an edit changes the value at its path and nothing else.

use mow_store::config::{self as settings, Config};
use mow_store::dashboard::{self as board, DashboardState};
use mow_store::{json_edit, manifest as manifests, ndjson};
use serde_json::{Map, Value, json};

use super::Input;

/// config.json: the other members and the bytes around the value stay.
pub fn config(bytes: &[u8]) {
    let input = Input::new(bytes);
    let (path, value) = input.value.split_once('=').unwrap_or((&input.value, "x"));
    let value = serde_json::from_str(value).unwrap_or_else(|_| settings::parse_scalar(value));
    // Numbers that are kept only roughly cannot be compared.
    if serde_json::from_str::<Value>(&value.to_string()).ok().as_ref() != Some(&value) {
        return;
    }
    let Ok(config) = Config::parse(input.file) else { return };
    config.unknown_keys();
    config.lookup(path);
    config.settings();
    if let Ok(new) = settings::set(input.file, path, &value) {
        let read = Config::parse(&new).expect("an edit leaves JSON");
        assert!(read.value(path).is_some());
    }
    let parts: Vec<&str> = path.split('.').collect();
    let Ok(new) = json_edit::set(input.file, &parts, &value) else { return };
    let mut expected = json_edit::parse(input.file).expect("it was edited");
    put(&mut expected, &parts, &value);
    assert_eq!(json_edit::parse(&new).expect("an edit leaves JSON"), expected);
    if let Some(old) = json_edit::span(input.file, &parts) {
        let fresh = json_edit::span(&new, &parts).expect("the value was set");
        assert_eq!(new[..fresh.start], input.file[..old.start]);
        assert_eq!(new[fresh.end..], input.file[old.end..]);
    }
}

fn put(map: &mut Map<String, Value>, path: &[&str], value: &Value) {
    let [key, rest @ ..] = path else { return };
    let slot = map.entry(*key).or_insert(Value::Null);
    if rest.is_empty() {
        *slot = value.clone();
        return;
    }
    if !slot.is_object() {
        *slot = json!({});
    }
    put(slot.as_object_mut().expect("made just now"), rest, value);
}

/// manifest.json: an entry reads back and the other entries stay.
pub fn manifest(bytes: &[u8]) {
    let input = Input::new(bytes);
    let before = manifests::parse(input.file);
    let name = if input.value.is_empty() { "phase-07" } else { &input.value };
    let fields = [("status", json!("active")), ("phase", json!(7))];
    let Ok(new) = manifests::set_entry(input.file, name, &fields, "now") else { return };
    let before = before.expect("an edit needs a sound file");
    let after = manifests::parse(&new).expect("an edit leaves JSON");
    let entry = after.worktree(name).expect("the entry was set");
    assert!(entry.is_active() && entry.phase().is_some());
    assert_eq!(after.updated.as_deref(), Some("now"));
    for (other, worktree) in before.worktrees.iter().filter(|(other, _)| other != name) {
        assert_eq!(after.worktree(other), Some(worktree));
    }
    entry.phase().and_then(|phase| after.find_phase(&phase)).expect("it has the phase");
    manifests::set_project(&new, &input.value).expect("the file is sound");
}

/// Logs and the dashboard: what is written reads back, lines that make no sense are passed over.
pub fn dashboard(bytes: &[u8]) {
    let input = Input::new(bytes);
    let mut state = DashboardState::parse(input.file);
    for event in board::parse_events(input.file) {
        let line = event.line();
        assert_eq!(board::parse_events(line.as_bytes()), std::slice::from_ref(&event));
        state.record_event(&event);
    }
    assert_eq!(DashboardState::parse(state.render().as_bytes()), state);
    board::pruned(input.file);
    let kept = ndjson::keep_last(input.file, 3);
    assert!(ndjson::line_count(&kept) <= 3 && input.file.len() >= kept.len());
    let line = ndjson::chat_line("a", "b", "now", &input.value);
    let [entry] = &ndjson::objects(line.as_bytes())[..] else { panic!("one line is one entry") };
    let message = entry["msg"].as_str().expect("a message is text");
    assert!(input.value.starts_with(message));
    if let Ok(name) = ndjson::chat_file_name(&input.value, "b") {
        assert_eq!(std::path::Path::new(&name).components().count(), 1);
    }
}
