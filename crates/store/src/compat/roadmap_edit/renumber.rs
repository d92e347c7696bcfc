//! Finds phase numbers in prose and rewrites them.
//!
//! A number counts after the word "phase", in a list that continues from there, or at the start of
//! a field that holds phases. Dates, counts and all other numbers stay unchanged.

use std::ops::Range;

use mow_core::phase::PhaseNumber;

use crate::roadmap::details::format_number;

/// A phase number in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// Byte range in the text.
    pub(super) range: Range<usize>,
    pub(super) number: PhaseNumber,
}

impl Token {
    /// Formats another number in the style of this one, padded or not.
    pub(super) fn rewritten(&self, text: &str, number: &PhaseNumber, padded: bool) -> String {
        let written = &text[self.range.clone()];
        format_number(number, written.starts_with('0') || padded && written.len() > 1)
    }
}

/// Returns the first number in a text that starts with a phase label.
pub(super) fn leading(text: &str) -> Option<Token> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    token_at(text, start)
}

/// Reads a number at an offset.
fn token_at(text: &str, start: usize) -> Option<Token> {
    let (number, rest) = PhaseNumber::parse_prefix(&text[start..])?;
    Some(Token { range: start..text.len() - rest.len(), number })
}

/// Finds the phase numbers in the value of a field that holds phases.
pub(super) fn in_field(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    // A value may start with bare numbers; elsewhere a list starts with the word "phase".
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
            let token =
                token_at(text, at).filter(|token| !continues_as_id(&text[token.range.end..]));
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

/// Returns whether the text after a number makes it part of a date or plan id: `-01`.
fn continues_as_id(rest: &str) -> bool {
    let after = rest.strip_prefix('-').unwrap_or("");
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 2 && after.starts_with('0')) || (digits > 0 && after[digits..].starts_with('-'))
}

/// Finds plan ids (`04-01`) and returns the phase numbers in them.
///
/// `accepts` gets the number and whether the id is a file name, such as `04-01-PLAN.md`.
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
