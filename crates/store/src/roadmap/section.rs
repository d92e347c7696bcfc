//! A phase's own section: the lines below its heading, the fields and the plan boxes in them.
//!
//! The lines are read once; what is asked later is looked up.

use std::borrow::Cow;
use std::ops::Range;

use super::declare::Outline;
use super::{mention, verdict};
use crate::requirements::parse_ids;
use crate::text::field::{Field, field_at, is_one_of};
use crate::text::heading::{Heading, heading_at};
use crate::text::inline::plain;
use crate::text::list::{Item, item_at};

/// How many lines the value of one field may span.
const VALUE_LINES_MAX: usize = 40;

pub(super) const DEPENDS: &[&str] = &[
    "depends on",
    "depends",
    "dependencies",
    "dependency",
    "depende de",
    "dependências",
    "dependencias",
    "dépend de",
    "hängt ab von",
    "abhängigkeiten",
    "abhängig von",
    "depends upon",
    "dependent on",
    "зависит от",
    "зависимости",
    "依赖",
    "依赖于",
    "前置依赖",
    "依存",
];
const GOAL: &[&str] = &["goal", "objetivo", "objective", "ziel", "цель", "目标"];
pub(super) const PARALLEL: &[&str] = &["parallel with", "can run in parallel with", "parallel"];
const REQUIREMENTS: &[&str] = &["requirements", "requirement", "requisitos", "reqs"];
const STATUS: &[&str] = &["status", "state", "estado", "状态", "статус"];

/// The section of a phase.
pub(super) struct Section<'a> {
    outline: &'a Outline<'a>,
    lines: Range<usize>,
    fields: Vec<Field>,
    /// Their names without markup.
    names: Vec<Cow<'a, str>>,
    /// The boxes of its plans.
    boxes: Vec<bool>,
}

impl<'a> Section<'a> {
    /// Reads the section that the phase heading at a line opens.
    pub(super) fn new(outline: &'a Outline<'a>, heading: usize) -> Self {
        let text = outline.text;
        let lines = lines_below(outline, heading);
        let fields: Vec<_> = lines.clone().filter_map(|line| field_at(text, line)).collect();
        let names = fields.iter().map(|field| plain(text.slice(field.name.clone()))).collect();
        let items = outline.items(lines.clone()).iter().map(|(_, item)| item);
        let plans =
            items.filter(|item| item.tick.is_some() && is_plan(text.slice(item.text.clone())));
        let boxes = plans.filter_map(Item::done).collect();
        Self { outline, lines, fields, names, boxes }
    }

    fn field(&self, names: &[&str]) -> Option<&Field> {
        let at = self.names.iter().position(|name| is_one_of(name, names))?;
        self.fields.get(at)
    }

    /// Returns the dependency text.
    pub(super) fn depends(&self) -> Option<String> {
        self.field(DEPENDS).map(|field| self.value(field))
    }

    /// Returns the text that names phases this one may run beside.
    pub(super) fn parallel(&self) -> Option<String> {
        self.field(PARALLEL).map(|field| self.value(field))
    }

    /// Returns the ids of the requirements that the phase serves.
    pub(super) fn requirements(&self) -> Option<Vec<String>> {
        self.field(REQUIREMENTS).map(|field| parse_ids(&self.value(field)))
    }

    /// Returns the goal, as one line.
    pub(super) fn goal(&self) -> Option<String> {
        let goal = self.outline.text.slice(self.field(GOAL)?.value.clone()).trim();
        (!goal.is_empty()).then(|| goal.to_owned())
    }

    /// Reads the status line.
    pub(super) fn status(&self) -> Option<bool> {
        verdict::of_status(self.outline.text.slice(self.field(STATUS)?.value.clone()))
    }

    /// Returns whether all plan boxes are ticked; `None` without any.
    pub(super) fn plan_boxes(&self) -> Option<bool> {
        (!self.boxes.is_empty()).then(|| self.boxes.iter().all(|done| *done))
    }

    /// Returns the text of a field with the lines it goes on over.
    fn value(&self, field: &Field) -> String {
        let text = self.outline.text;
        let mut value = text.slice(field.value.clone()).to_owned();
        let empty = value.trim().is_empty();
        let after = field.line + 1..self.lines.end.min(field.line + VALUE_LINES_MAX);
        for line in after {
            let content = text.line(line).trim();
            let item = item_at(text, line);
            // A value on the lines below may be set off by a blank one.
            if content.is_empty() && empty && line == field.line + 1 {
                continue;
            }
            let is_other = content.is_empty()
                || content.starts_with(['|', '<'])
                || heading_at(text, line).is_some()
                || self.begins_field(line);
            if is_other || (item.is_some() && !empty) {
                break;
            }
            value.push_str(if item.is_some() { "; " } else { " " });
            value.push_str(item.map_or(content, |item| text.slice(item.text)));
        }
        plain(&value).into_owned()
    }

    /// A line in the middle of a value may hold a colon; only a short name begins another field.
    fn begins_field(&self, line: usize) -> bool {
        let Ok(at) = self.fields.binary_search_by_key(&line, |field| field.line) else {
            return false;
        };
        let name = self.outline.text.slice(self.fields[at].name.clone());
        let content = self.outline.text.line(line).trim_start();
        self.fields[at].bold || (content.starts_with(name) && name.split_whitespace().count() <= 3)
    }
}

/// Returns the lines of the section that a phase heading opens.
///
/// It ends at the next phase heading, and at any heading of the same or a higher level.
pub(super) fn lines_below(outline: &Outline<'_>, line: usize) -> Range<usize> {
    let index = outline.headings.partition_point(|heading| heading.line < line);
    let level = outline.headings[index].level;
    let ends = |heading: &&Heading| {
        heading.level <= level || mention::named(outline.text.slice(heading.text.clone())).is_some()
    };
    let next = outline.headings[index + 1..].iter().find(ends);
    line + 1..next.map_or(outline.text.lines().len(), |heading| heading.line)
}

/// Returns whether an item names a plan: `01-02`, `3.1-04-PLAN.md`, `Plan 2`.
fn is_plan(text: &str) -> bool {
    let start = text.find(|c: char| c.is_alphanumeric()).unwrap_or(text.len());
    let text = &text[start..];
    let id = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let rest = text[id..].strip_prefix('-');
    let by_id = text.starts_with(|c: char| c.is_ascii_digit())
        && rest.is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    by_id
        || text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("plan "))
        || text.contains("PLAN.md")
}
