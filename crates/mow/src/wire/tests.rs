//! Keeps the JSON outputs stable: their schemas are snapshots, and the reference is made from them.
//!
//! `tests/it/wire.rs` checks what the program prints against the snapshots.

use std::fmt::Write;
use std::path::Path;

use mow_core::message::MessageKind;
use mow_core::view::EventKind;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::{cost, dashboard, event, inbox, log, overview, ps, receipt};

/// The lines of the reference between which the tables are.
const BEGIN: &str = "<!-- Tables made from crates/mow/src/wire; its tests compare them. -->\n";
const END: &str = "<!-- End of the tables. -->\n";

/// Types that are described once: the type, the output whose table has it, and its command.
const DESCRIBED: [(&str, &str, &str); 2] =
    [("EventJson", "EventJson", "mow events"), ("QuestionJson", "InboxJson", "mow inbox")];

fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns all outputs: the name of the snapshot, the commands that print it, and the schema.
fn outputs() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("overview", "`mow`", schema::<overview::OverviewJson>()),
        ("no_plan", "`mow` outside of a project", schema::<overview::NoPlanJson>()),
        ("ps", "`mow ps`", schema::<ps::PsJson>()),
        ("inbox", "`mow inbox`", schema::<inbox::InboxJson>()),
        ("receipt", "`mow answer` and other queued commands", schema::<receipt::ReceiptJson>()),
        ("event", "`mow events`, `mow run`, per line", schema::<event::EventJson>()),
        ("log", "`mow log`", schema::<log::LogJson>()),
        ("cost", "`mow cost`", schema::<cost::CostJson>()),
        ("dashboard", "`mow dashboard`", schema::<dashboard::DashboardJson>()),
    ]
}

#[test]
fn the_schemas_of_json_outputs_are_stable() {
    for (name, _, schema) in outputs() {
        insta::assert_snapshot!(name, serde_json::to_string_pretty(&schema).unwrap());
    }
}

#[test]
fn the_version_is_the_first_key_and_every_key_has_a_meaning() {
    for (name, _, schema) in outputs() {
        let first = schema["properties"].as_object().unwrap().keys().next();
        assert_eq!(first.map(String::as_str), Some("v"), "{name}");
        let mut rows = Vec::new();
        add_rows(&mut rows, "", &schema, &schema);
        for row in rows {
            assert!(!row.ends_with("|  |"), "{name}: {row}");
        }
    }
}

/// With `INSTA_UPDATE=always`, the tables of the page are written anew.
#[test]
#[expect(clippy::disallowed_methods, reason = "the page is part of the repository")]
fn the_reference_describes_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the tables");
    let (_, after) = rest.split_once(END).expect("the tables end");
    let expected = format!("{before}{BEGIN}{}{END}{after}", tables());
    if page != expected && std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        std::fs::write(&path, &expected).unwrap();
        return;
    }
    assert!(page == expected, "json.md is out of date; the tables are now\n{}", tables());
}

#[test]
fn the_reference_describes_every_message() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/json.md");
    let page = std::fs::read_to_string(&path).unwrap();
    for kind in MessageKind::ALL {
        let required: Vec<_> = kind.required().iter().map(|field| format!("`{field}`")).collect();
        let start = format!("| `{}` | ", kind.name());
        let row = page.lines().find(|line| line.starts_with(&start)).expect(&start);
        let is_named = required.iter().all(|field| row.contains(field));
        assert!(is_named, "{row} does not name {required:?}");
        assert_eq!(row.ends_with("| yes |"), kind.is_milestone(), "{row}");
    }
}

fn tables() -> String {
    let mut text = String::new();
    for (_, commands, schema) in outputs() {
        let mut rows = Vec::new();
        add_rows(&mut rows, "", &schema, &schema);
        let _ = writeln!(text, "\n### {commands}\n\n| key | type | meaning |\n|---|---|---|");
        text.extend(rows.into_iter().map(|row| row + "\n"));
    }
    text += "\n### Kinds of events\n\n| kind | meaning |\n|---|---|\n";
    for kind in EventKind::ALL {
        let _ = writeln!(text, "| `{}` | {} |", kind.name(), kind.meaning());
    }
    text + "\n"
}

/// Adds a row for each key of an object, and for the keys of objects in it.
fn add_rows(rows: &mut Vec<String>, prefix: &str, root: &Value, object: &Value) {
    for (key, property) in object["properties"].as_object().into_iter().flatten() {
        let is_optional =
            !object["required"].as_array().is_some_and(|all| all.contains(&key[..].into()));
        let (inner, inner_prefix) = match property["items"].as_object() {
            Some(_) => (&property["items"], format!("{prefix}{key}[].")),
            None => (property, format!("{prefix}{key}.")),
        };
        let target = reference_in(inner);
        let is_elsewhere = |(name, output, _): &&(&str, &str, &str)| {
            target == Some(name) && root["title"].as_str() != Some(output)
        };
        let described = DESCRIBED.iter().find(is_elsewhere);
        let mut meaning = property["description"].as_str().unwrap_or_default().replace('\n', " ");
        if let Some((_, _, command)) = described {
            let _ = write!(meaning, " Each as in `{command}`.");
        }
        if is_optional {
            meaning += " Left out if there is none.";
        }
        rows.push(format!("| `{prefix}{key}` | {} | {meaning} |", type_name(property)));
        if let Some(target) = target.filter(|_| described.is_none()) {
            add_rows(rows, &inner_prefix, root, &root["$defs"][target]);
        }
    }
}

/// Returns the name of the type that a schema refers to, directly or as one of its alternatives.
fn reference_in(schema: &Value) -> Option<&str> {
    let alternatives = schema["anyOf"].as_array().into_iter().flatten();
    let reference = std::iter::once(schema).chain(alternatives).find_map(|s| s["$ref"].as_str());
    reference?.strip_prefix("#/$defs/")
}

fn type_name(schema: &Value) -> String {
    let plain = |name: &str| match name {
        "array" => "list".to_owned(),
        name => name.to_owned(),
    };
    match (&schema["type"], schema["anyOf"].is_array()) {
        (Value::String(name), _) => plain(name),
        (Value::Array(names), _) => {
            let names: Vec<_> = names.iter().filter_map(Value::as_str).map(plain).collect();
            names.join(" or ")
        }
        (_, true) => "object or null".to_owned(),
        (_, false) => "object".to_owned(),
    }
}
