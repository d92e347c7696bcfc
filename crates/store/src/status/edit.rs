//! Edits the fields, rows and Aggregate section of a status file.
//!
//! Each change is a splice. A field, column or section that an older file lacks is added where
//! current files have it.

use super::layout::{PlanColumn, StatusLayout, StatusSection};
use super::{PlanRow, PlanState, Status, StatusError, UNSET, one_line_or_unset, parse};
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow};

/// The field names that [`set_field`] accepts.
pub const FIELDS: &[&str] = &[
    "status",
    "worker",
    "worktree",
    "started",
    "last_update",
    "blocker_mode",
    "plans_completed",
    "verified",
];

/// The change of one plan's row; `None` keeps a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanChange<'a> {
    /// Plan id.
    pub plan: &'a str,
    /// New state.
    pub status: Option<&'a str>,
    /// Start time of day; `None` sets it when the plan begins.
    pub started: Option<&'a str>,
    /// Commit that completed the plan.
    pub commit: Option<&'a str>,
    /// Duration of the plan.
    pub duration: Option<&'a str>,
    /// Completed and total tasks.
    pub tasks: Option<&'a str>,
    /// Time of the change, such as `2026-01-01T10:00:00.000Z`.
    pub now_utc: &'a str,
}

/// Changes one plan's row and then the values that follow from it: Last update, Status, Aggregate.
///
/// # Errors
/// Returns an error if no row has the plan.
pub fn update_plan(bytes: &[u8], change: &PlanChange<'_>) -> Result<Vec<u8>, StatusError> {
    let bytes = write_row(bytes, change)?;
    let bytes = set_or_add_field(&bytes, "Last update", change.now_utc);
    let bytes = match phase_status(&parse(&bytes)) {
        Some(status) => set_or_add_field(&bytes, "Status", status),
        None => bytes,
    };
    Ok(rewrite_aggregate(&bytes))
}

/// Sets a field of the phase; `last_update` and `Last update` are the same name.
///
/// # Errors
/// Returns an error if the name is not in [`FIELDS`].
pub fn set_field(bytes: &[u8], name: &str, value: &str) -> Result<Vec<u8>, StatusError> {
    let key = name.trim().to_lowercase().replace([' ', '-'], "_");
    if !FIELDS.contains(&key.as_str()) {
        return Err(StatusError::UnknownField { name: name.to_owned() });
    }
    let mut label = key.replace('_', " ");
    label[..1].make_ascii_uppercase();
    Ok(set_or_add_field(bytes, &label, value))
}

/// Rewrites the Aggregate section from the rows.
pub fn rewrite_aggregate(bytes: &[u8]) -> Vec<u8> {
    let layout = StatusLayout::new(bytes);
    let status = parse(bytes);
    let aggregate = [("Plans", counts(&status)), ("Commits", commits(&status))];
    let Some(section) = layout.section(StatusSection::Aggregate) else {
        let body = aggregate.map(|(name, value)| format!("**{name}:** {value}")).join("\n");
        return apply(bytes, vec![layout.insert_section(StatusSection::Aggregate, &body)]);
    };
    let mut below = section.heading.line;
    let mut splices = Vec::new();
    let mut missing = Vec::new();
    for (name, value) in aggregate {
        match layout.field(section.lines.clone(), name) {
            Some(field) => {
                splices.push(field.set(&layout.text, &value));
                below = below.max(field.line);
            }
            None => missing.push(format!("**{name}:** {value}")),
        }
    }
    if !missing.is_empty() {
        let gap = if below == section.heading.line { "\n" } else { "" };
        splices.extend(layout.insert_below(below, &format!("{gap}{}", missing.join("\n"))));
    }
    apply(bytes, splices)
}

fn counts(status: &Status) -> String {
    let of = status.aggregate();
    format!(
        "{} complete, {} in progress, {} not started, {} failed",
        of.complete, of.in_progress, of.not_started, of.failed
    )
}

fn commits(status: &Status) -> String {
    one_line_or_unset(&status.commits().join(", "))
}

/// Returns the state of the phase that its plans imply; `None` keeps the current one.
fn phase_status(status: &Status) -> Option<&'static str> {
    let of = status.aggregate();
    if of.complete > 0 && of.complete == status.plans.len() {
        Some("complete")
    } else if of.failed > 0 {
        Some("failed")
    } else {
        (of.in_progress > 0).then_some("executing")
    }
}

/// Sets a field, or adds it below the existing fields.
pub(super) fn set_or_add_field(bytes: &[u8], name: &str, value: &str) -> Vec<u8> {
    let layout = StatusLayout::new(bytes);
    let value = one_line_or_unset(value);
    let head = layout.head();
    if let Some(field) = layout.field(head.clone(), name) {
        return apply(bytes, vec![field.set(&layout.text, &value)]);
    }
    let line = format!("**{name}:** {value}");
    let names = ["Phase"].into_iter().chain(FIELDS.iter().copied());
    let last = names
        .filter_map(|name| layout.field(head.clone(), &name.replace('_', " ")))
        .map(|field| field.line)
        .max();
    let splices = match last {
        Some(last) => layout.insert_below(last, &line),
        None => match head.end.checked_sub(1) {
            Some(last) => {
                // Directly below a table the line would become a row.
                let gap = if layout.text.line(last).contains('|') { "\n" } else { "" };
                layout.insert_below(last, &format!("{gap}{line}\n"))
            }
            None => {
                let ending = layout.text.line_ending();
                vec![Splice::insert(layout.start_of(0), format!("{line}{ending}{ending}"))]
            }
        },
    };
    apply(bytes, splices)
}

pub(super) fn write_row(bytes: &[u8], change: &PlanChange<'_>) -> Result<Vec<u8>, StatusError> {
    let layout = StatusLayout::new(bytes);
    let table = layout.plan_table();
    let rows = table.as_ref().map(|table| layout.plan_rows(table)).unwrap_or_default();
    let (Some(table), Some(found)) = (table, find_plan(&rows, change.plan)) else {
        let known = rows.into_iter().map(|(_, row)| row.plan).collect();
        return Err(StatusError::UnknownPlan { plan: change.plan.to_owned(), known });
    };
    let (index, row) = &rows[found];
    let mut cells: Vec<_> = [
        (PlanColumn::Status, change.status),
        (PlanColumn::Duration, change.duration),
        (PlanColumn::Commit, change.commit),
        (PlanColumn::Tasks, change.tasks),
    ]
    .into_iter()
    .filter_map(|(column, value)| Some((column, one_line_or_unset(value?))))
    .collect();
    if let Some(time) = change.started.map(str::to_owned).or_else(|| start_time(row, change))
        && PlanColumn::Started.find(&layout.text, &table).is_some()
    {
        cells.push((PlanColumn::Started, time));
    }
    Ok(apply(bytes, set_cells(&layout, &table, *index, &cells)))
}

/// Finds a plan by its id as written, or else by its id without padding.
pub(super) fn find_plan(rows: &[(usize, PlanRow)], plan: &str) -> Option<usize> {
    let exact = rows.iter().position(|(_, row)| row.plan == plan.trim());
    exact.or_else(|| {
        let wanted = unpadded(plan);
        rows.iter().position(|(_, row)| unpadded(&row.plan) == wanted)
    })
}

/// Returns a plan id without leading zeros and without its file name's suffix.
fn unpadded(plan: &str) -> String {
    let id = plan.trim().to_lowercase();
    let id = id.strip_suffix(".md").unwrap_or(&id);
    let id = id.strip_suffix("-plan").unwrap_or(id);
    let parts: Vec<_> = id
        .split('-')
        .map(|part| {
            let bare = part.trim_start_matches('0');
            let keeps_zero =
                bare.len() < part.len() && !bare.starts_with(|c: char| c.is_ascii_digit());
            if keeps_zero { format!("0{bare}") } else { bare.to_owned() }
        })
        .collect();
    parts.join("-")
}

/// Returns the start time of day if the plan starts with this change.
fn start_time(row: &PlanRow, change: &PlanChange<'_>) -> Option<String> {
    let begins = row.state() == PlanState::NotStarted
        && PlanState::parse(change.status?) == PlanState::InProgress
        && row.started == UNSET;
    let (_, time) = change.now_utc.split_once('T')?;
    let minutes = time.get(..5).filter(|time| time.as_bytes()[2] == b':')?;
    begins.then(|| minutes.to_owned())
}

/// Returns the edits that set cells of one row; missing columns are added to the whole table.
fn set_cells(
    layout: &StatusLayout<'_>,
    table: &Table,
    index: usize,
    cells: &[(PlanColumn, String)],
) -> Vec<Splice> {
    let text = &layout.text;
    let mut added: Vec<(usize, &str)> = Vec::new();
    let mut changes: Vec<(usize, &str)> = Vec::new();
    for (column, value) in cells {
        let at = column.find(text, table).unwrap_or_else(|| {
            let at = table.header.cells.len() + added.len();
            added.push((at, column.titles()[0]));
            at
        });
        changes.push((at, value));
    }
    let mut splices = table.rows[index].set(text, &changes);
    if added.is_empty() {
        return splices;
    }
    splices.extend(table.header.set(text, &added));
    let rule = text.lines()[table.separator];
    let end = rule.start + text.line(table.separator).trim_end().len();
    let is_closed = text.slice(rule.start..end).ends_with('|');
    let dashes = if is_closed { "--------|" } else { "|--------" };
    splices.push(Splice::insert(end, dashes.repeat(added.len())));
    // A row that lacks cells already reads as unset and stays unchanged.
    let is_whole = |row: &TableRow| row.cells.len() >= table.header.cells.len();
    let others = table.rows.iter().enumerate().filter(|(other, _)| *other != index);
    for (_, row) in others.filter(|(_, row)| is_whole(row)) {
        let short = added.iter().filter(|(at, _)| row.cells.len() <= *at);
        let unset: Vec<_> = short.map(|(at, _)| (*at, UNSET)).collect();
        splices.extend(row.set(text, &unset));
    }
    splices
}
