//! Writes the table of verification results: one row per phase and tier.

use crate::state::active_phases::same_phase;
use crate::state::assignments;
use crate::state::managed_table::{ManagedTable, session_line};
use crate::text::Text;
use crate::text::field::same_name;
use crate::text::splice::apply;

const TABLE: ManagedTable = ManagedTable {
    heading: "### Verification Results",
    title: "verification results",
    columns: &["Phase", "Tier", "Result", "Date", "Blockers"],
};

/// The result of one verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerificationResult<'a> {
    /// Phase as the caller gave it.
    pub phase: &'a str,
    /// Tier of the verification.
    pub tier: &'a str,
    /// Result, such as `pass`.
    pub result: &'a str,
    /// Date of the verification.
    pub date: &'a str,
    /// Blockers, or `none`.
    pub blockers: &'a str,
}

/// Writes a result and replaces the old one of the same phase and tier. Creates missing sections.
pub fn record(bytes: &[u8], outcome: &VerificationResult<'_>) -> Vec<u8> {
    let bytes = ensure(&assignments::ensure(bytes));
    let text = Text::new(&bytes);
    let records = TABLE.records(&text);
    let mut same = records.iter().filter(|record| {
        let cell = |at: usize| record.cells[at].trim();
        same_phase(cell(0), outcome.phase) && same_name(cell(1), outcome.tier.trim())
    });
    let VerificationResult { phase, tier, result, date, blockers } = *outcome;
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
