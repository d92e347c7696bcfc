//! Finds the blocked phase that waits for the fewest others, and writes the line that names it.

use std::collections::BTreeSet;

use mow_core::phase::PhaseNumber;

use super::{ActivePhase, active_section, parse, table};
use crate::state::list_sections::add_after;
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::splice::apply;

/// Returns the document with the next-unblockable line recomputed.
pub(in crate::state) fn refresh_next_unblockable(bytes: &[u8]) -> Vec<u8> {
    let rows = parse(bytes).unwrap_or_default();
    let next = next_unblockable(&rows);
    let text = Text::new(bytes);
    let Some(section) = active_section(&text) else { return bytes.to_vec() };
    if let Some(field) = find_field(&text, section.own.clone(), "Next unblockable", true) {
        return if text.slice(field.value.clone()) == next {
            bytes.to_vec()
        } else {
            apply(bytes, vec![field.set(&text, &next)])
        };
    }
    let Some(table) = table(&text, &section) else { return bytes.to_vec() };
    let ending = text.line_ending();
    let line = format!("{ending}**Next unblockable:** {next}");
    apply(bytes, add_after(&text, table.end() - 1, &line, ending))
}

/// The blocked phase that waits for the fewest others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextUnblockable<'a> {
    /// Row of the phase.
    pub row: &'a ActivePhase,
    /// Incomplete phases that it waits for.
    pub waits_for: Vec<String>,
}

/// Finds the blocked phase that waits for the fewest others; the first if there are several.
pub fn find_unblockable(rows: &[ActivePhase]) -> Option<NextUnblockable<'_>> {
    let complete = CompletePhases::new(rows);
    let waiting =
        rows.iter().filter_map(|row| Some((complete.count_incomplete(&row.status)?, row)));
    let (_, row) = waiting.min_by_key(|(count, _)| *count)?;
    Some(NextUnblockable { row, waits_for: complete.list_incomplete(&row.status) })
}

/// Renders the next-unblockable line's value, or `--` if no phase is blocked.
pub fn next_unblockable(rows: &[ActivePhase]) -> String {
    let Some(NextUnblockable { row, waits_for }) = find_unblockable(rows) else {
        return "--".to_owned();
    };
    let phase = format!("Phase {} ({})", row.phase, row.name);
    match waits_for.len() {
        0 => format!("{phase} -- ready to unblock"),
        n => format!("{phase} -- {n} dep(s) remaining"),
    }
}

/// The number of phases that a range in a status may stand for.
const RANGE_MAX: u32 = 1000;

/// The phases that are complete.
struct CompletePhases {
    numbers: BTreeSet<PhaseNumber>,
    /// Phases without a number, in lower case.
    names: BTreeSet<String>,
}

impl CompletePhases {
    fn new(rows: &[ActivePhase]) -> Self {
        let mut found = Self { numbers: BTreeSet::new(), names: BTreeSet::new() };
        for row in rows.iter().filter(|row| row.status == "complete") {
            match PhaseNumber::parse(row.phase.trim()) {
                Some(number) => found.numbers.insert(number),
                None => found.names.insert(row.phase.trim().to_ascii_lowercase()),
            };
        }
        found
    }

    /// Counts the incomplete phases in `blocked (7,8)` or `blocked (7-10)` without listing them.
    fn count_incomplete(&self, status: &str) -> Option<usize> {
        Some(blocked_by(status)?.map(|part| self.count_incomplete_in(part)).sum())
    }

    /// Lists the incomplete phases in a status.
    fn list_incomplete(&self, status: &str) -> Vec<String> {
        let parts = blocked_by(status).into_iter().flatten();
        let single = parts.flat_map(|part| match parse_range(part) {
            Some((first, last)) => (first..=last).map(|number| number.to_string()).collect(),
            None => vec![part.to_owned()],
        });
        single.filter(|part| self.count_incomplete_in(part) > 0).collect()
    }

    fn count_incomplete_in(&self, part: &str) -> usize {
        if let Some((first, last)) = parse_range(part) {
            if first > last {
                return 0;
            }
            let range = PhaseNumber::whole(first)..=PhaseNumber::whole(last);
            let done = self.numbers.range(range).filter(|number| number.is_whole()).count();
            return (last - first) as usize + 1 - done;
        }
        let is_done = match PhaseNumber::parse(part) {
            Some(number) => self.numbers.contains(&number),
            None => self.names.contains(&part.to_ascii_lowercase()),
        };
        usize::from(!is_done)
    }
}

/// Splits the list in `blocked (7,8)`.
fn blocked_by(status: &str) -> Option<impl Iterator<Item = &str>> {
    let rest = status.trim().strip_prefix("blocked")?;
    let list = rest.trim().trim_start_matches('(').trim_end_matches(')');
    Some(list.split([',', ' ']).filter(|part| !part.is_empty()))
}

/// Reads `7-10`; a range that is too long is cut to [`RANGE_MAX`].
fn parse_range(part: &str) -> Option<(u32, u32)> {
    let (first, last) = part.split_once(['-', '–'])?;
    let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
    Some((first, last.min(first.saturating_add(RANGE_MAX))))
}
