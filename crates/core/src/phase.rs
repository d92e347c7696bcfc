//! Phase numbers: `3`, `03`, `2.1`, `140.1.2`, `3.1c`, `36a`.
//!
//! A number is one or more dotted parts; a part is digits with an optional letter suffix. Padding of
//! the first part carries no meaning (`03` is `3`). A zero that leads a later part makes it a
//! fraction: `9.05` stands before `9.1`, while `9.10` stands after `9.9`. Letters compare without
//! regard to case.

use std::cmp::Ordering;
use std::fmt::{self, Write};

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// The parts a number may have at most; deeper ones are not numbers anybody wrote on purpose.
const PARTS_MAX: usize = 5;
/// The digits one part may have at most, so that the value always fits.
const DIGITS_MAX: usize = 9;

/// One dotted part of a phase number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Part {
    /// Zeros in front of a later part's digits: `05` has one.
    zeros: u8,
    /// The lower-case ASCII letter after the digits, usually none.
    suffix: Option<u8>,
    value: u32,
}

/// The number of a phase, comparable and free of padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PhaseNumber {
    parts: [Part; PARTS_MAX],
    /// How many of the parts count; the others are empty.
    len: usize,
}

impl PhaseNumber {
    /// Makes a whole-number phase.
    pub fn whole(value: u32) -> Self {
        let mut parts = [Part::default(); PARTS_MAX];
        parts[0].value = value;
        Self { parts, len: 1 }
    }

    fn parts(&self) -> &[Part] {
        &self.parts[..self.len]
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
        let mut parts = [Part::default(); PARTS_MAX];
        let mut len = 0;
        let mut rest = text;
        loop {
            let (part, after) = parse_part(rest, len == 0)?;
            *parts.get_mut(len)? = part;
            len += 1;
            rest = after;
            let next = rest.strip_prefix('.');
            match next.filter(|next| next.starts_with(|c: char| c.is_ascii_digit())) {
                Some(next) => rest = next,
                None => break,
            }
        }
        let glued = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        (!glued).then_some((Self { parts, len }, rest))
    }

    /// Returns the integer in front: 2 for `2.1`.
    pub fn major(&self) -> u32 {
        self.parts[0].value
    }

    /// Returns whether the number is a plain integer.
    pub fn is_whole(&self) -> bool {
        self.len == 1 && self.parts[0].suffix.is_none()
    }

    /// Returns whether its last part has a letter: `3a`, `3.1c`.
    pub fn ends_in_letter(&self) -> bool {
        self.parts[self.len - 1].suffix.is_some()
    }

    /// Returns whether the number sits in the backlog block (`999.1` and the like).
    pub fn is_backlog(&self) -> bool {
        self.major() == 999
    }

    /// Returns the number one level below this one: `3.2` for `3` and 2; `None` where that is too
    /// deep.
    pub fn child(&self, value: u32) -> Option<Self> {
        let mut child = *self;
        child.parts.get_mut(self.len)?.value = value;
        child.len += 1;
        Some(child)
    }

    /// Returns the last part of a number right below another: 2 for `3.2` below `3`.
    pub fn child_of(&self, parent: &Self) -> Option<u32> {
        let below = self.len == parent.len + 1 && self.parts().starts_with(parent.parts());
        below.then(|| self.parts[parent.len].value)
    }

    /// Returns whether the number hangs on another: `3.1`, `3.1.2` and `3a` hang on `3`.
    pub fn hangs_on(&self, other: &Self) -> bool {
        let last = other.len - 1;
        let bare = |part: &Part| Part { suffix: None, ..*part };
        self != other
            && other.parts[last].suffix.is_none_or(|suffix| self.parts[last].suffix == Some(suffix))
            && self.len >= other.len
            && self.parts[..last] == other.parts[..last]
            && bare(&self.parts[last]) == bare(&other.parts[last])
    }

    /// Returns the number this phase has once another is removed: one less where it stood behind it
    /// on the same level, else the same. The backlog block keeps its numbers.
    #[must_use]
    pub fn after_removal(&self, removed: &Self) -> Self {
        let last = removed.len - 1;
        let (own, gone) = (self.parts[last], removed.parts[last]);
        let is_behind = self.len > last
            && self.parts[..last] == removed.parts[..last]
            && own.zeros == gone.zeros
            && gone.suffix.is_none()
            && own.value > gone.value;
        let mut shifted = *self;
        if is_behind && !self.is_backlog() {
            shifted.parts[last].value -= 1;
        }
        shifted
    }

    /// Returns the directory form: the first part padded to two digits, the rest as it is.
    pub fn padded(&self) -> String {
        let text = self.to_string();
        if self.parts[0].value < 10 { format!("0{text}") } else { text }
    }

    /// Returns the form without any leading zero, the one used to compare roadmaps.
    pub fn canonical(&self) -> String {
        let bare = self.parts().iter().map(|part| Part { zeros: 0, ..*part }.to_string());
        bare.collect::<Vec<_>>().join(".")
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
    let letters = after.bytes().take_while(u8::is_ascii_alphabetic).count();
    // One letter is a suffix; a word glued to the digits (`3rd`, `2x2`) is not.
    let suffix = after.bytes().next().filter(|_| letters == 1);
    let part = Part {
        zeros: zeros as u8,
        value: significant.parse().unwrap_or(0),
        suffix: suffix.map(|letter| letter.to_ascii_lowercase()),
    };
    Some((part, &after[usize::from(suffix.is_some())..]))
}

impl Ord for Part {
    fn cmp(&self, other: &Self) -> Ordering {
        let fraction = other.zeros.cmp(&self.zeros);
        fraction.then(self.value.cmp(&other.value)).then(self.suffix.cmp(&other.suffix))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PhaseNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(other.parts())
    }
}

impl PartialOrd for PhaseNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zeros = usize::from(self.zeros);
        write!(f, "{:0<zeros$}{}", "", self.value)?;
        self.suffix.map_or(Ok(()), |letter| f.write_char(char::from(letter)))
    }
}

impl fmt::Display for PhaseNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts().iter().enumerate() {
            let dot = if index > 0 { "." } else { "" };
            write!(f, "{dot}{part}")?;
        }
        Ok(())
    }
}

impl Serialize for PhaseNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PhaseNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no phase number")))
    }
}

#[cfg(test)]
mod tests;
