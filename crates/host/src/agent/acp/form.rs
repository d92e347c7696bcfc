//! A form that an agent wants to be filled in, as questions, and the answers as what it wants.

use serde_json::{Map, Value, json};

use crate::agent::{Ask, Choice, Question, id_of};

/// A form: a few fields of simple kinds.
pub(super) struct Form<'a> {
    message: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Form<'a> {
    /// Reads a request; `None` when it is for something else than a form.
    pub(super) fn parse(params: &'a Value) -> Option<Self> {
        let fields = params.pointer("/requestedSchema/properties")?.as_object()?;
        let message = params["message"].as_str().unwrap_or_default();
        (!fields.is_empty()).then_some(Self { message, fields })
    }

    /// Returns it as questions, one for each field.
    pub(super) fn ask(&self) -> Ask {
        let questions = self.fields.iter().map(|(name, field)| self.question(name, field));
        let fields = json!({ "message": self.message, "fields": self.fields });
        Ask::Question { id: id_of("form", &fields), questions: questions.collect() }
    }

    fn question(&self, name: &str, field: &Value) -> Question {
        let about = ["description", "title"].iter().find_map(|key| field[*key].as_str());
        let text = match (about, self.message) {
            (Some(about), "") => about.to_owned(),
            (Some(about), message) if self.fields.len() > 1 => format!("{message} {about}"),
            (_, "") => name.to_owned(),
            (_, message) => message.to_owned(),
        };
        let header = field["title"].as_str().unwrap_or(name).to_owned();
        Question { text, header, choices: choices(field), many: field["type"] == "array" }
    }

    /// Returns what the agent gets for the answers.
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

/// Returns what can be chosen: plain words, or constants with titles.
fn choices(field: &Value) -> Vec<Choice> {
    let plain = |value: &Value| Choice {
        label: value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        description: String::new(),
    };
    let titled = |value: &Value| Choice {
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

/// Returns the constant that a choice stands for.
fn value(field: &Value, answer: &str) -> Value {
    let lists =
        [&field["oneOf"], &field["anyOf"], &field["items"]["anyOf"], &field["items"]["oneOf"]];
    let mut all = lists.into_iter().filter_map(Value::as_array).flatten();
    let is_it = |one: &&Value| one["title"] == answer || one["const"] == answer;
    all.find(is_it).map_or_else(|| json!(answer), |one| one["const"].clone())
}

#[cfg(test)]
mod tests;
