//! Finds the numbers of phases in prose and gives them their new ones.
//!
//! A number counts behind the word "phase", in a list that goes on from there, or at the start of a
//! field that holds phases. Dates, counts and everything else are left alone.

use std::ops::Range;

use mow_core::phase::PhaseNumber;

use super::super::details::styled;

/// A number in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    pub(super) number: PhaseNumber,
}

impl Token {
    /// Writes another number the way this one is written.
    pub(super) fn rewritten(&self, text: &str, number: &PhaseNumber, padded: bool) -> String {
        let written = &text[self.range.clone()];
        styled(number, written.starts_with('0') || padded && written.len() > 1)
    }
}

/// Returns the first number in a text that names a phase at its start.
pub(super) fn leading(text: &str) -> Option<Token> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    token_at(text, start)
}

/// Reads a number at an offset; one that goes on like a date or a plan's id is none.
fn token_at(text: &str, start: usize) -> Option<Token> {
    let (number, rest) = PhaseNumber::parse_prefix(&text[start..])?;
    Some(Token { range: start..text.len() - rest.len(), number })
}

/// Finds the numbers in the value of a field that holds phases.
pub(super) fn in_field(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    // A value may begin with bare numbers; elsewhere a list begins with the word.
    let mut listed = true;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let letters = rest.len() - rest.trim_start_matches(char::is_alphabetic).len();
        if letters > 0 {
            let word = rest[..letters].to_lowercase();
            listed = match word.as_str() {
                "phase" | "phases" | "fase" | "fases" => true,
                "and" | "or" | "to" | "through" | "plus" | "e" | "y" | "und" => listed,
                _ => false,
            };
            at += letters;
        } else if c.is_ascii_digit() {
            let token = token_at(text, at).filter(|token| !goes_on(&text[token.range.end..]));
            let digits = rest.len()
                - rest.trim_start_matches(|c: char| c.is_ascii_digit() || ".-".contains(c)).len();
            match token {
                Some(token) if listed => {
                    at = token.range.end;
                    tokens.push(token);
                }
                _ => {
                    listed = false;
                    at += digits;
                }
            }
        } else {
            listed = listed && " ,&-–—+/*`[]#\t".contains(c);
            at += c.len_utf8();
        }
    }
    tokens
}

/// Returns whether what follows a number makes it a part of a date or a plan's id: `-01`.
fn goes_on(rest: &str) -> bool {
    let after = rest.strip_prefix('-').unwrap_or("");
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 2 && after.starts_with('0')) || (digits > 0 && after[digits..].starts_with('-'))
}

/// Finds the ids of plans (`04-01`) and returns the numbers of their phases.
///
/// `accepts` is told the number and whether the id is that of a file, such as `04-01-PLAN.md`.
pub(super) fn in_plan_ids(text: &str, accepts: impl Fn(&PhaseNumber, bool) -> bool) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    for start in 0..bytes.len() {
        let glued = start > 0
            && (bytes[start - 1].is_ascii_alphanumeric() || b"-._".contains(&bytes[start - 1]));
        if !bytes[start].is_ascii_digit() || glued {
            continue;
        }
        let Some(token) = token_at(text, start) else { continue };
        let Some(rest) = text[token.range.end..].strip_prefix('-') else { continue };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let after = &rest[digits..];
        let is_file = after.starts_with("-PLAN") || after.starts_with("-SUMMARY");
        let ends =
            is_file || !after.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '_');
        if (2..=3).contains(&digits) && ends && accepts(&token.number, is_file) {
            tokens.push(token);
        }
    }
    tokens
}
