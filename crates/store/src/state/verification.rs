//! The table of verification results: one row for each phase and tier.

use super::active::same_phase;
use super::assignments;
use super::rows::{Kept, session_line};
use crate::text::Text;
use crate::text::field::same_name;
use crate::text::splice::apply;

const TABLE: Kept = Kept {
    heading: "### Verification Results",
    title: "verification results",
    columns: &["Phase", "Tier", "Result", "Date", "Blockers"],
};

/// What a verification came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome<'a> {
    /// The phase.
    pub phase: &'a str,
    /// Which verification it was.
    pub tier: &'a str,
    /// Its result.
    pub result: &'a str,
    /// The day.
    pub date: &'a str,
    /// What is in the way, or `none`.
    pub blockers: &'a str,
}

/// Writes a result in place of the one that its phase and tier had; sections are made as needed.
pub fn record(bytes: &[u8], outcome: &Outcome<'_>) -> Vec<u8> {
    let bytes = ensure(&assignments::ensure(bytes));
    let text = Text::new(&bytes);
    let records = TABLE.records(&text);
    let mut same = records.iter().filter(|record| {
        let cell = |at: usize| record.cells[at].trim();
        same_phase(cell(0), outcome.phase) && same_name(cell(1), outcome.tier.trim())
    });
    let Outcome { phase, tier, result, date, blockers } = *outcome;
    let Some(first) = same.next() else {
        return TABLE.add(&bytes, &[phase, tier, result, date, blockers]);
    };
    let mut edits = first.set(&text, &[(2, result), (3, date), (4, blockers)]);
    edits.extend(same.map(|record| record.remove(&text)));
    apply(&bytes, edits)
}

fn ensure(bytes: &[u8]) -> Vec<u8> {
    let text = Text::new(bytes);
    match TABLE.section(&text) {
        Some(_) => bytes.to_vec(),
        None => TABLE.create(bytes, assignments::end(&text).or_else(|| session_line(&text))),
    }
}

#[cfg(test)]
mod tests;
