//! Reads and sets fields of STATE.md by name: bold fields anywhere, plain fields in known sections.
//!
//! A fact may be in the frontmatter too. Setting a field also sets its frontmatter key if that key
//! exists. No key is ever added, and a block that cannot be edited stays unchanged.

use serde_json::Value as Json;

use super::list_sections::SESSION;
use super::position::{POSITION, PhaseLine};
use super::sections_named;
use super::snapshot::{leading_number, percent, split_activity, split_of};
use crate::frontmatter;
use crate::text::Text;
use crate::text::field::{Field, field_at, same_name};
use crate::text::heading::{headings, section_end};
use crate::text::inline::unescape_comment_start;
use crate::text::splice::apply;

/// Returns the value of a field, or else the body of the section with that heading.
pub fn lookup(bytes: &[u8], name: &str) -> Option<String> {
    let text = Text::new(bytes);
    let field = |field: Field| unescape_comment_start(&text.raw(field.value)).into_owned();
    find_explicit(&text, &[name])
        .map(field)
        .or_else(|| section_body(&text, name))
        .or_else(|| find_plain(&text, &[name]).map(field))
}

/// Returns the text below a heading, including sub-sections.
fn section_body(text: &Text<'_>, name: &str) -> Option<String> {
    let headings = headings(text);
    let title = |index: &usize| text.slice(headings[*index].text.clone());
    let index = (0..headings.len()).find(|index| same_name(title(index), name.trim()))?;
    let lines = headings[index].line + 1..section_end(text, &headings, index);
    let start = text.lines().get(lines.start).map_or(text.bytes().len(), |line| line.start);
    let end = text.lines().get(lines.end).map_or(text.bytes().len(), |line| line.start);
    Some(text.raw(start..end).trim().replace("\r\n", "\n"))
}

/// Sets a field; `None` if the document has no such field.
pub fn set(bytes: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let field = find(&text, &[name])?;
    Some(set_field(&text, &field, value))
}

/// Sets a field that was found, and its frontmatter key if that exists.
pub(super) fn set_field(text: &Text<'_>, field: &Field, value: &str) -> Vec<u8> {
    let name = text.slice(field.name.clone()).trim().to_lowercase();
    let edited = apply(text.bytes(), vec![field.set(text, value)]);
    update_frontmatter(edited, &frontmatter_updates(&name, value))
}

/// Finds the first field with one of the names.
pub(super) fn find(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    find_explicit(text, names).or_else(|| find_plain(text, names))
}

/// Finds the first field that is bold or stands in a section that consists of fields.
fn find_explicit(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    let sections: Vec<_> = [POSITION, SESSION]
        .iter()
        .flat_map(|names| sections_named(text, names))
        .map(|section| section.own)
        .collect();
    let is_explicit =
        |field: &Field| field.bold || sections.iter().any(|lines| lines.contains(&field.line));
    named(text, names).find(is_explicit)
}

/// Finds the first plain field at the start of a line; a list item is prose.
fn find_plain(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    named(text, names).find(|field| field.name.start == text.lines()[field.line].start)
}

fn named<'a>(text: &'a Text<'_>, names: &'a [&str]) -> impl Iterator<Item = Field> + 'a {
    (0..text.lines().len()).filter_map(|line| field_at(text, line)).filter(|field| {
        let name = text.slice(field.name.clone()).trim();
        names.iter().any(|other| same_name(name, other.trim()))
    })
}

/// A frontmatter key and its new value.
pub(super) type FrontmatterUpdate = (&'static str, String);

/// Sets those frontmatter keys that exist.
pub(super) fn update_frontmatter(mut bytes: Vec<u8>, updates: &[FrontmatterUpdate]) -> Vec<u8> {
    for (key, value) in updates {
        let exists = frontmatter::parse(&bytes).is_some_and(|front| front.lookup(key).is_some());
        if !exists {
            continue;
        }
        if let Ok(edited) = frontmatter::set(&bytes, key, &Json::String(value.clone())) {
            bytes = edited;
        }
    }
    bytes
}

/// Returns the frontmatter updates that correspond to a field's new value.
fn frontmatter_updates(name: &str, value: &str) -> Vec<FrontmatterUpdate> {
    let number = |key, number: Option<i64>| number.map(|number| (key, number.to_string()));
    let text = |key| vec![(key, value.to_owned())];
    match name {
        "current phase" | "phase" => {
            let line = PhaseLine::parse(value);
            let total = line.as_ref().and_then(|line| line.total);
            let parts = line.map(|line| (line.number, line.name));
            let (phase, title) = parts.map_or((None, None), |(phase, title)| (Some(phase), title));
            let named = [("current_phase", phase), ("current_phase_name", title)];
            let named = named.into_iter().filter_map(|(key, value)| Some((key, value?)));
            named.chain(number("progress.total_phases", total)).collect()
        }
        "current phase name" => text("current_phase_name"),
        "total phases" => {
            number("progress.total_phases", leading_number(value)).into_iter().collect()
        }
        "current plan" | "plan" => {
            split_of(value).0.map(|plan| ("current_plan", plan)).into_iter().collect()
        }
        "status" => text("status"),
        "progress" => number("progress.percent", percent(value)).into_iter().collect(),
        "last activity" => {
            let (date, remark) = split_activity(value);
            let updates = [("last_activity", date), ("last_activity_desc", remark)];
            updates.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
        }
        "last activity description" => text("last_activity_desc"),
        "paused at" => text("paused_at"),
        "stopped at" => text("stopped_at"),
        "last session" | "last date" => text("last_updated"),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
