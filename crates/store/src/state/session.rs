//! Writes the end of a session into STATE.md: when it was, where it stopped, what continues it.

use super::fields::{find, set_field};
use super::list_sections::{SESSION, add_after};
use super::section;
use crate::text::Text;
use crate::text::field::{Field, find_field};
use crate::text::splice::apply;

#[cfg(test)]
mod tests;

/// The end of a session.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd<'a> {
    /// Time of the end.
    pub now: &'a str,
    /// What the session was working on.
    pub stopped_at: Option<&'a str>,
    /// File to read first in the next session.
    pub resume_file: Option<&'a str>,
}

/// Writes the end of a session into the existing fields and returns the names of those fields.
pub fn record_session(bytes: &[u8], end: SessionEnd<'_>) -> (Vec<u8>, Vec<&'static str>) {
    let wanted = [
        ("Last session", Some(end.now)),
        ("Last Date", Some(end.now)),
        ("Stopped At", end.stopped_at),
        ("Resume File", Some(end.resume_file.unwrap_or("None"))),
    ];
    let mut bytes = bytes.to_vec();
    let mut updated = Vec::new();
    for (name, value) in wanted.iter().filter_map(|(name, value)| Some((*name, (*value)?))) {
        if let Some(edited) = set_in_session(&bytes, name, value) {
            bytes = edited;
            updated.push(name);
        }
    }
    (bytes, updated)
}

/// Sets a field in the session section, or else the first field of that name anywhere.
fn set_in_session(bytes: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let lines = section(&text, SESSION).map_or(0..0, |section| section.own);
    let inside = |bold| find_field(&text, lines.clone(), name, bold);
    let field = inside(true).or_else(|| inside(false)).or_else(|| find(&text, &[name]))?;
    Some(set_field(&text, &field, value))
}

/// The fields of a session section, without the command.
const SESSION_FIELDS: [&str; 4] = ["Last session", "Last Date", "Stopped At", "Resume File"];

/// The names of the field with the command that continues the work.
const COMMAND: [&str; 3] = ["Resume", "Resume with", "Resume command"];

/// Where a run stands, for the next session.
#[derive(Clone, Copy, Debug)]
pub struct RunStand<'a> {
    /// The current time.
    pub now: &'a str,
    /// What the run does, or why it stopped.
    pub stopped_at: &'a str,
    /// The command that continues the run.
    pub command: &'a str,
    /// Whether the run has stopped, so that the file of an older session no longer counts.
    pub has_stopped: bool,
}

/// Writes where a run stands into the session section; adds the line of the command if the section
/// has fields but not that one.
///
/// A document that says so already stays unchanged, and so does one without a session section.
pub fn record_run(bytes: &[u8], stand: RunStand<'_>) -> Vec<u8> {
    let says = |names: &[&str], value| field_is(bytes, names, |old| old == value);
    if says(&["Stopped At"], stand.stopped_at) != Some(false)
        && says(&COMMAND, stand.command) == Some(true)
    {
        return bytes.to_vec();
    }
    let mut wanted = vec![
        ("Last session", stand.now),
        ("Last Date", stand.now),
        ("Stopped At", stand.stopped_at),
    ];
    if stand.has_stopped {
        wanted.push(("Resume File", "None"));
    }
    let mut bytes = bytes.to_vec();
    for (name, value) in wanted {
        bytes = set_inside(&bytes, &[name], value).unwrap_or(bytes);
    }
    match set_inside(&bytes, &COMMAND, stand.command) {
        Some(bytes) => bytes,
        None => add_command(&bytes, stand.command),
    }
}

/// Writes where a run stopped for good; adds the section to a document that has no field for it.
pub fn record_end(bytes: &[u8], stand: RunStand<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let has_field = SESSION_FIELDS.iter().any(|name| find_inside(&text, &[name]).is_some());
    if has_field || section(&text, SESSION).is_some() {
        return record_run(bytes, stand);
    }
    let ending = text.line_ending();
    let gap = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { ending };
    let lines = [
        "## Session Continuity",
        "",
        &format!("Last session: {}", stand.now),
        &format!("Stopped at: {}", stand.stopped_at),
        "Resume file: None",
        &format!("Resume: {}", stand.command),
        "",
    ];
    [bytes, gap.as_bytes(), ending.as_bytes(), lines.join(ending).as_bytes()].concat()
}

/// Finds the first field with one of the names in the session section.
fn find_inside(text: &Text<'_>, names: &[&str]) -> Option<Field> {
    let lines = section(text, SESSION)?.own;
    names.iter().find_map(|name| {
        let find = |bold| find_field(text, lines.clone(), name, bold);
        find(true).or_else(|| find(false))
    })
}

/// Returns whether the value of a field is accepted; `None` if there is no such field.
fn field_is(bytes: &[u8], names: &[&str], accepts: impl Fn(&str) -> bool) -> Option<bool> {
    let text = Text::new(bytes);
    find_inside(&text, names).map(|field| accepts(text.slice(field.value)))
}

fn set_inside(bytes: &[u8], names: &[&str], value: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let field = find_inside(&text, names)?;
    Some(set_field(&text, &field, value))
}

/// Adds the line of the command below the last field of the session, in the style of that field.
fn add_command(bytes: &[u8], command: &str) -> Vec<u8> {
    let text = Text::new(bytes);
    let fields = SESSION_FIELDS.iter().filter_map(|name| find_inside(&text, &[name]));
    let Some(last) = fields.max_by_key(|field| field.line) else { return bytes.to_vec() };
    let start = text.lines()[last.line].start;
    let bold = if last.bold { "**" } else { "" };
    let marker = text.slice(start..last.name.start).trim_end_matches('*');
    let line = format!("{marker}{bold}Resume:{bold} {command}");
    apply(bytes, add_after(&text, last.line, &line, text.line_ending()))
}
