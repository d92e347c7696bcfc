//! Free arguments.

use serde_json::json;

use super::*;

fn parse(line: &[&str]) -> Words {
    Words::parse(&line.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
}

#[test]
fn every_flag_with_a_value_is_a_field() {
    let words = parse(&["stray", "--some-key", "a b", "--x", "-1", "--commit", "--", "--y=z=1"]);
    assert_eq!(
        Value::Object(words.fields),
        json!({ "some_key": "a b", "x": "-1", "commit": "--", "y": "z=1" })
    );
    let sentence = parse(&["--detail", "--force is needed", "--detail", "second"]);
    assert_eq!(Value::Object(sentence.fields), json!({ "detail": "--force is needed" }));
}

#[test]
fn d40_a_flag_is_no_value() {
    let words = parse(&["--phase", "--plan", "1", "--summary", "ignored", "--last"]);
    assert_eq!(Value::Object(words.fields), json!({ "plan": "1" }));
    assert_eq!(words.empty, ["--phase", "--last"]);
    assert!(words.summary);
}

#[test]
fn flags_of_all_commands_are_no_fields() {
    let words = parse(&["--json", "--cwd", "there", "--a", "1"]);
    assert_eq!(words.cwd.as_deref(), Some("there"));
    assert_eq!(Value::Object(words.fields), json!({ "a": "1" }));
}
