//! Builds values from the event stream of the YAML parser. Depth and the cost of aliases are
//! bounded, so that no input can exhaust the stack or the memory. Guesses nothing: text that is
//! not one sound YAML document is a [`Flaw`].

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, options};

use super::value::MapBuilder;
use super::{DEPTH_MAX, Value};

/// How many nodes and bytes of text anchors and aliases may copy in one document.
const ALIAS_COST_MAX: usize = 1 << 20;

/// A sound YAML document.
pub(super) struct Reading {
    pub(super) value: Value,
    /// Keys that repeat an earlier one of their map, with their line counted from 1.
    pub(super) duplicates: Vec<(usize, String)>,
    /// Offset where the last node that was read ends.
    pub(super) end: usize,
}

/// Why a text is not a sound YAML document.
#[derive(Debug)]
pub(super) struct Flaw {
    /// Line in the text, counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

impl From<ScanError> for Flaw {
    fn from(error: ScanError) -> Self {
        Self { line: error.marker().line().max(1), message: error.kind().to_string() }
    }
}

/// Reads a text that holds at most one document.
pub(super) fn read(text: &str) -> Result<Reading, Flaw> {
    let options = options! {
        disallow_directives: true,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    };
    let mut builder = Builder { alias_cost_left: ALIAS_COST_MAX, ..Builder::default() };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next?;
        let line = span.start.line();
        builder.take(event, &span, text).map_err(|message| Flaw { line, message })?;
    }
    let value = builder.root.unwrap_or(Value::Null);
    Ok(Reading { value, duplicates: builder.duplicates, end: builder.end })
}

#[derive(Default)]
struct Builder {
    root: Option<Value>,
    frames: Vec<Frame>,
    anchors: HashMap<usize, Value>,
    alias_cost_left: usize,
    duplicates: Vec<(usize, String)>,
    end: usize,
    documents: usize,
}

/// A collection whose end has not come yet.
struct Frame {
    anchor: usize,
    open: Open,
}

enum Open {
    List(Vec<Value>),
    Map(MapBuilder, Option<String>),
}

impl Builder {
    fn take(&mut self, event: Event, span: &Span, text: &str) -> Result<(), String> {
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
            Event::SequenceStart(_, anchor, _) => self.open(anchor, Open::List(Vec::new()))?,
            Event::MappingStart(_, anchor, _) => {
                self.open(anchor, Open::Map(MapBuilder::default(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let frame = self.frames.pop().ok_or("a collection ends that never began")?;
                let value = match frame.open {
                    Open::List(items) => Value::List(items),
                    Open::Map(map, _) => Value::Map(map.entries),
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

    fn open(&mut self, anchor: usize, open: Open) -> Result<(), String> {
        if self.frames.len() == DEPTH_MAX {
            return Err(format!("nested deeper than {DEPTH_MAX} levels"));
        }
        self.frames.push(Frame { anchor, open });
        Ok(())
    }

    /// Puts a complete value into the collection it belongs to.
    fn finish(&mut self, value: Value, anchor: usize, span: &Span) -> Result<(), String> {
        if anchor != 0 {
            let copy = charged_copy(&value, 0, &mut self.alias_cost_left)?;
            self.anchors.insert(anchor, copy);
        }
        match self.frames.last_mut().map(|frame| &mut frame.open) {
            // The end of the outermost collection is where the parser gave up looking for more.
            None => {
                self.end = if self.end == 0 { end_of(span) } else { self.end };
                self.root = Some(value);
                return Ok(());
            }
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(map, key)) => match (key.take(), value) {
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

/// Copies a value that will stand `depth` levels deep, at the expense of what copies may cost.
fn charged_copy(value: &Value, depth: usize, cost_left: &mut usize) -> Result<Value, String> {
    let (cost, height) = measure(value);
    if depth + height > DEPTH_MAX {
        return Err(format!("nested deeper than {DEPTH_MAX} levels"));
    }
    *cost_left = cost_left.checked_sub(cost).ok_or("aliases repeat too much")?;
    Ok(value.clone())
}

/// Returns the nodes and bytes of text a value holds, and how many levels it nests.
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
