//! Checks a value against as much of JSON Schema as our own schemas use.
//!
//! A schema that says more than this file understands would promise what nobody checks; a test looks
//! for that.

use serde_json::{Map, Value};

use super::{SaidError, wrong};

/// What the whole of an answer is called; its fields go by their bare names.
pub(super) const ROOT: &str = "answer";

/// How much of a wrong word is repeated.
const QUOTED_MAX: usize = 40;

/// Returns what a schema knows of a value: no other fields, no nulls, strings without control
/// characters and blanks around them.
pub(super) fn fit(value: &Value, schema: &Value, at: &str) -> Result<Value, SaidError> {
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(map)) => fit_object(map, schema, at),
        (Some("array"), Value::Array(items)) => fit_array(items, schema, at),
        (Some("string"), Value::String(text)) => fit_string(text, schema, at),
        (Some("boolean"), Value::Bool(flag)) => Ok(Value::Bool(*flag)),
        (wanted, found) => {
            let (wanted, found) = (with_article(wanted.unwrap_or("value")), kind(found));
            Err(wrong(at, format!("is {}, but must be {wanted}", with_article(found))))
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

fn fit_object(map: &Map<String, Value>, schema: &Value, at: &str) -> Result<Value, SaidError> {
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let mut fitted = Map::new();
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let at = if at == ROOT { name.clone() } else { format!("{at}.{name}") };
        match map.get(name).filter(|value| !value.is_null()) {
            Some(value) => drop(fitted.insert(name.clone(), fit(value, schema, &at)?)),
            None if required.iter().any(|needed| needed == name) => {
                return Err(wrong(&at, "is missing"));
            }
            None => {}
        }
    }
    Ok(Value::Object(fitted))
}

fn fit_array(items: &[Value], schema: &Value, at: &str) -> Result<Value, SaidError> {
    let max = bound(schema, "maxItems", usize::MAX);
    if items.len() > max {
        return Err(wrong(at, format!("has {} entries, but may have {max}", items.len())));
    }
    let fitted = items
        .iter()
        .enumerate()
        .map(|(n, item)| fit(item, &schema["items"], &format!("{at}[{n}]")));
    Ok(Value::Array(fitted.collect::<Result<_, _>>()?))
}

fn fit_string(text: &str, schema: &Value, at: &str) -> Result<Value, SaidError> {
    let plain: String = text.chars().filter(|c| !c.is_control() || "\n\t".contains(*c)).collect();
    let text = plain.trim();
    let (min, max) = (bound(schema, "minLength", 0), bound(schema, "maxLength", usize::MAX));
    let length = text.chars().count();
    if length < min {
        return Err(wrong(at, "is empty"));
    }
    if length > max {
        return Err(wrong(at, format!("has {length} characters, but may have {max}")));
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.iter().any(|word| word == text)
    {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        let said: String =
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTED_MAX).collect();
        return Err(wrong(at, format!("is \"{said}\", but must be one of: {}", words.join(", "))));
    }
    Ok(Value::String(text.to_owned()))
}

fn bound(schema: &Value, name: &str, default: usize) -> usize {
    schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok()).unwrap_or(default)
}
