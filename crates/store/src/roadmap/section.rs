//! A phase's own section: the lines below its heading, and the fields in them.

use std::ops::Range;

use super::declare::Outline;
use super::{mention, verdict};
use crate::text::field::{Field, field_at};
use crate::text::heading::heading_at;
use crate::text::inline::plain;
use crate::text::list::item_at;

/// How many lines the value of one field may span.
const VALUE_LINES_MAX: usize = 40;

const DEPENDS: &[&str] = &[
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
    "зависит от",
    "зависимости",
    "依赖",
    "依赖于",
    "前置依赖",
    "依存",
];
const GOAL: &[&str] = &["goal", "objetivo", "objective", "ziel", "цель", "目标"];
const PARALLEL: &[&str] = &["parallel with", "can run in parallel with", "parallel"];
const STATUS: &[&str] = &["status", "state", "estado", "状态", "статус"];

/// Returns the lines of the section that a phase heading opens.
///
/// It ends at the next phase heading, and at any heading of the same or a higher level.
pub(super) fn lines_below(outline: &Outline<'_>, line: usize) -> Range<usize> {
    let index = outline.headings.partition_point(|heading| heading.line < line);
    let level = outline.headings[index].level;
    let ends = |line: usize, at: usize| {
        at <= level
            || mention::named(outline.text.slice(outline.headings[line].text.clone())).is_some()
    };
    let next = (index + 1..outline.headings.len()).find(|i| ends(*i, outline.headings[*i].level));
    line + 1..next.map_or(outline.text.lines().len(), |i| outline.headings[i].line)
}

/// Finds a field of one of some names in a section, in bold or plain.
pub(super) fn field(outline: &Outline<'_>, lines: Range<usize>, names: &[&str]) -> Option<Field> {
    lines.filter_map(|line| field_at(outline.text, line)).find(|field| {
        let name = plain(outline.text.slice(field.name.clone())).to_lowercase();
        names.contains(&name.trim())
    })
}

/// Returns the text of a field with the lines it goes on over.
pub(super) fn value(outline: &Outline<'_>, lines: Range<usize>, field: &Field) -> String {
    let text = outline.text;
    let mut value = text.slice(field.value.clone()).to_owned();
    let empty = value.trim().is_empty();
    let after = field.line + 1..lines.end.min(field.line + VALUE_LINES_MAX);
    for line in after {
        let content = text.line(line).trim();
        let item = item_at(text, line);
        if content.is_empty() && empty && value.trim().is_empty() && line == field.line + 1 {
            continue;
        }
        let is_other = heading_at(text, line).is_some() || content.starts_with(['|', '<', '#']);
        if content.is_empty()
            || is_other
            || begins_field(outline, line)
            || (item.is_some() && !empty)
        {
            break;
        }
        value.push_str(if item.is_some() { "; " } else { " " });
        value.push_str(item.map_or(content, |item| text.slice(item.text)));
    }
    plain(&value).into_owned()
}

/// A line in the middle of a value may hold a colon; only a bold name begins another field.
fn begins_field(outline: &Outline<'_>, line: usize) -> bool {
    let content = outline.text.line(line).trim_start();
    field_at(outline.text, line).is_some_and(|field| {
        let name = outline.text.slice(field.name.clone());
        field.bold || (content.starts_with(name) && name.split_whitespace().count() <= 3)
    })
}

/// Returns the dependency text of a section.
pub(super) fn depends(outline: &Outline<'_>, lines: Range<usize>) -> Option<String> {
    let found = field(outline, lines.clone(), DEPENDS)?;
    Some(value(outline, lines, &found))
}

/// Returns the goal of a section, as one line.
pub(super) fn goal(outline: &Outline<'_>, lines: Range<usize>) -> Option<String> {
    let found = field(outline, lines, GOAL)?;
    let goal = outline.text.slice(found.value).trim();
    (!goal.is_empty()).then(|| goal.to_owned())
}

/// Returns the text that names phases this one may run beside.
pub(super) fn parallel(outline: &Outline<'_>, lines: Range<usize>) -> Option<String> {
    let found = field(outline, lines.clone(), PARALLEL)?;
    Some(value(outline, lines, &found))
}

/// Reads the status line of a section.
pub(super) fn status(outline: &Outline<'_>, lines: Range<usize>) -> Option<bool> {
    let found = field(outline, lines, STATUS)?;
    verdict::of_status(outline.text.slice(found.value))
}

/// Returns whether all plan boxes of a section are ticked; `None` without any.
pub(super) fn plan_boxes(outline: &Outline<'_>, lines: Range<usize>) -> Option<bool> {
    let boxes: Vec<bool> = lines
        .filter_map(|line| {
            let item = item_at(outline.text, line)?;
            let done = item.done()?;
            is_plan(outline.text.slice(item.text)).then_some(done)
        })
        .collect();
    (!boxes.is_empty()).then(|| boxes.iter().all(|done| *done))
}

/// Returns whether an item names a plan: `01-02`, `3.1-04-PLAN.md`, `Plan 2`.
fn is_plan(text: &str) -> bool {
    let text = plain(text);
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let id = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(text.len());
    let by_id = text.starts_with(|c: char| c.is_ascii_digit())
        && text[id..].strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    by_id
        || text.contains("PLAN.md")
        || text.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("plan "))
}
