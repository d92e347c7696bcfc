//! What the program prints with `--json` has the documented shape: every key is in the schema.
//!
//! The schemas are the snapshots of `src/wire/tests.rs`.

use std::fs;
use std::path::Path;

use mow_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::run_fixture::{planned, run_all};
use crate::sandbox;

/// Returns the schema in a snapshot, which follows a header between two lines `---`.
fn schema(name: &str) -> Value {
    let file = format!("src/wire/snapshots/mow__wire__tests__{name}.snap");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = fs::read_to_string(path).expect("the schema has a snapshot");
    let (_, schema) = text[3..].split_once("\n---\n").expect("the snapshot has a header");
    serde_json::from_str(schema).expect("the snapshot is JSON")
}

/// Checks a value against a schema, strictly: a key that the schema does not name is a problem.
///
/// It knows the keywords that the schemas of `src/wire` use, and refuses others.
fn problems(root: &Value, schema: &Value, value: &Value, path: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.strip_prefix("#/$defs/").expect("a type of the same schema");
        return problems(root, &root["$defs"][name], value, path);
    }
    if let Some(all) = schema["anyOf"].as_array() {
        let mut found = all.iter().map(|schema| problems(root, schema, value, path));
        return found
            .find(Vec::is_empty)
            .map_or_else(|| vec![format!("{path}: {value}")], |_| Vec::new());
    }
    let types = match &schema["type"] {
        Value::Array(names) => names.clone(),
        name => vec![name.clone()],
    };
    let is_a = |name: &Value| match name.as_str().expect("every schema has a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{path}: type {other} is not known here"),
    };
    if !types.iter().any(is_a) {
        return vec![format!("{path}: {value} is not {types:?}")];
    }
    let mut found = Vec::new();
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        found.extend(problems(root, &schema["items"], item, &format!("{path}[{index}]")));
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{key}");
        match schema["properties"].get(key) {
            Some(schema) => found.extend(problems(root, schema, inner, &path)),
            None => found.push(format!("{path} is not in the schema")),
        }
    }
    for key in schema["required"].as_array().into_iter().flatten() {
        let key = key.as_str().expect("keys are texts");
        if value.is_object() && value.get(key).is_none() {
            found.push(format!("{path}.{key} is missing"));
        }
    }
    found
}

#[track_caller]
fn check_value(schema: &Value, value: &Value, what: &str) {
    let found = problems(schema, schema, value, what);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(value["v"], 1);
    assert_eq!(
        value.as_object().and_then(|keys| keys.keys().next()).expect("an object with keys"),
        "v",
        "{what}"
    );
}

#[track_caller]
fn check(schema: &Value, project: &Sandbox, words: &[&str]) -> Value {
    let call: Vec<_> = words.iter().copied().chain(["--json"]).collect();
    let value = project.call(call).run().json();
    check_value(schema, &value, &format!("mow {}", words.join(" ")));
    value
}

/// Checks an output of one value per line; returns the values.
#[track_caller]
fn check_lines(output: &str, what: &str) -> Vec<Value> {
    let schema = schema("event");
    let values: Vec<Value> =
        output.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert!(!values.is_empty(), "{what} prints events");
    for value in &values {
        check_value(&schema, value, what);
    }
    values
}

fn check_all(project: &Sandbox) {
    check(&schema("overview"), project, &[]);
    check(&schema("ps"), project, &["ps"]);
    check(&schema("inbox"), project, &["inbox", "--all"]);
    check(&schema("log"), project, &["log"]);
    check(&schema("log"), project, &["log", "1"]);
    check(&schema("cost"), project, &["cost"]);
    check(&schema("dashboard"), project, &["dashboard"]);
    check_lines(&project.call(["events", "--json"]).run().stdout_on_success(), "mow events");
}

#[test]
fn json_outputs_of_a_run_that_waits_have_the_documented_shape() {
    check(&schema("no_plan"), &sandbox(), &[]);
    let project = planned(&[(&[], "echo 'Which colour?'; exit 75"), (&[1], "true")]);
    check(&schema("overview"), &project, &[]);
    assert_eq!(run_all(&project).status.code(), Some(5));
    check_all(&project);
    let ps = check(&schema("ps"), &project, &["ps"]);
    assert_eq!(ps["questions"][0]["holds"], serde_json::json!(["2"]));
    assert!(ps["questions"][0].get("key").is_none(), "keys of journals are not shown");
    project.call(["answer", "1", "retry"]).run().stdout_on_success();
    check_all(&project);
}

#[test]
fn run_and_events_print_the_same_lines() {
    let project = planned(&[(&[], "true"), (&[1], "true")]);
    let ran = project.call(["run", "--all", "--yes", "--json"]).run();
    assert!(ran.status.success(), "{}", ran.transcript());
    let from_run: Vec<_> = ran.stdout.lines().filter(|line| line.starts_with('{')).collect();
    let from_run = check_lines(&from_run.join("\n"), "mow run");
    let events = project.call(["events", "--json"]).run().stdout_on_success();
    let events = check_lines(&events, "mow events");
    let place = |event: &Value| (event["seq"].clone(), event["at"].clone(), event["kind"].clone());
    assert!(from_run.iter().map(place).eq(events.iter().map(place)), "{}", ran.stdout);
    check_all(&project);
}

#[test]
fn the_check_finds_unknown_missing_and_wrong_keys() {
    let schema = schema("no_plan");
    let check = |text: &str| problems(&schema, &schema, &serde_json::from_str(text).unwrap(), "$");
    assert!(check(r#"{"v":1,"planned":false,"next":[]}"#).is_empty());
    assert_eq!(
        check(r#"{"v":1,"planned":false,"next":[],"new":1}"#),
        ["$.new is not in the schema"]
    );
    assert_eq!(check(r#"{"v":1,"next":[]}"#), ["$.planned is missing"]);
    assert_eq!(check(r#"{"v":1,"planned":false,"next":[{"command":1,"why":"x"}]}"#).len(), 1);
}
