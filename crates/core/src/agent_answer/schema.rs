//! Checks JSON values against the subset of JSON Schema that our own schemas use.
//!
//! A keyword outside this subset would be ignored silently. A test asserts that no schema uses one.

use serde_json::{Map, Value};

use super::{AnswerError, invalid_field};

/// How error messages name the answer as a whole; its top-level fields have no prefix.
pub(super) const ROOT: &str = "answer";

/// The most characters of an invalid enum value that an error message repeats.
const QUOTED_MAX: usize = 40;

/// Checks a value and returns a clean copy.
///
/// The copy has only the fields that the schema names and no nulls. Strings are trimmed and have no
/// control characters except newline and tab.
pub(super) fn check(value: &Value, schema: &Value, path: &str) -> Result<Value, AnswerError> {
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(map)) => check_object(map, schema, path),
        (Some("array"), Value::Array(items)) => check_array(items, schema, path),
        (Some("string"), Value::String(text)) => check_string(text, schema, path),
        (Some("boolean"), Value::Bool(flag)) => Ok(Value::Bool(*flag)),
        (expected, actual) => {
            let (expected, actual) = (with_article(expected.unwrap_or("value")), kind(actual));
            Err(invalid_field(path, format!("is {}, but must be {expected}", with_article(actual))))
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn check_object(
    map: &Map<String, Value>,
    schema: &Value,
    path: &str,
) -> Result<Value, AnswerError> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let mut checked = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path == ROOT { name.clone() } else { format!("{path}.{name}") };
        match map.get(name).filter(|value| !value.is_null()) {
            Some(value) => drop(checked.insert(name.clone(), check(value, schema, &path)?)),
            None if required.iter().any(|needed| needed == name) => {
                return Err(invalid_field(&path, "is missing"));
            }
            None => {}
        }
    }
    Ok(Value::Object(checked))
}

fn check_array(items: &[Value], schema: &Value, path: &str) -> Result<Value, AnswerError> {
    let max = bound(schema, "maxItems", usize::MAX);
    if items.len() > max {
        return Err(invalid_field(
            path,
            format!("has {} entries, but may have {max}", items.len()),
        ));
    }
    let checked = items
        .iter()
        .enumerate()
        .map(|(n, item)| check(item, &schema["items"], &format!("{path}[{n}]")));
    Ok(Value::Array(checked.collect::<Result<_, _>>()?))
}

fn check_string(text: &str, schema: &Value, path: &str) -> Result<Value, AnswerError> {
    let plain: String = text.chars().filter(|c| !c.is_control() || "\n\t".contains(*c)).collect();
    let text = plain.trim();
    let (min, max) = (bound(schema, "minLength", 0), bound(schema, "maxLength", usize::MAX));
    let length = text.chars().count();
    if length < min {
        return Err(invalid_field(path, "is empty"));
    }
    if length > max {
        return Err(invalid_field(path, format!("has {length} characters, but may have {max}")));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.iter().any(|word| word == text)
    {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        let quoted: String =
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTED_MAX).collect();
        return Err(invalid_field(
            path,
            format!("is \"{quoted}\", but must be one of: {}", words.join(", ")),
        ));
    }
    Ok(Value::String(text.to_owned()))
}

fn bound(schema: &Value, name: &str, default: usize) -> usize {
    schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok()).unwrap_or(default)
}
