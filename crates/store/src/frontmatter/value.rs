//! The values frontmatter holds. Scalars keep their text: what a number or a truth value is, the
//! reader of the key decides. Nothing here knows YAML syntax.

use std::collections::HashMap;

use super::DEPTH_MAX;
use serde_json::Value as Json;

/// One frontmatter value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A key or list item with nothing after it.
    Null,
    /// Text, quotes removed; numbers and booleans too are their text.
    Scalar(String),
    /// A list.
    List(Vec<Self>),
    /// A map, in file order; of duplicate keys only the last.
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

    /// Returns the truth value of `true` or `false`, in any case.
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

    /// Returns the number a scalar spells in decimal.
    pub fn as_int(&self) -> Option<i64> {
        self.as_str()?.parse().ok()
    }

    /// Returns the value of a key of a map.
    pub fn entry(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value as JSON, scalars as strings.
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

    /// Turns JSON into what will be read back once written: scalars as text, nulls left out.
    ///
    /// Returns `Null` for JSON null itself, and `None` for JSON nested too deeply.
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
                let kept = items.iter().filter(|item| !item.is_null());
                Self::List(
                    kept.map(|item| Self::from_json_within(item, depth)).collect::<Option<_>>()?,
                )
            }
            Json::Object(fields) => {
                let kept = fields.iter().filter(|(_, value)| !value.is_null());
                let entry = |(key, value): (&String, &Json)| {
                    Some((key.clone(), Self::from_json_within(value, depth)?))
                };
                Self::Map(kept.map(entry).collect::<Option<_>>()?)
            }
        })
    }
}

/// A map in the making, where the last of duplicate keys counts.
#[derive(Default)]
pub(super) struct MapBuilder {
    pub(super) entries: Vec<(String, Value)>,
    places: HashMap<String, usize>,
}

impl MapBuilder {
    /// Puts an entry in, at the place of an earlier one of the same key; tells if there was one.
    pub(super) fn put(&mut self, key: String, value: Value) -> bool {
        if let Some(&place) = self.places.get(&key) {
            self.entries[place].1 = value;
            return true;
        }
        self.places.insert(key.clone(), self.entries.len());
        self.entries.push((key, value));
        false
    }
}
