//! Parses a phase label such as `Phase 3: Name` at the start of a heading, list item or table cell.

use std::borrow::Cow;

use mow_core::phase::PhaseNumber;

use super::completion_words;
use crate::text::inline::strip_markup;

/// Words for "phase" in the languages that roadmaps use.
const WORDS: &[&str] =
    &["phase", "fase", "faza", "fáze", "etapa", "этап", "фаза", "阶段", "階段", "フェーズ", "단계"];

/// Dashes. The last one is an en dash that was encoded as UTF-8 twice.
const DASHES: &[&str] = &["—", "–", "-", "‑", "â\u{80}\u{93}"];

/// A phase number and title at the start of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PhaseLabel<'a> {
    pub(crate) number: PhaseNumber,
    /// Number as written, including leading zeros.
    pub(crate) written: Cow<'a, str>,
    /// Text after the number and its separator, up to the end of the bold part if there is one.
    pub(crate) title: Cow<'a, str>,
    /// Whether text follows the bold part that contains the title.
    pub(crate) has_tail: bool,
}

impl PhaseLabel<'_> {
    pub(crate) fn into_owned(self) -> PhaseLabel<'static> {
        PhaseLabel {
            written: Cow::Owned(self.written.into_owned()),
            title: Cow::Owned(self.title.into_owned()),
            ..self
        }
    }
}

/// Parses `Phase N: title`.
///
/// Returns `None` for a text that only refers to a phase (`Phase 9 plans`) and for a range (`Phases
/// 1-10`, `Phase 11-18: Name`), which declares none of its phases.
pub(crate) fn parse_label(text: &str) -> Option<PhaseLabel<'_>> {
    // Most lines are not labels. Reject them before the markup is stripped, which is expensive.
    let start = skip_marks(text);
    let may_name = start
        .starts_with(|c: char| matches!(c, 'p' | 'P' | 'f' | 'F' | 'e' | 'E') || !c.is_ascii());
    if !may_name || !WORDS.iter().any(|word| starts_with_word(start, word)) {
        return None;
    }
    let (head, tail) = split_bold(text);
    match strip_markup(head) {
        Cow::Borrowed(head) => read_labelled(head, tail),
        Cow::Owned(head) => read_labelled(&head, tail).map(PhaseLabel::into_owned),
    }
}

fn read_labelled<'a>(head: &'a str, tail: &'a str) -> Option<PhaseLabel<'a>> {
    let head = skip_marks(head);
    let rest = WORDS.iter().find_map(|word| strip_word(head, word))?;
    read_number(rest, tail, false)
}

/// Parses the first cell of a row: `3. Name`, `3`, `Phase 3`, `3 — Name`.
pub(crate) fn parse_cell_label(text: &str) -> Option<PhaseLabel<'_>> {
    if let Some(label) = parse_label(text) {
        return Some(label);
    }
    match strip_markup(text) {
        Cow::Borrowed(cell) => read_numbered(cell),
        Cow::Owned(cell) => read_numbered(&cell).map(PhaseLabel::into_owned),
    }
}

fn read_numbered(cell: &str) -> Option<PhaseLabel<'_>> {
    let cell = skip_marks(cell);
    cell.starts_with(|c: char| c.is_ascii_digit()).then(|| read_number(cell, "", true))?
}

/// Splits a text that starts in bold at the end of the bold part.
fn split_bold(text: &str) -> (&str, &str) {
    let lead = text.len() - skip_marks(text).len();
    let opened = lead >= 2 && text[..lead].matches("**").count() % 2 == 1;
    match opened.then(|| text[lead..].split_once("**")).flatten() {
        Some((inner, tail)) => (&text[..lead + inner.len()], tail),
        None => (text, ""),
    }
}

/// Skips emoji, markup and other signs before the first letter, digit or parenthesis.
fn skip_marks(text: &str) -> &str {
    let end = text.find(|c: char| c.is_alphanumeric() || c == '(').unwrap_or(text.len());
    &text[end..]
}

fn starts_with_word(text: &str, word: &str) -> bool {
    let head = text.get(..word.len()).unwrap_or("");
    head.eq_ignore_ascii_case(word) || (!head.is_ascii() && head.to_lowercase() == *word)
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    if !starts_with_word(text, word) {
        return None;
    }
    let rest = text[word.len()..].trim_start_matches([' ', '\t', '\u{a0}']);
    rest.starts_with(|c: char| c.is_ascii_digit()).then_some(rest)
}

fn read_number<'a>(text: &'a str, tail: &'a str, cell: bool) -> Option<PhaseLabel<'a>> {
    let (number, rest) = PhaseNumber::parse_prefix(text)?;
    if is_range(rest) {
        return None;
    }
    let written = Cow::Borrowed(&text[..text.len() - rest.len()]);
    // A bold `**Phase 3**` has its separator and name after the bold part.
    let (title, has_tail) = match separated(rest) {
        // `**Phase 3:** Name` has its separator inside the bold part, `**Phase 3** Name` has none.
        Some("") if !tail.is_empty() && !rest.trim().is_empty() => (strip_markup(tail), false),
        Some("") if !tail.is_empty() => match strip_markup(tail) {
            Cow::Borrowed(tail) => (Cow::Borrowed(separated(tail)?), false),
            Cow::Owned(tail) => (Cow::Owned(separated(&tail)?.to_owned()), false),
        },
        Some(title) => (Cow::Borrowed(title), !strip_markup(tail).is_empty()),
        None if cell && rest.starts_with(' ') => (Cow::Borrowed(rest.trim()), false),
        None => return None,
    };
    Some(PhaseLabel { number, written, title, has_tail })
}

/// Returns whether the number starts a range. `3-5` and `3–5` do; `3 - 2 factor login` is a name.
fn is_range(rest: &str) -> bool {
    let dash = DASHES.iter().find_map(|dash| rest.strip_prefix(dash));
    dash.is_some_and(|after| PhaseNumber::parse_prefix(after).is_some())
}

/// Returns the title after a separator; an empty title if only remarks follow.
fn separated(rest: &str) -> Option<&str> {
    let mut rest = rest.trim_start();
    while let Some(remark) = rest.strip_prefix(['(', '[']) {
        rest = remark.split_once([')', ']'])?.1.trim_start();
    }
    if rest.is_empty() {
        return Some("");
    }
    let separators = [":", "：", "|", "·", ". "];
    if let Some(title) = separators.iter().chain(DASHES).find_map(|sign| rest.strip_prefix(sign)) {
        return Some(title.trim());
    }
    // A status sign may stand in place of the name: `Phase 3 ✅`.
    completion_words::is_status_sign(rest.chars().next()?).then_some(rest)
}

#[cfg(test)]
mod tests;
