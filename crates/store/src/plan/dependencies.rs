//! Parses `depends_on` of a plan: references to other plans in many notations.
//!
//! Real files use `01-02`, `1`, `"01"`, `01-02-PLAN.md`, `03-slug/01`, `{phase: 3, plan: 1}`, and prose.

use crate::frontmatter::Value;
use crate::frontmatter_values;

/// A reference to another plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRef {
    /// Phase as written; `None` means the phase of the referring plan.
    pub phase: Option<String>,
    /// Plan number as written; `None` if the text names no plan.
    pub plan: Option<String>,
    /// Full text of the reference.
    pub text: String,
}

impl PlanRef {
    /// Returns the id in `ids` that the reference means; `own_phase` is the referring plan's phase.
    ///
    /// Numbers are compared without leading zeros.
    pub fn resolve<'a>(&self, own_phase: &str, ids: &'a [String]) -> Option<&'a str> {
        let exact = ids.iter().find(|id| **id == self.text);
        let plan = self.plan.as_deref();
        let phase = self.phase.as_deref().unwrap_or(own_phase);
        let phase = leading_number(phase).unwrap_or(phase);
        let matching = || {
            ids.iter().find(|id| {
                let Some((id_phase, id_plan)) = split_id(id) else { return false };
                same_number(id_phase, phase) && plan.is_some_and(|plan| same_number(id_plan, plan))
            })
        };
        exact.or_else(matching).map(String::as_str)
    }
}

/// Reads the value of `depends_on`.
pub(super) fn parse(value: &Value) -> Vec<PlanRef> {
    match value {
        Value::List(items) => items.iter().flat_map(parse_item).collect(),
        _ => parse_item(value),
    }
}

fn parse_item(value: &Value) -> Vec<PlanRef> {
    match value {
        Value::Null => Vec::new(),
        Value::Scalar(text) => parse_text(text),
        Value::List(items) => items.iter().filter_map(Value::as_str).flat_map(parse_text).collect(),
        Value::Map(map) => {
            let part = |key: &str| {
                frontmatter_values::map_value(map, key).and_then(frontmatter_values::scalar_text)
            };
            let (phase, plan) = (part("phase"), part("plan"));
            let shown: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{key}: {}", value.as_str().unwrap_or("").trim()))
                .collect();
            let text = shown.join(", ");
            match (&phase, plan.as_deref().and_then(parse_one)) {
                // The value of `plan` may be a full id such as `03-02`.
                (_, Some(named)) if named.phase.is_some() => vec![PlanRef { text, ..named }],
                (None, None) => vec![PlanRef { phase: None, plan: None, text }],
                _ => vec![PlanRef { phase, plan, text }],
            }
        }
    }
}

/// Reads the references in a line of text. Text that names no plan becomes one unresolved reference.
fn parse_text(text: &str) -> Vec<PlanRef> {
    let text = text.trim();
    let word = text.to_ascii_lowercase();
    if matches!(word.trim_end_matches('.'), "" | "none" | "nothing" | "n/a" | "-" | "--" | "[]") {
        return Vec::new();
    }
    let parts = frontmatter_values::split_commas(text);
    let all: Option<Vec<_>> = parts.iter().map(|part| parse_one(part)).collect();
    all.unwrap_or_else(|| vec![PlanRef { phase: None, plan: None, text: text.to_owned() }])
}

/// Reads one reference to a plan.
fn parse_one(text: &str) -> Option<PlanRef> {
    let bare = text.trim().trim_matches('`');
    let (folder, name) = match bare.rsplit_once('/') {
        Some((folder, name)) => (folder.rsplit('/').next(), name),
        None => (None, bare),
    };
    let name = name.strip_suffix(".md").unwrap_or(name);
    let name = name.strip_suffix("-PLAN").or(name.strip_suffix("-SUMMARY")).unwrap_or(name);
    let lower = name.to_ascii_lowercase();
    let name =
        if lower.starts_with("plan") { name[4..].trim_start_matches([' ', '-']) } else { name };
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
    {
        return None;
    }
    let folder_phase = folder.and_then(leading_number);
    let (phase, plan) = match split_id(name) {
        Some((phase, plan)) => (Some(phase), plan),
        None if is_number(name) => (folder_phase, name),
        None => return None,
    };
    Some(PlanRef {
        phase: phase.map(str::to_owned),
        plan: Some(plan.to_owned()),
        text: text.trim().to_owned(),
    })
}

/// Splits `NN-MM` and `NN-MM-words`; the phase may be `3.1` or `3.1e`.
fn split_id(id: &str) -> Option<(&str, &str)> {
    let (phase, rest) = id.split_once('-')?;
    let plan = rest.split('-').next().unwrap_or(rest);
    let is_phase = leading_number(phase) == Some(phase);
    (is_phase && is_number(plan)).then_some((phase, plan))
}

/// Returns the number at the start of a text: digits, dots and at most one letter after them.
fn leading_number(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let digits = text[..end].trim_end_matches('.');
    if digits.is_empty() {
        return None;
    }
    let mut after = text[digits.len()..].chars();
    let is_letter = after.next().is_some_and(|c| c.is_ascii_lowercase());
    let is_alone = after.next().is_none_or(|c| !c.is_ascii_alphanumeric());
    Some(&text[..digits.len() + usize::from(is_letter && is_alone)])
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.' || byte.is_ascii_lowercase())
        && text.len() <= 8
}

/// Compares two numbers without the leading zeros of their first part.
fn same_number(a: &str, b: &str) -> bool {
    fn bare(text: &str) -> &str {
        let trimmed = text.trim_start_matches('0');
        if trimmed.starts_with(|c: char| c.is_ascii_digit()) { trimmed } else { text }
    }
    let zero = |text: &str| text.bytes().all(|byte| byte == b'0') && !text.is_empty();
    bare(a) == bare(b) || zero(a) && zero(b)
}
