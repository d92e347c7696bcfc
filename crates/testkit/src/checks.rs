//! Properties of the readers and editors that must hold for any input bytes.
//!
//! Each check takes the input of one fuzz target and panics when a property is violated. The fuzz
//! targets call them with whatever a fuzzer comes up with, the tests with what fuzzers found before
//! (`fuzz/corpus`) and with large hostile files. [`TARGETS`] is the whole list.

mod edits;
mod journals;
mod json;
mod readers;
mod rules;

use std::collections::HashMap;

pub use edits::{frontmatter, milestones, requirements, state, status, todo};
pub use journals::journal;
pub use json::{config, dashboard, manifest};
pub use readers::{phase_files, plan, roadmap, summary, text};
pub use rules::{depends, graph, phase_number};

/// A check, which panics when a property is violated.
pub type Check = fn(&[u8]);

/// Every check by the name of its fuzz target.
pub const TARGETS: &[(&str, Check)] = &[
    ("config", config),
    ("dashboard", dashboard),
    ("depends", depends),
    ("frontmatter", frontmatter),
    ("graph", graph),
    ("journal", journal),
    ("manifest", manifest),
    ("milestones", milestones),
    ("phase_files", phase_files),
    ("phase_number", phase_number),
    ("plan", plan),
    ("requirements", requirements),
    ("roadmap", roadmap),
    ("state", state),
    ("status", status),
    ("summary", summary),
    ("text", text),
    ("todo", todo),
];

/// A fuzz input in two parts: the value to write, and the file to edit.
struct Input<'a> {
    value: String,
    file: &'a [u8],
}

impl<'a> Input<'a> {
    /// Splits at the first NUL; without one, all bytes are the file.
    fn new(bytes: &'a [u8]) -> Self {
        let cut = bytes.iter().position(|byte| *byte == 0);
        let (value, file) = cut.map_or((&[][..], bytes), |at| (&bytes[..at], &bytes[at + 1..]));
        Self { value: String::from_utf8_lossy(value).into_owned(), file }
    }

    /// Returns a value without special characters, which must read back unchanged in every document.
    fn word(&self) -> String {
        let plain = |c: &char| c.is_alphanumeric() || matches!(c, '$' | '|' | '\\' | '/' | '.');
        let kept: String = self.value.chars().filter(plain).take(40).collect();
        format!("v{kept}w")
    }

    /// Returns an index below `count`, derived from the value.
    fn pick(&self, count: usize) -> usize {
        self.value.bytes().map(usize::from).sum::<usize>() % count.max(1)
    }
}

/// Returns whether a file ends in half a line ending, which an added line would complete.
fn ends_in_half(file: &[u8]) -> bool {
    file.ends_with(b"\r")
}

/// Counts the lines of the first file that the second one lacks.
fn lost_lines(before: &[u8], after: &[u8]) -> usize {
    let lines = |bytes: &'_ [u8]| -> Vec<Vec<u8>> {
        bytes.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end().to_vec()).collect()
    };
    let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
    for line in lines(after) {
        *counts.entry(line).or_default() += 1;
    }
    let mut is_lost = |line: &Vec<u8>| match counts.get_mut(line) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => !line.is_empty(),
    };
    lines(before).iter().filter(|line| is_lost(line)).count()
}
