//! Tests of forms with every type of field.

use serde_json::json;

use super::*;

fn params() -> Value {
    json!({ "message": "Set it up.", "requestedSchema": { "properties": {
        "db": { "title": "Database", "oneOf": [
            { "const": "pg", "title": "Postgres" }, { "const": "sl", "title": "SQLite" },
        ] },
        "tags": { "type": "array", "items": { "enum": ["a", "b"] } },
        "fast": { "type": "boolean" },
        "count": { "type": "integer" },
        "name": { "type": "string", "description": "Its name" },
    } } })
}

#[test]
fn each_field_is_a_question() {
    let params = params();
    let request = Form::parse(&params).unwrap().to_request();
    let AgentRequest::Question { questions, id } = &request else { panic!() };
    assert_eq!(*id, *Form::parse(&params).unwrap().to_request().id());
    let labels =
        |n: usize| questions[n].choices.iter().map(|c| c.label.as_str()).collect::<Vec<_>>();
    assert_eq!(labels(0), ["Postgres", "SQLite"]);
    assert_eq!((labels(1), questions[1].allows_many), (vec!["a", "b"], true));
    assert!(labels(4).is_empty());
    assert_eq!(questions[4].text, "Set it up. Its name");
}

#[test]
fn answers_become_values() {
    let params = params();
    let answers = ["SQLite", "a, b", "yes", "7", "x"].map(str::to_owned);
    assert_eq!(
        Form::parse(&params).unwrap().fill(&answers),
        json!({ "db": "sl", "tags": ["a", "b"], "fast": true, "count": 7, "name": "x" })
    );
}

#[test]
fn a_request_without_fields_is_not_a_form() {
    assert!(Form::parse(&json!({ "mode": "url", "url": "http://x" })).is_none());
    assert!(Form::parse(&json!({ "requestedSchema": { "properties": {} } })).is_none());
}
