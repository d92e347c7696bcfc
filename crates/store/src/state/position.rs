//! Finds the position in STATE.md: the current phase, plan and progress.
//!
//! A value is searched in this order: bold fields above the first section, fields of the position
//! section, frontmatter, bold fields anywhere, plain fields anywhere.

use mow_core::phase::PhaseNumber;

use super::{MarkdownSection, sections_named};
use crate::frontmatter::{self, Frontmatter, Value};
use crate::text::Text;
use crate::text::field::{field_at, same_name};
use crate::text::heading::headings;
use crate::text::inline::strip_markup;

/// Titles of the section that states the position.
pub(super) const POSITION: &[&str] = &[
    "current position",
    "position",
    "current phase",
    "current state",
    "current status",
    "project status",
    "status",
    "posição atual",
    "posición actual",
    "当前位置",
    "当前状态",
    "текущая позиция",
    "where we are",
    "active phase",
    "fase atual",
    "fase actual",
    "current milestone",
    "current focus",
];

/// Names of the field that holds the phase. The first one counts only in a position section.
const PHASE_FIELDS: &[&str] =
    &["Phase", "Current Phase", "Active Phase", "Fase atual", "Fase", "当前阶段", "阶段"];

/// The parts of STATE.md in which a position may be found.
pub(super) struct PositionSources<'a> {
    text: &'a Text<'a>,
    frontmatter: Option<Frontmatter>,
    /// Position sections in file order.
    position: Vec<MarkdownSection>,
    /// Line of the first section heading.
    preamble_end: usize,
}

impl<'a> PositionSources<'a> {
    pub(super) fn new(text: &'a Text<'a>) -> Self {
        let headings = headings(text);
        let first = headings.iter().find(|heading| heading.level >= 2).map(|heading| heading.line);
        Self {
            text,
            frontmatter: frontmatter::parse(text.bytes()),
            position: sections_named(text, POSITION),
            preamble_end: first.unwrap_or(text.lines().len()),
        }
    }

    /// Returns the first value that the document states for a field.
    ///
    /// `bold` are its names in the bold dialect, `short` its names in the position section, and
    /// `key` is its frontmatter key.
    pub(super) fn value(&self, bold: &[&str], short: &[&str], key: &str) -> Option<String> {
        let all = 0..self.text.lines().len();
        let in_position = || self.in_position(short);
        self.field(0..self.preamble_end, bold, None)
            .or_else(in_position)
            .or_else(|| self.key(key))
            .or_else(|| self.field(all.clone(), bold, Some(true)))
            .or_else(|| self.field(all, bold, Some(false)))
    }

    fn in_position(&self, names: &[&str]) -> Option<String> {
        self.position.iter().find_map(|section| self.field(section.own.clone(), names, None))
    }

    /// Returns the value of the first field in a range of lines that has one of the names and is
    /// not empty.
    pub(super) fn field(
        &self,
        lines: std::ops::Range<usize>,
        names: &[&str],
        bold: Option<bool>,
    ) -> Option<String> {
        lines.filter_map(|line| field_at(self.text, line)).find_map(|field| {
            let name = self.text.slice(field.name.clone()).trim();
            let wanted = bold.is_none_or(|bold| field.bold == bold);
            let value = self.text.slice(field.value.clone()).trim();
            let named = names.iter().any(|other| same_name(name, other));
            (wanted && named && !value.is_empty()).then(|| strip_markup(value).into_owned())
        })
    }

    /// Returns the value of a frontmatter key as text.
    pub(super) fn key(&self, path: &str) -> Option<String> {
        let value = self.frontmatter.as_ref()?.lookup(path)?;
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty() && *text != "null");
        text.map(str::to_owned)
    }

    /// Returns the value of a frontmatter key as a number.
    pub(super) fn key_number(&self, path: &str) -> Option<i64> {
        self.frontmatter.as_ref()?.lookup(path).and_then(Value::as_int)
    }

    /// Returns the phase line, from the fields or else from sentences in the position section.
    pub(super) fn phase(&self) -> Option<PhaseLine> {
        let stated = [
            self.field(0..self.preamble_end, &["Current Phase", "Phase"], None),
            self.in_position(PHASE_FIELDS),
            self.key("current_phase"),
            self.field(0..self.text.lines().len(), &PHASE_FIELDS[1..], None),
        ];
        let mut values = stated.iter().flatten().peekable();
        let is_stated = values.peek().is_some();
        let found = values.find_map(|value| PhaseLine::parse(value));
        // A field that says "none" is an answer; sentences are searched only if no field exists.
        if is_stated { found } else { found.or_else(|| self.phase_in_sentences()) }
    }

    /// Finds a phase in the sentences of the position section, or in the focus field.
    fn phase_in_sentences(&self) -> Option<PhaseLine> {
        let focus = &["Current focus", "Next phase", "Next phase to execute", "Next", "Current"];
        let sentences = self.position.iter().flat_map(|section| section.lines.clone());
        let mut sentences =
            sentences.map(|line| strip_markup(self.text.line(line).trim_start_matches('#')));
        sentences.find_map(|sentence| sentence_phase(&sentence)).or_else(|| {
            let focus = self.field(0..self.text.lines().len(), focus, None)?;
            sentence_phase(&focus).or_else(|| PhaseLine::parse(&focus))
        })
    }
}

/// Parses a sentence that starts with `Phase 3`.
fn sentence_phase(sentence: &str) -> Option<PhaseLine> {
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = sentence.to_lowercase();
    (lower.starts_with("phase ") || lower.starts_with("fase "))
        .then(|| PhaseLine::parse(sentence))?
}

/// A phase with the remarks on its line: `3 of 7 (Name) — EXECUTING`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PhaseLine {
    pub(super) number: String,
    pub(super) total: Option<i64>,
    pub(super) name: Option<String>,
    pub(super) status: Option<String>,
}

impl PhaseLine {
    /// Parses a phase line; `None` if it names no phase (`Milestone v1.2 complete`, `—`).
    pub(super) fn parse(value: &str) -> Option<Self> {
        let value = value.trim_start_matches(|c: char| !c.is_alphanumeric());
        let lower = value.to_lowercase();
        let word = ["phase ", "fase ", "阶段"].iter().find(|word| lower.starts_with(**word));
        let value = word.map_or(value, |word| &value[word.len()..]).trim_start();
        let (number, rest) = PhaseNumber::parse_prefix(value)?;
        let (total, rest) = take_total(rest);
        let (name, status) = name_and_status(rest);
        Some(Self { number: written(value, &number), total, name, status })
    }
}

/// Returns the number with the padding that the document uses.
fn written(value: &str, number: &PhaseNumber) -> String {
    let rest = PhaseNumber::parse_prefix(value).map_or("", |(_, rest)| rest);
    let text = &value[..value.len() - rest.len()];
    if text.is_empty() { number.to_string() } else { text.to_owned() }
}

/// Parses ` of 7` or `/7`.
fn take_total(rest: &str) -> (Option<i64>, &str) {
    let trimmed = rest.trim_start();
    let after = ["of ", "/", "de ", "von "].iter().find_map(|word| trimmed.strip_prefix(word));
    let Some(after) = after.map(str::trim_start) else { return (None, rest) };
    let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    match after[..digits].parse() {
        Ok(total) => (Some(total), &after[digits..]),
        Err(_) => (None, rest),
    }
}

/// Splits ` (Name) — STATUS`, ` — Name — status`, `: Name (status)`.
fn name_and_status(rest: &str) -> (Option<String>, Option<String>) {
    let rest = rest.trim();
    if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
        let status = trim_separators(after);
        return if is_state_word(name) { (None, some(name)) } else { (some(name), some(status)) };
    }
    let rest = trim_separators(rest);
    let cut = [" — ", " – ", " -- ", " - ", " | "].iter().filter_map(|dash| rest.find(dash)).min();
    let (name, status) = cut.map_or((rest, ""), |at| (&rest[..at], trim_separators(&rest[at..])));
    if is_state_word(name) { (None, some(rest)) } else { (some(name), some(status)) }
}

fn trim_separators(text: &str) -> &str {
    text.trim_matches([' ', '—', '–', '-', ':', '|', ','])
}

fn some(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Returns whether a remark is a state and not a name: `COMPLETE`, `milestone v1.2 complete`.
fn is_state_word(remark: &str) -> bool {
    const STATES: &[&str] = &[
        "complete",
        "completed",
        "done",
        "executing",
        "in progress",
        "not started",
        "planned",
        "ready",
        "verified",
        "milestone",
        "between",
        "shipped",
        "paused",
        "blocked",
        "all phases",
    ];
    let lower = remark.trim().to_lowercase();
    STATES.iter().any(|state| {
        lower.strip_prefix(state).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

#[cfg(test)]
mod tests;
