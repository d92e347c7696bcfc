//! The value type of frontmatter.
//!
//! Scalars keep their text; the reader of a key decides whether it is a number or a boolean. This
//! module must not know YAML syntax.

use std::collections::HashMap;

use super::DEPTH_MAX;
use serde_json::Value as Json;

/// One frontmatter value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A key or list item without a value.
    Null,
    /// Text without quotes; numbers and booleans are kept as text too.
    Scalar(String),
    /// List items in file order.
    List(Vec<Self>),
    /// Map entries in file order. The last of duplicate keys counts.
    Map(Vec<(String, Self)>),
}

impl Value {
    /// Returns the text of a scalar.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the entries of a map.
    pub fn as_map(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// Returns the boolean that the scalar spells (`true` or `false`, ignoring case).
    pub fn as_bool(&self) -> Option<bool> {
        let text = self.as_str()?;
        if text.eq_ignore_ascii_case("true") {
            Some(true)
        } else if text.eq_ignore_ascii_case("false") {
            Some(false)
        } else {
            None
        }
    }

    /// Returns the decimal integer that the scalar spells.
    pub fn as_int(&self) -> Option<i64> {
        self.as_str()?.parse().ok()
    }

    /// Returns the value of a key of a map.
    pub fn entry(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value as JSON; scalars become strings.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Scalar(text) => Json::String(text.clone()),
            Self::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(entries) => {
                Json::Object(entries.iter().map(|(k, v)| (k.clone(), v.to_json())).collect())
            }
        }
    }

    /// Converts JSON to the value that is read back after it is written: scalars become text, nested
    /// nulls are dropped.
    ///
    /// Returns `Null` for JSON null, and `None` for JSON that is nested too deeply.
    pub(super) fn from_json(json: &Json) -> Option<Self> {
        Self::from_json_within(json, DEPTH_MAX / 2)
    }

    fn from_json_within(json: &Json, depth: usize) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        Some(match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Scalar(flag.to_string()),
            Json::Number(number) => Self::Scalar(number.to_string()),
            Json::String(text) => Self::Scalar(text.clone()),
            Json::Array(items) => {
                let non_null = items.iter().filter(|item| !item.is_null());
                Self::List(
                    non_null
                        .map(|item| Self::from_json_within(item, depth))
                        .collect::<Option<_>>()?,
                )
            }
            Json::Object(fields) => {
                let non_null = fields.iter().filter(|(_, value)| !value.is_null());
                let entry = |(key, value): (&String, &Json)| {
                    Some((key.clone(), Self::from_json_within(value, depth)?))
                };
                Self::Map(non_null.map(entry).collect::<Option<_>>()?)
            }
        })
    }
}

/// Builds a map in which the last of duplicate keys counts.
#[derive(Default)]
pub(super) struct MapBuilder {
    pub(super) entries: Vec<(String, Value)>,
    index_of_key: HashMap<String, usize>,
}

impl MapBuilder {
    /// Adds an entry, or replaces the earlier entry with the same key. Returns whether it replaced.
    pub(super) fn put(&mut self, key: String, value: Value) -> bool {
        if let Some(&index) = self.index_of_key.get(&key) {
            self.entries[index].1 = value;
            return true;
        }
        self.index_of_key.insert(key.clone(), self.entries.len());
        self.entries.push((key, value));
        false
    }
}
