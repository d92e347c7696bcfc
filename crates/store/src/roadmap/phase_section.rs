//! Reads a phase's section: the lines below its heading, their fields and plan checkboxes.
//!
//! The lines are parsed once in [`PhaseSection::new`]; the other methods look values up.

use std::borrow::Cow;
use std::ops::Range;

use super::declarations::Outline;
use super::{completion_words, phase_label, withdrawn};
use crate::requirements::parse_ids;
use crate::text::field::{Field, field_at, name_is_one_of};
use crate::text::heading::{Heading, heading_at};
use crate::text::inline::strip_markup;
use crate::text::list::{ListItem, item_at};

/// The number of lines that one field's value may span.
const VALUE_LINES_MAX: usize = 40;

pub(crate) const DEPENDS_FIELDS: &[&str] = &[
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
const GOAL_FIELDS: &[&str] = &["goal", "objetivo", "objective", "ziel", "цель", "目标"];
pub(crate) const PARALLEL_FIELDS: &[&str] =
    &["parallel with", "can run in parallel with", "parallel"];
const REQUIREMENTS_FIELDS: &[&str] = &["requirements", "requirement", "requisitos", "reqs"];
const STATUS_FIELDS: &[&str] = &["status", "state", "estado", "状态", "статус"];

/// The section of a phase.
pub(crate) struct PhaseSection<'a> {
    outline: &'a Outline<'a>,
    lines: Range<usize>,
    fields: Vec<Field>,
    /// Names of `fields` without markup.
    names: Vec<Cow<'a, str>>,
    /// State of the plan checkboxes: true if ticked.
    checkboxes: Vec<bool>,
}

impl<'a> PhaseSection<'a> {
    /// Reads the section below the phase heading at a line.
    pub(crate) fn new(outline: &'a Outline<'a>, heading: usize) -> Self {
        let text = outline.text;
        let lines = lines_below(outline, heading);
        let fields: Vec<_> = lines.clone().filter_map(|line| field_at(text, line)).collect();
        let names =
            fields.iter().map(|field| strip_markup(text.slice(field.name.clone()))).collect();
        let items = outline.items(lines.clone()).iter().map(|(_, item)| item);
        let plans =
            items.filter(|item| item.checkbox.is_some() && is_plan(text.slice(item.text.clone())));
        let checkboxes = plans.filter_map(ListItem::done).collect();
        Self { outline, lines, fields, names, checkboxes }
    }

    fn field(&self, names: &[&str]) -> Option<&Field> {
        let at = self.names.iter().position(|name| name_is_one_of(name, names))?;
        self.fields.get(at)
    }

    /// Returns the text of the dependency field.
    pub(crate) fn depends(&self) -> Option<String> {
        self.field(DEPENDS_FIELDS).map(|field| self.value(field))
    }

    /// Returns the text of the field that names phases which may run in parallel with this one.
    pub(crate) fn parallel(&self) -> Option<String> {
        self.field(PARALLEL_FIELDS).map(|field| self.value(field))
    }

    /// Returns the ids of the requirements that the phase implements.
    pub(crate) fn requirements(&self) -> Option<Vec<String>> {
        self.field(REQUIREMENTS_FIELDS).map(|field| parse_ids(&self.value(field)))
    }

    /// Returns the first line of the goal; `None` if it is empty.
    pub(crate) fn goal(&self) -> Option<String> {
        let goal = self.outline.text.slice(self.field(GOAL_FIELDS)?.value.clone()).trim();
        (!goal.is_empty()).then(|| goal.to_owned())
    }

    /// Returns what the status field says: done, not done, or unclear (`None`).
    pub(crate) fn status(&self) -> Option<bool> {
        completion_words::parse_status(
            self.outline.text.slice(self.field(STATUS_FIELDS)?.value.clone()),
        )
    }

    /// Returns the index of the line that withdraws the phase: the status field, or a first line such
    /// as `**DEFERRED** to v2`.
    pub(crate) fn withdrawn_line(&self) -> Option<usize> {
        let text = self.outline.text;
        let says = |line: &str| withdrawn::is_remark(&strip_markup(line));
        if let Some(field) = self.field(STATUS_FIELDS) {
            return says(text.slice(field.value.clone())).then_some(field.line);
        }
        let first = self.lines.clone().find(|line| !text.line(*line).trim().is_empty())?;
        (item_at(text, first).is_none() && says(text.line(first))).then_some(first)
    }

    /// Returns the index of the line with the dependency field.
    pub(crate) fn depends_line(&self) -> Option<usize> {
        self.field(DEPENDS_FIELDS).map(|field| field.line)
    }

    /// Returns whether all plan checkboxes are ticked; `None` if there are none.
    pub(crate) fn plan_boxes(&self) -> Option<bool> {
        (!self.checkboxes.is_empty()).then(|| self.checkboxes.iter().all(|done| *done))
    }

    /// Returns the text of a field, including the lines that continue it.
    fn value(&self, field: &Field) -> String {
        let text = self.outline.text;
        let mut value = text.slice(field.value.clone()).to_owned();
        let empty = value.trim().is_empty();
        let after = field.line + 1..self.lines.end.min(field.line + VALUE_LINES_MAX);
        for line in after {
            let content = text.line(line).trim();
            let item = item_at(text, line);
            // A value on the lines below may be separated from the field by one blank line.
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
        strip_markup(&value).into_owned()
    }

    /// Returns whether a line starts another field. A line inside a value may contain a colon, so
    /// only a bold or short name counts.
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
/// The section ends at the next phase heading, or at any heading of the same or a higher level.
pub(crate) fn lines_below(outline: &Outline<'_>, line: usize) -> Range<usize> {
    let index = outline.headings.partition_point(|heading| heading.line < line);
    let level = outline.headings[index].level;
    let ends = |heading: &&Heading| {
        heading.level <= level
            || phase_label::parse_label(outline.text.slice(heading.text.clone())).is_some()
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
