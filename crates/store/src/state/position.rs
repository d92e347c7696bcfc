//! The position: which phase, which plan, how far.
//!
//! One question, several places to ask. The order is: bold fields above the first section, the
//! fields of the position section, the frontmatter, bold fields anywhere, plain fields anywhere.

use mow_core::phase::PhaseNumber;

use super::{Section, sections_named};
use crate::frontmatter::{self, Frontmatter, Value};
use crate::text::Text;
use crate::text::field::{field_at, same_name};
use crate::text::heading::headings;
use crate::text::inline::plain;

/// Sections that say where the project stands.
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

/// The names of the field that holds the phase; the first only means it in a position section.
const PHASE_FIELDS: &[&str] =
    &["Phase", "Current Phase", "Active Phase", "Fase atual", "Fase", "当前阶段", "阶段"];

/// STATE.md with the places that a position may be found in.
pub(super) struct Places<'a> {
    text: &'a Text<'a>,
    frontmatter: Option<Frontmatter>,
    /// The sections that say where the project stands, in their order.
    position: Vec<Section>,
    /// The line of the first section heading.
    preamble_end: usize,
}

impl<'a> Places<'a> {
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

    /// Returns the first value that the document gives for a field.
    ///
    /// `bold` are its names in the bold dialect, `plain` its names in the position section, `key` is
    /// its frontmatter key.
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

    /// Returns the value of a field among some lines, whatever it says; empty ones do not count.
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
            (wanted && named && !value.is_empty()).then(|| plain(value).into_owned())
        })
    }

    /// Returns the value of a frontmatter key as text.
    pub(super) fn key(&self, path: &str) -> Option<String> {
        let value = self.frontmatter.as_ref()?.lookup(path)?;
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty() && *text != "null");
        text.map(str::to_owned)
    }

    /// Returns the number of a frontmatter key.
    pub(super) fn key_number(&self, path: &str) -> Option<i64> {
        self.frontmatter.as_ref()?.lookup(path).and_then(Value::as_int)
    }

    /// Returns the phase line: of the fields first, then of the sentences in the position section.
    pub(super) fn phase(&self) -> Option<PhaseLine> {
        let stated = [
            self.field(0..self.preamble_end, &["Current Phase", "Phase"], None),
            self.in_position(PHASE_FIELDS),
            self.key("current_phase"),
            self.field(0..self.text.lines().len(), &PHASE_FIELDS[1..], None),
        ];
        let mut spoken = stated.iter().flatten().peekable();
        let is_stated = spoken.peek().is_some();
        let found = spoken.find_map(|value| PhaseLine::parse(value));
        // A document that says "none" means it; only one that says nothing is searched further.
        if is_stated { found } else { found.or_else(|| self.spoken_phase()) }
    }

    /// Finds a phase in the sentences of the position section, or in the focus line.
    fn spoken_phase(&self) -> Option<PhaseLine> {
        let focus = &["Current focus", "Next phase", "Next phase to execute", "Next", "Current"];
        let sentences = self.position.iter().flat_map(|section| section.lines.clone());
        let mut sentences =
            sentences.map(|line| plain(self.text.line(line).trim_start_matches('#')));
        sentences.find_map(|sentence| sentence_phase(&sentence)).or_else(|| {
            let focus = self.field(0..self.text.lines().len(), focus, None)?;
            sentence_phase(&focus).or_else(|| PhaseLine::parse(&focus))
        })
    }
}

/// Reads a sentence that begins with `Phase 3`.
fn sentence_phase(sentence: &str) -> Option<PhaseLine> {
    let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
    let lower = sentence.to_lowercase();
    (lower.starts_with("phase ") || lower.starts_with("fase "))
        .then(|| PhaseLine::parse(sentence))?
}

/// A phase with the remarks people put on its line: `3 of 7 (Name) — EXECUTING`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PhaseLine {
    pub(super) number: String,
    pub(super) total: Option<i64>,
    pub(super) name: Option<String>,
    pub(super) status: Option<String>,
}

impl PhaseLine {
    /// Reads a phase line; `None` when it names no phase (`Milestone v1.2 complete`, `—`).
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

/// Keeps the padding the document uses.
fn written(value: &str, number: &PhaseNumber) -> String {
    let rest = PhaseNumber::parse_prefix(value).map_or("", |(_, rest)| rest);
    let text = &value[..value.len() - rest.len()];
    if text.is_empty() { number.to_string() } else { text.to_owned() }
}

/// Reads ` of 7` or `/7`.
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
        return if says_state(name) { (None, some(name)) } else { (some(name), some(status)) };
    }
    let rest = trim_separators(rest);
    let cut = [" — ", " – ", " -- ", " - ", " | "].iter().filter_map(|dash| rest.find(dash)).min();
    let (name, status) = cut.map_or((rest, ""), |at| (&rest[..at], trim_separators(&rest[at..])));
    if says_state(name) { (None, some(rest)) } else { (some(name), some(status)) }
}

fn trim_separators(text: &str) -> &str {
    text.trim_matches([' ', '—', '–', '-', ':', '|', ','])
}

fn some(text: &str) -> Option<String> {
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// Returns whether a remark tells a state and not a name: `COMPLETE`, `milestone v1.2 complete`.
fn says_state(remark: &str) -> bool {
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
