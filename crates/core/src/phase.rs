//! Phase numbers: `3`, `03`, `2.1`, `140.1.2`, `3.1c`, `36a`.
//!
//! A number is one or more dotted parts; a part is digits with an optional letter suffix. Padding of
//! the first part carries no meaning (`03` is `3`). A zero that leads a later part makes it a
//! fraction: `9.05` stands before `9.1`, while `9.10` stands after `9.9`. Letters compare without
//! regard to case.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

/// The parts a number may have at most; deeper ones are not numbers anybody wrote on purpose.
const PARTS_MAX: usize = 6;
/// The digits one part may have at most, so that the value always fits.
const DIGITS_MAX: usize = 9;

/// One dotted part of a phase number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Part {
    /// Zeros in front of a later part's digits: `05` has one.
    zeros: u8,
    value: u32,
    /// Lower-case letters after the digits, usually none.
    suffix: String,
}

/// The number of a phase, comparable and free of padding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PhaseNumber {
    parts: Vec<Part>,
}

impl PhaseNumber {
    /// Makes a whole-number phase.
    pub fn whole(value: u32) -> Self {
        let part = Part { zeros: 0, value, suffix: String::new() };
        Self { parts: vec![part] }
    }

    /// Reads a number that fills the whole text.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, rest) = Self::parse_prefix(text)?;
        rest.is_empty().then_some(number)
    }

    /// Reads the number a text starts with and returns what follows it.
    ///
    /// A letter suffix is taken only when the number ends there: `36a: x` has one, `3rd` has none
    /// and is no number at all.
    pub fn parse_prefix(text: &str) -> Option<(Self, &str)> {
        let mut parts = Vec::new();
        let mut rest = text;
        loop {
            let (part, after) = parse_part(rest, parts.is_empty())?;
            parts.push(part);
            rest = after;
            let next =
                rest.strip_prefix('.').filter(|r| r.starts_with(|c: char| c.is_ascii_digit()));
            match next {
                Some(next) if parts.len() < PARTS_MAX => rest = next,
                Some(_) => return None,
                None => break,
            }
        }
        let glued = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        (!glued).then_some((Self { parts }, rest))
    }

    /// Returns the integer in front: 2 for `2.1`.
    pub fn major(&self) -> u32 {
        self.parts[0].value
    }

    /// Returns whether the number is a plain integer.
    pub fn is_whole(&self) -> bool {
        self.parts.len() == 1 && self.parts[0].suffix.is_empty()
    }

    /// Returns whether the number sits in the backlog block (`999.1` and the like).
    pub fn is_backlog(&self) -> bool {
        self.major() == 999
    }

    /// Returns the directory form: the first part padded to two digits, the rest as it is.
    pub fn padded(&self) -> String {
        let text = self.to_string();
        if self.parts[0].value < 10 { format!("0{text}") } else { text }
    }

    /// Returns the form without any leading zero, the one used to compare roadmaps.
    pub fn canonical(&self) -> String {
        let parts: Vec<_> = self.parts.iter().map(|p| format!("{}{}", p.value, p.suffix)).collect();
        parts.join(".")
    }
}

fn parse_part(text: &str, first: bool) -> Option<(Part, &str)> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let digits = &text[..digits_end];
    let significant = digits.trim_start_matches('0');
    if digits.is_empty() || significant.len() > DIGITS_MAX || digits.len() > 2 * DIGITS_MAX {
        return None;
    }
    let mut zeros = digits.len() - significant.len();
    if first || significant.is_empty() {
        zeros = 0;
    }
    let after = &text[digits_end..];
    let suffix_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    // One letter is a suffix; a word glued to the digits (`3rd`, `2x2`) is not.
    let suffix_end = if suffix_end == 1 { 1 } else { 0 };
    let part = Part {
        zeros: zeros as u8,
        value: significant.parse().unwrap_or(0),
        suffix: after[..suffix_end].to_ascii_lowercase(),
    };
    Some((part, &after[suffix_end..]))
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        let fraction = other.zeros.cmp(&self.zeros);
        fraction.then(self.value.cmp(&other.value)).then_with(|| self.suffix.cmp(&other.suffix))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PhaseNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts.cmp(&other.parts)
    }
}

impl PartialOrd for PhaseNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for PhaseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            for _ in 0..part.zeros {
                f.write_str("0")?;
            }
            write!(f, "{}{}", part.value, part.suffix)?;
        }
        Ok(())
    }
}

impl Serialize for PhaseNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
