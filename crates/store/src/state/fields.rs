//! The fields of STATE.md by name: bold ones anywhere, plain ones where they are meant as fields.
//!
//! A fact may stand in the frontmatter too. A field that is set takes its key along, where the key
//! is there already; no key is ever added, and a block that cannot be edited stays as it is.

use serde_json::Value as Json;

use super::position::{POSITION, PhaseLine};
use super::sections::SESSION;
use super::sections_named;
use super::snapshot::{leading_number, percent, split_activity, split_of};
use crate::frontmatter;
use crate::text::Text;
use crate::text::field::{Field, field_at, same_name};
use crate::text::heading::{headings, section_end};
use crate::text::inline::unguard;
use crate::text::splice::apply;

/// Returns the value of a field, else the body of the section with that heading.
pub fn lookup(bytes: &[u8], name: &str) -> Option<String> {
    let text = Text::new(bytes);
    let field = |field: Field| unguard(&text.raw(field.value)).into_owned();
    find_meant(&text, &[name])
        .map(field)
        .or_else(|| section_body(&text, name))
        .or_else(|| find_plain(&text, &[name]).map(field))
}

/// Returns what stands below a heading, sub-sections included.
fn section_body(text: &Text<'_>, name: &str) -> Option<String> {
    let headings = headings(text);
    let title = |index: &usize| text.slice(headings[*index].text.clone());
    let index = (0..headings.len()).find(|index| same_name(title(index), name.trim()))?;
    let lines = headings[index].line + 1..section_end(text, &headings, index);
    let start = text.lines().get(lines.start).map_or(text.bytes().len(), |line| line.start);
    let end = text.lines().get(lines.end).map_or(text.bytes().len(), |line| line.start);
    Some(text.raw(start..end).trim().replace("\r\n", "\n"))
}

/// Gives a field another value; `None` when the document has no such field.
pub fn set(bytes: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let field = find(&text, &[name])?;
    Some(set_found(&text, &field, value))
}

/// Gives a field that was found another value, and its frontmatter key with it.
pub(super) fn set_found(text: &Text<'_>, field: &Field, value: &str) -> Vec<u8> {
    let name = text.slice(field.name.clone()).trim().to_lowercase();
    let edited = apply(text.bytes(), vec![field.set(text, value)]);
    follow(edited, &facts(&name, value))
}

/// Finds the first field with one of some names.
pub(super) fn find(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    find_meant(text, names).or_else(|| find_plain(text, names))
}

/// Finds the first field that is bold or stands in a section made of fields.
fn find_meant(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    let sections: Vec<_> = [POSITION, SESSION]
        .iter()
        .flat_map(|names| sections_named(text, names))
        .map(|section| section.own)
        .collect();
    let is_meant =
        |field: &Field| field.bold || sections.iter().any(|lines| lines.contains(&field.line));
    named(text, names).find(is_meant)
}

/// Finds the first plain field at the start of a line; list items are prose.
fn find_plain(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    named(text, names).find(|field| field.name.start == text.lines()[field.line].start)
}

fn named<'a>(text: &'a Text<'_>, names: &'a [&str]) -> impl Iterator<Item = Field> + 'a {
    (0..text.lines().len()).filter_map(|line| field_at(text, line)).filter(|field| {
        let name = text.slice(field.name.clone()).trim();
        names.iter().any(|other| same_name(name, other.trim()))
    })
}

/// A frontmatter key and what it should say.
pub(super) type Fact = (&'static str, String);

/// Gives frontmatter keys other values, those of them that exist.
pub(super) fn follow(mut bytes: Vec<u8>, facts: &[Fact]) -> Vec<u8> {
    for (key, value) in facts {
        let is_there = frontmatter::parse(&bytes).is_some_and(|front| front.lookup(key).is_some());
        if !is_there {
            continue;
        }
        if let Ok(edited) = frontmatter::set(&bytes, key, &Json::String(value.clone())) {
            bytes = edited;
        }
    }
    bytes
}

/// Returns what a field says in the words of the frontmatter.
fn facts(name: &str, value: &str) -> Vec<Fact> {
    let number = |key, number: Option<i64>| number.map(|number| (key, number.to_string()));
    let text = |key| vec![(key, value.to_owned())];
    match name {
        "current phase" | "phase" => {
            let line = PhaseLine::parse(value);
            let total = line.as_ref().and_then(|line| line.total);
            let known = line.map(|line| (line.number, line.name));
            let (phase, title) = known.map_or((None, None), |(phase, title)| (Some(phase), title));
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
            let facts = [("last_activity", date), ("last_activity_desc", remark)];
            facts.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
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
