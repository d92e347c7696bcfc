//! Tests of the free arguments of `message format`.

use serde_json::json;

use super::*;

fn parse(line: &[&str]) -> MessageArguments {
    MessageArguments::parse(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}

#[test]
fn every_flag_with_a_value_is_a_field() {
    let parsed = parse(&["stray", "--some-key", "a b", "--x", "-1", "--commit", "--", "--y=z=1"]);
    assert_eq!(
        Value::Object(parsed.fields),
        json!({ "some_key": "a b", "x": "-1", "commit": "--", "y": "z=1" })
    );
    let sentence = parse(&["--detail", "--force is needed", "--detail", "second"]);
    assert_eq!(Value::Object(sentence.fields), json!({ "detail": "--force is needed" }));
}

#[test]
fn d40_a_flag_is_never_taken_as_a_value() {
    let parsed = parse(&["--phase", "--plan", "1", "--summary", "ignored", "--last"]);
    assert_eq!(Value::Object(parsed.fields), json!({ "plan": "1" }));
    assert_eq!(parsed.empty_flags, ["--phase", "--last"]);
    assert!(parsed.summary);
}

#[test]
fn global_flags_do_not_become_fields() {
    let parsed = parse(&["--json", "--cwd", "there", "--a", "1"]);
    assert_eq!(parsed.cwd.as_deref(), Some("there"));
    assert_eq!(Value::Object(parsed.fields), json!({ "a": "1" }));
}
