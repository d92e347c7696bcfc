//! Counts the errors that a command prints; lines that differ only in numbers count as the same
//! error.
//!
//! Memory is bounded: a limited number of patterns, and a limited length of each line.

use std::time::SystemTime;

/// How many different errors are counted at a time; the one seen longest ago is dropped first.
const PATTERNS_MAX: usize = 32;
/// How many bytes of a line are read.
const LINE_BYTES_MAX: usize = 400;

/// Words that mark a line as an error.
const ERROR_WORDS: [&str; 9] =
    ["error", "failed", "failure", "fatal", "panic", "exception", "denied", "refused", "timed out"];

/// An error that the command printed.
#[derive(Debug)]
struct ErrorPattern {
    /// The line with numbers replaced and colours removed, for comparison.
    pattern: String,
    line: String,
    first: SystemTime,
    last: SystemTime,
    /// In how many checks the error was new.
    count: u32,
    /// Whether the error was printed since the last check.
    is_new: bool,
}

/// Counts the distinct errors in the output of a command.
#[derive(Debug, Default)]
pub(super) struct ErrorCounter {
    patterns: Vec<ErrorPattern>,
    /// The current line, not ended yet.
    partial_line: Vec<u8>,
}

impl ErrorCounter {
    /// Splits output into lines and records the errors among them.
    pub(super) fn record_output(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if matches!(byte, b'\n' | b'\r') {
                let line =
                    String::from_utf8_lossy(&std::mem::take(&mut self.partial_line)).into_owned();
                self.record_line(&line);
            } else if self.partial_line.len() < LINE_BYTES_MAX {
                self.partial_line.push(*byte);
            }
        }
    }

    fn record_line(&mut self, line: &str) {
        let lower = line.to_lowercase();
        if !ERROR_WORDS.iter().any(|word| lower.contains(word)) {
            return;
        }
        let (pattern, now) = (pattern(&lower), SystemTime::now());
        if let Some(error) = self.patterns.iter_mut().find(|error| error.pattern == pattern) {
            (error.is_new, error.last) = (true, now);
            return;
        }
        if self.patterns.len() == PATTERNS_MAX {
            let oldest = (0..PATTERNS_MAX).min_by_key(|index| self.patterns[*index].last);
            oldest.map(|index| self.patterns.remove(index));
        }
        let line = line.trim().to_owned();
        self.patterns.push(ErrorPattern {
            pattern,
            line,
            first: now,
            last: now,
            count: 0,
            is_new: true,
        });
    }

    /// Counts the errors printed since the last check; returns the most frequent one, its count,
    /// and when it was first printed.
    pub(super) fn count_new(&mut self) -> Option<(String, u32, SystemTime)> {
        for error in self.patterns.iter_mut().filter(|error| error.is_new) {
            // Many lines between two checks count once.
            error.count += 1;
            error.is_new = false;
        }
        let most = self.patterns.iter().max_by_key(|error| error.count)?;
        Some((most.line.clone(), most.count, most.first))
    }

    /// Forgets all errors and starts to count again.
    pub(super) fn clear(&mut self) {
        self.patterns.clear();
    }
}

/// Returns a line without colours and blanks, and with each number replaced by `#`.
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
