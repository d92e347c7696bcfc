//! `Phase 3: Name` at the start of a heading, an item or a cell.

use std::borrow::Cow;

use mow_core::phase::PhaseNumber;

use super::verdict;
use crate::text::inline::plain;

/// The words for "phase" that roadmaps use.
const WORDS: &[&str] =
    &["phase", "fase", "faza", "fáze", "etapa", "этап", "фаза", "阶段", "階段", "フェーズ", "단계"];

/// Dashes, the last one an en dash that was encoded twice.
const DASHES: &[&str] = &["—", "–", "-", "‑", "â\u{80}\u{93}"];

/// A text that begins by naming a phase.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention<'a> {
    pub(super) number: PhaseNumber,
    /// The number as written.
    pub(super) written: Cow<'a, str>,
    /// The text after the number and its separator, up to the end of the bold part if there is one.
    pub(super) title: Cow<'a, str>,
    /// Whether text follows the bold part that holds the title.
    pub(super) has_tail: bool,
}

impl Mention<'_> {
    pub(super) fn into_owned(self) -> Mention<'static> {
        Mention {
            written: Cow::Owned(self.written.into_owned()),
            title: Cow::Owned(self.title.into_owned()),
            ..self
        }
    }
}

/// Reads `Phase N: title`.
///
/// A phase that is merely spoken of (`Phase 9 plans`) is none, and a line that sums up a range
/// (`Phases 1-10`, `Phase 11-18: Name`) declares none of its phases.
pub(super) fn named(text: &str) -> Option<Mention<'_>> {
    // Most lines are about something else; see that before taking markup off.
    let start = skip_marks(text);
    let may_name = start
        .starts_with(|c: char| matches!(c, 'p' | 'P' | 'f' | 'F' | 'e' | 'E') || !c.is_ascii());
    if !may_name || !WORDS.iter().any(|word| starts_with_word(start, word)) {
        return None;
    }
    let (head, tail) = split_bold(text);
    match plain(head) {
        Cow::Borrowed(head) => read_named(head, tail),
        Cow::Owned(head) => read_named(&head, tail).map(Mention::into_owned),
    }
}

fn read_named<'a>(head: &'a str, tail: &'a str) -> Option<Mention<'a>> {
    let head = skip_marks(head);
    let rest = WORDS.iter().find_map(|word| strip_word(head, word))?;
    read_number(rest, tail, false)
}

/// Reads the first cell of a row: `3. Name`, `3`, `Phase 3`, `3 — Name`.
pub(super) fn in_cell(text: &str) -> Option<Mention<'_>> {
    if let Some(mention) = named(text) {
        return Some(mention);
    }
    match plain(text) {
        Cow::Borrowed(cell) => read_numbered(cell),
        Cow::Owned(cell) => read_numbered(&cell).map(Mention::into_owned),
    }
}

fn read_numbered(cell: &str) -> Option<Mention<'_>> {
    let cell = skip_marks(cell);
    cell.starts_with(|c: char| c.is_ascii_digit()).then(|| read_number(cell, "", true))?
}

/// Splits a text that begins in bold at the end of the bold part.
fn split_bold(text: &str) -> (&str, &str) {
    let lead = text.len() - skip_marks(text).len();
    let opened = lead >= 2 && text[..lead].matches("**").count() % 2 == 1;
    match opened.then(|| text[lead..].split_once("**")).flatten() {
        Some((inner, tail)) => (&text[..lead + inner.len()], tail),
        None => (text, ""),
    }
}

/// Skips emoji, marks and other signs in front of the first letter or digit.
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

fn read_number<'a>(text: &'a str, tail: &'a str, cell: bool) -> Option<Mention<'a>> {
    let (number, rest) = PhaseNumber::parse_prefix(text)?;
    if is_range(rest) {
        return None;
    }
    let written = Cow::Borrowed(&text[..text.len() - rest.len()]);
    // A bold `**Phase 3**` has its separator and name behind the bold part.
    let (title, has_tail) = match separated(rest) {
        // `**Phase 3:** Name` has said its separator, `**Phase 3** Name` has not.
        Some("") if !tail.is_empty() && !rest.trim().is_empty() => (plain(tail), false),
        Some("") if !tail.is_empty() => match plain(tail) {
            Cow::Borrowed(tail) => (Cow::Borrowed(separated(tail)?), false),
            Cow::Owned(tail) => (Cow::Owned(separated(&tail)?.to_owned()), false),
        },
        Some(title) => (Cow::Borrowed(title), !plain(tail).is_empty()),
        None if cell && rest.starts_with(' ') => (Cow::Borrowed(rest.trim()), false),
        None => return None,
    };
    Some(Mention { number, written, title, has_tail })
}

/// `3-5` and `3–5` are ranges; `3 - 2 factor login` is a name.
fn is_range(rest: &str) -> bool {
    let dash = DASHES.iter().find_map(|dash| rest.strip_prefix(dash));
    dash.is_some_and(|after| PhaseNumber::parse_prefix(after).is_some())
}

/// Returns the title behind a separator; an empty one when nothing but remarks follows.
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
    // A status sign may stand where the name would: `Phase 3 ✅`.
    verdict::is_sign(rest.chars().next()?).then_some(rest)
}

#[cfg(test)]
mod tests;
