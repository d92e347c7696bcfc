//! Counts the errors that a command says, whatever numbers, times and paths it puts into them.
//!
//! Bounded in every direction: so many kinds of errors, so many letters of each.

use std::time::SystemTime;

/// The most kinds of errors that are counted at a time.
const KINDS_MAX: usize = 32;
/// How much of a line counts.
const LINE_BYTES_MAX: usize = 400;

/// Words by which a line is known as an error.
const WORDS: [&str; 9] =
    ["error", "failed", "failure", "fatal", "panic", "exception", "denied", "refused", "timed out"];

/// An error that was said.
#[derive(Debug)]
struct Kind {
    /// The line without what differs from time to time.
    pattern: String,
    line: String,
    first: SystemTime,
    last: SystemTime,
    /// In how many intervals it was said.
    count: u32,
    /// Whether it was said since the last look.
    is_new: bool,
}

/// The errors that were said.
#[derive(Debug, Default)]
pub(super) struct Errors {
    kinds: Vec<Kind>,
    rest: Vec<u8>,
}

impl Errors {
    /// Takes in output, line by line.
    pub(super) fn hear(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
                self.note(&line);
            } else if self.rest.len() < LINE_BYTES_MAX {
                self.rest.push(*byte);
            }
        }
    }

    fn note(&mut self, line: &str) {
        let lower = line.to_lowercase();
        if !WORDS.iter().any(|word| lower.contains(word)) {
            return;
        }
        let (pattern, now) = (pattern(&lower), SystemTime::now());
        if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.pattern == pattern) {
            (kind.is_new, kind.last) = (true, now);
            return;
        }
        if self.kinds.len() == KINDS_MAX {
            let oldest = (0..KINDS_MAX).min_by_key(|at| self.kinds[*at].last);
            oldest.map(|at| self.kinds.remove(at));
        }
        let line = line.trim().to_owned();
        self.kinds.push(Kind { pattern, line, first: now, last: now, count: 0, is_new: true });
    }

    /// Counts what was said since the last look; returns what was said most often, and since when.
    pub(super) fn look(&mut self) -> Option<(String, u32, SystemTime)> {
        for kind in self.kinds.iter_mut().filter(|kind| kind.is_new) {
            // A hundred lines at once are one error.
            kind.count += 1;
            kind.is_new = false;
        }
        let most = self.kinds.iter().max_by_key(|kind| kind.count)?;
        Some((most.line.clone(), most.count, most.first))
    }

    /// Begins to count anew.
    pub(super) fn forget(&mut self) {
        self.kinds.clear();
    }
}

/// Returns a line without numbers, colours and blanks, which differ from time to time.
fn pattern(line: &str) -> String {
    let mut pattern = String::new();
    let mut in_colour = false;
    for c in line.chars() {
        match c {
            '\u{1b}' => in_colour = true,
            _ if in_colour => in_colour = !c.is_ascii_alphabetic(),
            _ if c.is_ascii_digit() => {
                if !pattern.ends_with('#') {
                    pattern.push('#');
                }
            }
            _ if c.is_whitespace() => {}
            _ => pattern.push(c),
        }
    }
    pattern
}

#[cfg(test)]
mod tests;
