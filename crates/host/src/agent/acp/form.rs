//! Converts an agent's form request into questions, and the answers back into field values.

use serde_json::{Map, Value, json};

use crate::agent::{AgentQuestion, AgentRequest, QuestionChoice, request_id};

/// A form with fields of simple types.
pub(super) struct Form<'a> {
    message: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Form<'a> {
    /// Parses a request; returns `None` when the request is not a form.
    pub(super) fn parse(params: &'a Value) -> Option<Self> {
        let fields = params.pointer("/requestedSchema/properties")?.as_object()?;
        let message = params["message"].as_str().unwrap_or_default();
        (!fields.is_empty()).then_some(Self { message, fields })
    }

    /// Returns the form as a request with one question per field.
    pub(super) fn to_request(&self) -> AgentRequest {
        let questions = self.fields.iter().map(|(name, field)| self.question(name, field));
        let fields = json!({ "message": self.message, "fields": self.fields });
        AgentRequest::Question { id: request_id("form", &fields), questions: questions.collect() }
    }

    fn question(&self, name: &str, field: &Value) -> AgentQuestion {
        let description = ["description", "title"].iter().find_map(|key| field[*key].as_str());
        let text = match (description, self.message) {
            (Some(description), "") => description.to_owned(),
            (Some(description), message) if self.fields.len() > 1 => {
                format!("{message} {description}")
            }
            (_, "") => name.to_owned(),
            (_, message) => message.to_owned(),
        };
        let header = field["title"].as_str().unwrap_or(name).to_owned();
        AgentQuestion {
            text,
            header,
            choices: choices(field),
            allows_many: field["type"] == "array",
        }
    }

    /// Returns the values of the fields for these answers.
    pub(super) fn fill(&self, answers: &[String]) -> Value {
        let filled = self.fields.iter().zip(answers).map(|((name, field), answer)| {
            let one = |answer: &str| value(field, answer);
            let value = match field["type"].as_str() {
                Some("array") => answer.split(", ").map(one).collect(),
                Some("boolean") => json!(matches!(answer.as_str(), "true" | "yes" | "Yes")),
                Some("integer" | "number") => {
                    serde_json::from_str(answer).unwrap_or_else(|_| json!(answer))
                }
                _ => one(answer),
            };
            (name.clone(), value)
        });
        Value::Object(filled.collect())
    }
}

/// Returns the choices of a field: plain values, or constants with titles.
fn choices(field: &Value) -> Vec<QuestionChoice> {
    let plain = |value: &Value| QuestionChoice {
        label: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        description: String::new(),
    };
    let titled = |value: &Value| QuestionChoice {
        label: value["title"].as_str().or(value["const"].as_str()).unwrap_or_default().to_owned(),
        description: value["description"].as_str().unwrap_or_default().to_owned(),
    };
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let words: Vec<_> = list(&field["enum"]).iter().map(plain).collect();
    let items = list(&field["items"]["enum"]);
    let more =
        [&field["oneOf"], &field["anyOf"], &field["items"]["anyOf"], &field["items"]["oneOf"]];
    let constants = more.iter().flat_map(|value| list(value));
    let constants: Vec<_> = constants.map(|value| titled(&value)).collect();
    words.into_iter().chain(items.iter().map(plain)).chain(constants).collect()
}

/// Returns the constant that the chosen title stands for.
fn value(field: &Value, answer: &str) -> Value {
    let lists =
        [&field["oneOf"], &field["anyOf"], &field["items"]["anyOf"], &field["items"]["oneOf"]];
    let mut all = lists.into_iter().filter_map(Value::as_array).flatten();
    let is_chosen = |one: &&Value| one["title"] == answer || one["const"] == answer;
    all.find(is_chosen).map_or_else(|| json!(answer), |one| one["const"].clone())
}

#[cfg(test)]
mod tests;
