//! Parses strict YAML into a [`Value`] from the event stream of the YAML parser.
//!
//! Nesting depth and the cost of aliases are limited, so no input can exhaust the stack or the
//! memory. Nothing is guessed: text that is not one valid YAML document is a [`YamlError`].

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, options};

use super::value::MapBuilder;
use super::{DEPTH_MAX, Value};

/// The number of nodes plus bytes of text that anchors and aliases may copy in one document.
const ALIAS_COST_MAX: usize = 1 << 20;

/// A valid YAML document.
pub(super) struct YamlDocument {
    pub(super) value: Value,
    /// Keys that repeat an earlier key of the same map, with their line counted from 1.
    pub(super) duplicates: Vec<(usize, String)>,
    /// Offset of the end of the last node.
    pub(super) end: usize,
}

/// Why a text is not a valid YAML document.
#[derive(Debug)]
pub(super) struct YamlError {
    /// Line in the text, counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        Self { line: error.marker().line().max(1), message: error.kind().to_string() }
    }
}

/// Reads a text that holds at most one document.
pub(super) fn parse_yaml(text: &str) -> Result<YamlDocument, YamlError> {
    let options = options! {
        disallow_directives: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder = ValueBuilder { alias_cost_left: ALIAS_COST_MAX, ..ValueBuilder::default() };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next?;
        let line = span.start.line();
        builder.handle_event(event, &span, text).map_err(|message| YamlError { line, message })?;
    }
    let value = builder.root.unwrap_or(Value::Null);
    Ok(YamlDocument { value, duplicates: builder.duplicates, end: builder.end })
}

#[derive(Default)]
struct ValueBuilder {
    root: Option<Value>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Value>,
    alias_cost_left: usize,
    duplicates: Vec<(usize, String)>,
    end: usize,
    documents: usize,
}

/// A collection whose end event has not arrived yet.
struct Frame {
    anchor: usize,
    collection: Collection,
}

enum Collection {
    List(Vec<Value>),
    Map(MapBuilder, Option<String>),
}

impl ValueBuilder {
    fn handle_event(&mut self, event: Event, span: &Span, text: &str) -> Result<(), String> {
        match event {
            Event::DocumentStart(explicit, _) => {
                self.documents += 1;
                if explicit || self.documents > 1 {
                    return Err("a second document begins".to_owned());
                }
            }
            Event::Scalar(scalar, style, anchor, _) => {
                // The parser reports an absent value as a plain `~` that covers no such text.
                let absent = style == ScalarStyle::Plain
                    && scalar == "~"
                    && !span.slice(text).is_some_and(|source| source.starts_with('~'));
                let value = if absent { Value::Null } else { Value::Scalar(scalar.into_owned()) };
                self.finish(value, anchor, span)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(anchor, Collection::List(Vec::new()))?;
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(anchor, Collection::Map(MapBuilder::default(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let frame = self.frames.pop().ok_or("a collection ends that never began")?;
                let value = match frame.collection {
                    Collection::List(items) => Value::List(items),
                    Collection::Map(map, _) => Value::Map(map.entries),
                };
                self.finish(value, frame.anchor, span)?;
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).ok_or("an alias stands inside its anchor")?;
                let copy = charged_copy(value, self.frames.len(), &mut self.alias_cost_left)?;
                self.finish(copy, 0, span)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, anchor: usize, collection: Collection) -> Result<(), String> {
        if self.frames.len() == DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX} levels"));
        }
        self.frames.push(Frame { anchor, collection });
        Ok(())
    }

    /// Adds a complete value to the innermost open collection.
    fn finish(&mut self, value: Value, anchor: usize, span: &Span) -> Result<(), String> {
        if anchor != 0 {
            let copy = charged_copy(&value, 0, &mut self.alias_cost_left)?;
            self.anchors.insert(anchor, copy);
        }
        match self.frames.last_mut().map(|frame| &mut frame.collection) {
            // The parser reports the end of the outermost collection after the last content, so that
            // offset is used only if nothing else set one.
            None => {
                self.end = if self.end == 0 { end_of(span) } else { self.end };
                self.root = Some(value);
                return Ok(());
            }
            Some(Collection::List(items)) => items.push(value),
            Some(Collection::Map(map, key)) => match (key.take(), value) {
                (None, Value::Scalar(text)) => *key = Some(text),
                (None, Value::Null) => *key = Some(String::new()),
                (None, _) => return Err("a key is not a scalar".to_owned()),
                (Some(name), value) => {
                    if map.put(name.clone(), value) {
                        self.duplicates.push((span.start.line(), name));
                    }
                }
            },
        }
        self.end = end_of(span);
        Ok(())
    }
}

fn end_of(span: &Span) -> usize {
    span.end.byte_offset().unwrap_or(0)
}

/// Copies a value to a nesting level and deducts the cost from the document's alias budget.
fn charged_copy(value: &Value, depth: usize, cost_left: &mut usize) -> Result<Value, String> {
    let (cost, height) = measure(value);
    if depth + height > DEPTH_MAX {
        return Err(format!("nested deeper than {DEPTH_MAX} levels"));
    }
    *cost_left = cost_left.checked_sub(cost).ok_or("aliases repeat too much")?;
    Ok(value.clone())
}

/// Returns the cost of a value (nodes plus bytes of text) and its number of nesting levels.
fn measure(value: &Value) -> (usize, usize) {
    let sum = |(cost, height): (usize, usize), (more, level): (usize, usize)| {
        (cost + more, height.max(level + 1))
    };
    match value {
        Value::Null => (1, 0),
        Value::Scalar(text) => (1 + text.len(), 0),
        Value::List(items) => items.iter().map(measure).fold((1, 1), sum),
        Value::Map(entries) => {
            let costs = entries.iter().map(|(key, value)| {
                let (cost, height) = measure(value);
                (cost + key.len(), height)
            });
            costs.fold((1, 1), sum)
        }
    }
}
