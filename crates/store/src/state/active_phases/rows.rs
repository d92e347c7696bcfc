//! Changes many rows of the Active Phases table at once, in time that grows linearly with them.

use std::collections::BTreeMap;

use mow_core::phase::PhaseNumber;

use super::{
    ActivePhaseChange, ActivePhaseColumns, ActivePhaseError, active_section, new_row,
    refresh_next_unblockable, table, update_row,
};
use crate::state::list_sections::add_after;
use crate::state::managed_table::ManagedTable;
use crate::state::section;
use crate::text::Text;
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow, render_row};

const TABLE: ManagedTable = ManagedTable {
    heading: "## Active Phases",
    title: "active phases",
    columns: &["Phase", "Name", "Status", "Worker", "Plans", "Last Update"],
};

/// Creates the section with an empty table before Performance Metrics, or else at the end, if the
/// document does not have it.
pub fn ensure(bytes: &[u8]) -> Vec<u8> {
    let text = Text::new(bytes);
    if active_section(&text).is_some() {
        return bytes.to_vec();
    }
    let metrics = section(&text, &["performance metrics"]);
    TABLE.create(bytes, metrics.map(|section| section.heading.line))
}

/// Changes or adds the rows of phases, and refreshes the next-unblockable line.
///
/// A phase whose row is missing needs a name and a status.
pub fn set_rows(
    bytes: &[u8],
    changes: &[(PhaseNumber, ActivePhaseChange<'_>)],
) -> Result<Vec<u8>, ActivePhaseError> {
    let text = Text::new(bytes);
    let section = active_section(&text).ok_or(ActivePhaseError::NoSection)?;
    let sorted = table(&text, &section).filter(|table| is_sorted(&text, table));
    let Some(table) = sorted else { return set_one_by_one(bytes, changes) };
    let columns = ActivePhaseColumns::new(&text, &table);
    let key = |row: &TableRow| PhaseNumber::parse(&columns.read(&text, row).phase);
    let rows: BTreeMap<_, _> = table.rows.iter().rev().map(|row| (key(row), row)).collect();
    let mut splices: Vec<Splice> = Vec::new();
    let changes: BTreeMap<_, _> = changes.iter().map(|(number, change)| (number, change)).collect();
    for (number, change) in changes {
        if let Some(row) = rows.get(&Some(*number)) {
            splices.extend(columns.set(&text, row, *change));
            continue;
        }
        let row = new_row(&number.to_string(), *change)?;
        let line = render_row(&columns.fill(table.header.cells.len(), &row));
        let before = rows.range(..Some(*number)).next_back();
        let before = before.map_or(table.separator, |(_, row)| row.line);
        splices.extend(add_after(&text, before, &line, text.line_ending()));
    }
    Ok(refresh_next_unblockable(&apply(bytes, splices)))
}

/// Returns whether the rows are in the order of their numbers.
fn is_sorted(text: &Text<'_>, table: &Table) -> bool {
    let columns = ActivePhaseColumns::new(text, table);
    table.rows.is_sorted_by_key(|row| PhaseNumber::parse(&columns.read(text, row).phase))
}

/// Changes the rows of a table that is missing or not sorted, one at a time.
fn set_one_by_one(
    bytes: &[u8],
    changes: &[(PhaseNumber, ActivePhaseChange<'_>)],
) -> Result<Vec<u8>, ActivePhaseError> {
    let mut bytes = bytes.to_vec();
    for (number, change) in changes {
        bytes = update_row(&bytes, &number.to_string(), *change)?.0;
    }
    Ok(bytes)
}
