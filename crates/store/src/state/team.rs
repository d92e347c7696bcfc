//! Reads and edits the Agent Team Status section: a team and the table of its members.
//!
//! Columns are found by name, so a table with additional columns keeps them. The Color column is
//! added with the first member that has a color.

use serde::Serialize;

use super::list_sections::{add_after, one_line};
use super::{MarkdownSection, section};
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::inline::{escape_comment_start, unescape_comment_start};
use crate::text::splice::{Splice, apply};
use crate::text::table::{Table, TableRow, render_row, tables};

mod members;
pub use members::{TeamMembers, set_members};

/// Cell text for an unknown value.
const UNKNOWN: &str = "—";
const HEADING: &str = "## Agent Team Status";
const HEADER: [&str; 5] = ["Teammate", "Worktree", "Task", "Status", "Last Update"];

/// A team of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Team {
    /// Name; `None` if the section has none.
    pub name: Option<String>,
    /// Start date; `None` if the section has none.
    pub started: Option<String>,
    /// Members in table order.
    pub teammates: Vec<Teammate>,
}

/// A member of a team; the field names are those of the command line's JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Teammate {
    /// Name of the member.
    pub name: String,
    /// Worktree of the member.
    pub worktree: String,
    /// Task of the member.
    pub task: String,
    /// Status, such as `active` or `idle`.
    pub status: String,
    /// Date of the last change.
    pub last_update: String,
    /// Color; the outer `None` means that the table has no Color column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<Option<String>>,
    /// Phase that the member works on; `None` if the table has no such column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

/// The change of a member's row; `None` keeps a cell.
#[derive(Clone, Copy, Debug, Default)]
pub struct TeammateChange<'a> {
    /// Name of the member.
    pub name: &'a str,
    /// New worktree.
    pub worktree: Option<&'a str>,
    /// New phase, for a table with such a column.
    pub phase: Option<&'a str>,
    /// New task.
    pub task: Option<&'a str>,
    /// New status.
    pub status: Option<&'a str>,
    /// New color.
    pub color: Option<&'a str>,
    /// Date of the change.
    pub today: &'a str,
}

/// Why a team cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// The document has no Agent Team Status section.
    #[error("STATE.md has no \"## Agent Team Status\" section")]
    NoSection,
    /// No member has that name.
    #[error("teammate \"{0}\" not found in the Agent Team Status table")]
    Unknown(String),
}

fn team_section(text: &Text<'_>) -> Option<MarkdownSection> {
    section(text, &["agent team status"])
}

fn table(text: &Text<'_>, section: &MarkdownSection) -> Option<Table> {
    tables(text, section.own.clone()).into_iter().next()
}

/// Reads the team; `None` if the document has no Agent Team Status section.
pub fn parse(bytes: &[u8]) -> Option<Team> {
    let text = Text::new(bytes);
    let section = team_section(&text)?;
    let field = |name| {
        let found = find_field(&text, section.own.clone(), name, true)
            .or_else(|| find_field(&text, section.own.clone(), name, false))?;
        Some(unescape_comment_start(&text.raw(found.value)).into_owned())
            .filter(|value| !value.is_empty())
    };
    let teammates = table(&text, &section).map_or(Vec::new(), |table| {
        let columns = TeamColumns::new(&text, &table);
        table.rows.iter().map(|row| columns.read(&text, row)).collect()
    });
    Some(Team { name: field("Team"), started: field("Started"), teammates })
}

/// Reads one member by name.
pub fn find(bytes: &[u8], name: &str) -> Option<Teammate> {
    let name = one_line(name);
    parse(bytes)?.teammates.into_iter().find(|teammate| teammate.name == name)
}

/// Starts a new team and replaces the old section.
pub fn start(bytes: &[u8], name: &str, today: &str) -> Vec<u8> {
    start_with_columns(bytes, (name, today), &HEADER)
}

fn start_with_columns(bytes: &[u8], (name, today): (&str, &str), columns: &[&str]) -> Vec<u8> {
    let rest = stop(bytes);
    let text = Text::new(&rest);
    let ending = text.line_ending();
    let team = format!("**Team:** {}", escape_comment_start(&one_line(name)));
    let started = format!("**Started:** {today}");
    let (header, separator) = (render_row(columns), render_separator(columns));
    let lines = [HEADING, "", &team, &started, "", &header, &separator];
    apply(&rest, vec![insert_section(&text, &lines.join(ending))])
}

fn render_separator(columns: &[&str]) -> String {
    let dashes: Vec<_> = columns.iter().map(|name| "-".repeat(name.len() + 2)).collect();
    format!("|{}|", dashes.join("|"))
}

/// Inserts a section before Session Continuity, or else at the end.
fn insert_section(text: &Text<'_>, lines: &str) -> Splice {
    let ending = text.line_ending();
    let is_blank =
        |line: usize| text.lines().get(line).is_none_or(|l| text.raw(l.range()).trim().is_empty());
    let next = section(text, &["session continuity"]).map(|section| section.heading.line);
    let Some(next) = next else {
        let last = text.lines().len().checked_sub(1);
        let lead = match last {
            None => String::new(),
            Some(line) if is_blank(line) => String::new(),
            Some(line) if text.lines()[line].end == text.lines()[line].next => ending.repeat(2),
            Some(_) => ending.to_owned(),
        };
        return Splice::insert(text.bytes().len(), format!("{lead}{lines}{ending}"));
    };
    let lead = if next == 0 || is_blank(next - 1) { "" } else { ending };
    Splice::insert(text.lines()[next].start, format!("{lead}{lines}{ending}{ending}"))
}

/// Removes the section's own lines; all other sections stay, including those below it.
pub fn stop(bytes: &[u8]) -> Vec<u8> {
    let text = Text::new(bytes);
    let Some(section) = team_section(&text) else { return bytes.to_vec() };
    let mut start = text.lines()[section.heading.line].start;
    let end = text.lines().get(section.own.end).map_or(bytes.len(), |line| line.start);
    if end == bytes.len() {
        let is_blank = |line: &usize| text.raw(text.lines()[*line].range()).trim().is_empty();
        let blanks = (0..section.heading.line).rev().take_while(is_blank).last();
        start = blanks.map_or(start, |line| text.lines()[line].start);
    }
    apply(bytes, vec![Splice::remove(start..end)])
}

/// Adds a member, or updates the row if the member exists.
pub fn add(bytes: &[u8], change: TeammateChange<'_>) -> Result<Vec<u8>, TeamError> {
    let name = one_line(change.name);
    let whole = TeammateChange {
        name: &name,
        worktree: Some(change.worktree.unwrap_or(UNKNOWN)),
        task: Some(change.task.unwrap_or(UNKNOWN)),
        status: Some(change.status.unwrap_or("active")),
        ..change
    };
    match update(bytes, whole) {
        Err(TeamError::Unknown(_)) => {}
        result => return result,
    }
    let bytes = with_color_column(bytes, change.color);
    let text = Text::new(&bytes);
    let section = team_section(&text).ok_or(TeamError::NoSection)?;
    let ending = text.line_ending();
    let (line, added) = match table(&text, &section) {
        Some(table) => {
            let columns = TeamColumns::new(&text, &table);
            let row = columns.row(table.header.cells.len(), &whole);
            (table.end() - 1, row)
        }
        None => {
            let last = section.own.clone().rev().find(|line| !text.line(*line).trim().is_empty());
            (last.unwrap_or(section.heading.line), new_table(&whole, ending))
        }
    };
    Ok(apply(&bytes, add_after(&text, line, &added, ending)))
}

/// Renders a table with one row and a blank line before it.
fn new_table(change: &TeammateChange<'_>, ending: &str) -> String {
    let head = format!("{}{ending}{}", render_row(&HEADER), render_separator(&HEADER));
    let head = format!("{HEADING}{ending}{ending}{head}{ending}");
    let head = with_color_column(head.as_bytes(), change.color);
    let text = Text::new(&head);
    let table = team_section(&text).and_then(|section| table(&text, &section));
    let table = table.expect("the table was just written");
    let start = text.lines()[table.header.line].start;
    let row = TeamColumns::new(&text, &table).row(table.header.cells.len(), change);
    format!("{ending}{}{row}", text.slice(start..head.len()))
}

/// Changes a member's row.
pub fn update(bytes: &[u8], change: TeammateChange<'_>) -> Result<Vec<u8>, TeamError> {
    let bytes = with_color_column(bytes, change.color);
    let text = Text::new(&bytes);
    let section = team_section(&text).ok_or(TeamError::NoSection)?;
    let unknown = || TeamError::Unknown(change.name.to_owned());
    let table = table(&text, &section).ok_or_else(unknown)?;
    let columns = TeamColumns::new(&text, &table);
    let name = one_line(change.name);
    let is_meant = |row: &&TableRow| columns.read(&text, row).name == name;
    let row = table.rows.iter().find(is_meant).ok_or_else(unknown)?;
    Ok(apply(&bytes, row.set(&text, &columns.changes(&change))))
}

/// Adds a Color column before the last column if a color is given and the table has none.
fn with_color_column(bytes: &[u8], color: Option<&str>) -> Vec<u8> {
    let text = Text::new(bytes);
    let table = team_section(&text).and_then(|section| table(&text, &section));
    let Some(table) =
        table.filter(|table| color.is_some() && TeamColumns::new(&text, table).color.is_none())
    else {
        return bytes.to_vec();
    };
    let at = TeamColumns::new(&text, &table).last_update.unwrap_or(table.header.cells.len());
    let widened = |row: &TableRow, value: &str| match row.cells.get(at) {
        Some(cell) => vec![Splice::insert(cell.start, format!(" {value} |"))],
        None => row.set(&text, &[(at, value)]),
    };
    let separator = text.line(table.separator).trim().trim_matches('|');
    let mut dashes: Vec<_> = separator.split('|').collect();
    dashes.insert(at.min(dashes.len()), "-------");
    let separator = format!("|{}|", dashes.join("|"));
    let mut splices = widened(&table.header, "Color");
    splices.push(Splice::replace(text.lines()[table.separator].range(), separator));
    splices.extend(table.rows.iter().flat_map(|row| widened(row, UNKNOWN)));
    apply(bytes, splices)
}

/// The column indexes of the table.
struct TeamColumns {
    name: usize,
    worktree: Option<usize>,
    phase: Option<usize>,
    task: Option<usize>,
    status: Option<usize>,
    color: Option<usize>,
    last_update: Option<usize>,
}

impl TeamColumns {
    fn new(text: &Text<'_>, table: &Table) -> Self {
        let column = |names: &[&str]| table.column(text, names);
        Self {
            name: column(&["Teammate", "Name", "Worker"]).unwrap_or(0),
            worktree: column(&["Worktree"]),
            phase: column(&["Phase"]),
            task: column(&["Task"]),
            status: column(&["Status"]),
            color: column(&["Color", "Colour"]),
            last_update: column(&["Last Update", "Last Updated", "Updated"]),
        }
    }

    fn read(&self, text: &Text<'_>, row: &TableRow) -> Teammate {
        let cell = |column: Option<usize>| column.map_or(String::new(), |c| row.cell(text, c));
        let color = |column| {
            let color = row.cell(text, column);
            (!["", UNKNOWN, "--", "-"].contains(&color.as_str())).then_some(color)
        };
        Teammate {
            name: row.cell(text, self.name),
            worktree: cell(self.worktree),
            task: cell(self.task),
            status: cell(self.status),
            last_update: cell(self.last_update),
            color: self.color.map(color),
            phase: self.phase.map(|column| row.cell(text, column)),
        }
    }

    /// Renders a new row.
    fn row(&self, width: usize, change: &TeammateChange<'_>) -> String {
        let mut cells = vec![UNKNOWN; width];
        for (column, value) in self.changes(change).into_iter().chain([(self.name, change.name)]) {
            if let Some(cell) = cells.get_mut(column) {
                *cell = value;
            }
        }
        render_row(&cells)
    }

    /// Returns the cells that a change sets.
    fn changes<'a>(&self, change: &TeammateChange<'a>) -> Vec<(usize, &'a str)> {
        let wanted = [
            (self.worktree, change.worktree),
            (self.phase, change.phase),
            (self.task, change.task),
            (self.status, change.status),
            (self.color, change.color),
            (self.last_update, Some(change.today)),
        ];
        wanted.iter().filter_map(|(column, value)| Some(((*column)?, (*value)?))).collect()
    }
}

#[cfg(test)]
mod tests;
