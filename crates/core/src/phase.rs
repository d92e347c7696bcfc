//! Parses, compares and formats phase numbers: `3`, `03`, `2.1`, `140.1.2`, `3.1c`, `36a`.
//!
//! A number has one or more dotted parts; a part is digits with an optional letter suffix. Padding
//! of the first part has no meaning (`03` is `3`). A leading zero in a later part makes that part a
//! fraction: `9.05` sorts before `9.1`, while `9.10` sorts after `9.9`. Letters are
//! case-insensitive.

use std::cmp::Ordering;
use std::fmt::{self, Write};

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// The most parts of a number; a text with more is no phase number.
const PARTS_MAX: usize = 5;
/// The most significant digits of a part, so that its value always fits in a `u32`.
const DIGITS_MAX: usize = 9;

/// One dotted part of a phase number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct NumberPart {
    /// The number of leading zeros of a later part: `05` has one.
    zeros: u8,
    /// The lower-case ASCII letter after the digits, usually none.
    suffix: Option<u8>,
    value: u32,
}

/// A phase number without padding; numbers sort in roadmap order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PhaseNumber {
    parts: [NumberPart; PARTS_MAX],
    /// The number of used parts; the others are default values.
    len: usize,
}

impl PhaseNumber {
    /// Creates a number with one part and no suffix.
    pub fn whole(value: u32) -> Self {
        let mut parts = [NumberPart::default(); PARTS_MAX];
        parts[0].value = value;
        Self { parts, len: 1 }
    }

    fn parts(&self) -> &[NumberPart] {
        &self.parts[..self.len]
    }

    /// Parses a text that is a number and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, rest) = Self::parse_prefix(text)?;
        rest.is_empty().then_some(number)
    }

    /// Parses the number at the start of a text and returns it with the rest of the text.
    ///
    /// A letter is a suffix only if the number ends after it: `36a: x` has one, while `3rd` is no
    /// number at all.
    pub fn parse_prefix(text: &str) -> Option<(Self, &str)> {
        let mut parts = [NumberPart::default(); PARTS_MAX];
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
        let is_glued = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        (!is_glued).then_some((Self { parts, len }, rest))
    }

    /// Returns the integer of the first part: 2 for `2.1`.
    pub fn major(&self) -> u32 {
        self.parts[0].value
    }

    /// Returns whether the number is a plain integer.
    pub fn is_whole(&self) -> bool {
        self.len == 1 && self.parts[0].suffix.is_none()
    }

    /// Returns whether the last part has a letter suffix: `3a`, `3.1c`.
    pub fn ends_in_letter(&self) -> bool {
        self.parts[self.len - 1].suffix.is_some()
    }

    /// Returns whether the number belongs to the backlog, which is `999` and `999.x`.
    pub fn is_backlog(&self) -> bool {
        self.major() == 999
    }

    /// Returns the number one level below this one: `3.2` for `3` and 2.
    ///
    /// Returns `None` if the number would have too many parts.
    pub fn child(&self, value: u32) -> Option<Self> {
        let mut child = *self;
        child.parts.get_mut(self.len)?.value = value;
        child.len += 1;
        Some(child)
    }

    /// Returns the last part of a direct child of `parent`: 2 for `3.2` below `3`.
    ///
    /// Returns `None` if the number is no direct child of `parent`.
    pub fn child_of(&self, parent: &Self) -> Option<u32> {
        let is_child = self.len == parent.len + 1 && self.parts().starts_with(parent.parts());
        is_child.then(|| self.parts[parent.len].value)
    }

    /// Returns whether the number is below another: `3.1`, `3.1.2` and `3a` are descendants of `3`.
    pub fn is_descendant_of(&self, other: &Self) -> bool {
        let last = other.len - 1;
        let without_suffix = |part: &NumberPart| NumberPart { suffix: None, ..*part };
        self != other
            && other.parts[last].suffix.is_none_or(|suffix| self.parts[last].suffix == Some(suffix))
            && self.len >= other.len
            && self.parts[..last] == other.parts[..last]
            && without_suffix(&self.parts[last]) == without_suffix(&other.parts[last])
    }

    /// Returns the new number of this phase after another phase is removed.
    ///
    /// A number after the removed one on the same level is reduced by one; others stay the same.
    /// Backlog numbers never change.
    #[must_use]
    pub fn after_removal(&self, removed: &Self) -> Self {
        let last = removed.len - 1;
        let (own_part, removed_part) = (self.parts[last], removed.parts[last]);
        let is_after = self.len > last
            && self.parts[..last] == removed.parts[..last]
            && own_part.zeros == removed_part.zeros
            && removed_part.suffix.is_none()
            && own_part.value > removed_part.value;
        let mut shifted = *self;
        if is_after && !self.is_backlog() {
            shifted.parts[last].value -= 1;
        }
        shifted
    }

    /// Returns the form for directory names: the first part padded to two digits.
    pub fn padded(&self) -> String {
        let text = self.to_string();
        if self.parts[0].value < 10 { format!("0{text}") } else { text }
    }

    /// Returns the form without any leading zeros, which is used to compare roadmaps.
    pub fn canonical(&self) -> String {
        let stripped = self.parts().iter().map(|part| NumberPart { zeros: 0, ..*part }.to_string());
        stripped.collect::<Vec<_>>().join(".")
    }
}

fn parse_part(text: &str, first: bool) -> Option<(NumberPart, &str)> {
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
    // One letter is a suffix; a word right after the digits (`3rd`, `2x2`) is not.
    let suffix = after.bytes().next().filter(|_| letters == 1);
    let part = NumberPart {
        zeros: zeros as u8,
        value: significant.parse().unwrap_or(0),
        suffix: suffix.map(|letter| letter.to_ascii_lowercase()),
    };
    Some((part, &after[usize::from(suffix.is_some())..]))
}

impl Ord for NumberPart {
    fn cmp(&self, other: &Self) -> Ordering {
        let fraction = other.zeros.cmp(&self.zeros);
        fraction.then(self.value.cmp(&other.value)).then(self.suffix.cmp(&other.suffix))
    }
}

impl PartialOrd for NumberPart {
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

impl fmt::Display for NumberPart {
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
