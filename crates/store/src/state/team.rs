//! The section Agent Team Status: a team and the table of its members.
//!
//! Columns are found by their names, so a table with more of them keeps the rest. The Color column
//! comes with the first member that has a colour.

use serde::Serialize;

use super::sections::{add_after, one_line};
use super::{Section, section};
use crate::text::Text;
use crate::text::field::find_field;
use crate::text::inline::{guard, unguard};
use crate::text::splice::{Splice, apply};
use crate::text::table::{Row, Table, render_row, tables};

/// What stands in a cell that nothing is known for.
const UNKNOWN: &str = "—";
const HEADING: &str = "## Agent Team Status";
const HEADER: [&str; 5] = ["Teammate", "Worktree", "Task", "Status", "Last Update"];
const SEPARATOR: &str = "|----------|----------|------|--------|-------------|";

/// A team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Team {
    /// Its name.
    pub name: Option<String>,
    /// When it started.
    pub started: Option<String>,
    /// Its members, in the order of the table.
    pub teammates: Vec<Teammate>,
}

/// A member of a team, by the names the command line uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Teammate {
    /// The name.
    pub name: String,
    /// Where it works.
    pub worktree: String,
    /// What it does.
    pub task: String,
    /// How it is.
    pub status: String,
    /// When it last changed.
    pub last_update: String,
    /// Its colour; only where the table has a column for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<Option<String>>,
}

/// What to write about a member; `None` leaves a cell as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct TeammateChange<'a> {
    /// Who.
    pub name: &'a str,
    /// Where it works.
    pub worktree: Option<&'a str>,
    /// What it does.
    pub task: Option<&'a str>,
    /// How it is.
    pub status: Option<&'a str>,
    /// Its colour.
    pub color: Option<&'a str>,
    /// The date of the change.
    pub today: &'a str,
}

/// Why a team cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TeamError {
    /// The document has no such section.
    #[error("STATE.md has no \"## Agent Team Status\" section")]
    NoSection,
    /// Nobody has that name.
    #[error("teammate \"{0}\" not found in the Agent Team Status table")]
    Unknown(String),
}

fn team_section(text: &Text<'_>) -> Option<Section> {
    section(text, &["agent team status"])
}

fn table(text: &Text<'_>, section: &Section) -> Option<Table> {
    tables(text, section.own.clone()).into_iter().next()
}

/// Reads the team; `None` when the document has no such section.
pub fn parse(bytes: &[u8]) -> Option<Team> {
    let text = Text::new(bytes);
    let section = team_section(&text)?;
    let field = |name| {
        let found = find_field(&text, section.own.clone(), name, true)
            .or_else(|| find_field(&text, section.own.clone(), name, false))?;
        Some(unguard(&text.raw(found.value)).into_owned()).filter(|value| !value.is_empty())
    };
    let teammates = table(&text, &section).map_or(Vec::new(), |table| {
        let columns = Columns::new(&text, &table);
        table.rows.iter().map(|row| columns.read(&text, row)).collect()
    });
    Some(Team { name: field("Team"), started: field("Started"), teammates })
}

/// Reads one member.
pub fn find(bytes: &[u8], name: &str) -> Option<Teammate> {
    let name = one_line(name);
    parse(bytes)?.teammates.into_iter().find(|teammate| teammate.name == name)
}

/// Begins a team anew; what the section held before is gone.
pub fn start(bytes: &[u8], name: &str, today: &str) -> Vec<u8> {
    let rest = stop(bytes);
    let text = Text::new(&rest);
    let ending = text.line_ending();
    let team = format!("**Team:** {}", guard(&one_line(name)));
    let started = format!("**Started:** {today}");
    let header = render_row(&HEADER);
    let lines = [HEADING, "", &team, &started, "", &header, SEPARATOR];
    apply(&rest, vec![insert_section(&text, &lines.join(ending))])
}

/// Puts a section before Session Continuity, else at the end.
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

/// Removes the section; what other sections there are, below it too, stays.
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

/// Adds a member; one that is there already gets a new row in the place of the old.
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
        known => return known,
    }
    let bytes = with_color_column(bytes, change.color);
    let text = Text::new(&bytes);
    let section = team_section(&text).ok_or(TeamError::NoSection)?;
    let ending = text.line_ending();
    let (line, added) = match table(&text, &section) {
        Some(table) => {
            let columns = Columns::new(&text, &table);
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

/// Writes a table with one row, a blank line before it.
fn new_table(change: &TeammateChange<'_>, ending: &str) -> String {
    let head = format!("{}{ending}{SEPARATOR}", render_row(&HEADER));
    let head = format!("{HEADING}{ending}{ending}{head}{ending}");
    let head = with_color_column(head.as_bytes(), change.color);
    let text = Text::new(&head);
    let table = team_section(&text).and_then(|section| table(&text, &section));
    let table = table.expect("the table was just written");
    let start = text.lines()[table.header.line].start;
    let row = Columns::new(&text, &table).row(table.header.cells.len(), change);
    format!("{ending}{}{row}", text.slice(start..head.len()))
}

/// Changes a member's row.
pub fn update(bytes: &[u8], change: TeammateChange<'_>) -> Result<Vec<u8>, TeamError> {
    let bytes = with_color_column(bytes, change.color);
    let text = Text::new(&bytes);
    let section = team_section(&text).ok_or(TeamError::NoSection)?;
    let unknown = || TeamError::Unknown(change.name.to_owned());
    let table = table(&text, &section).ok_or_else(unknown)?;
    let columns = Columns::new(&text, &table);
    let name = one_line(change.name);
    let is_meant = |row: &&Row| columns.read(&text, row).name == name;
    let row = table.rows.iter().find(is_meant).ok_or_else(unknown)?;
    Ok(apply(&bytes, row.set(&text, &columns.changes(&change))))
}

/// Gives the table a Color column before its last one, when a colour comes and there is none.
fn with_color_column(bytes: &[u8], color: Option<&str>) -> Vec<u8> {
    let text = Text::new(bytes);
    let table = team_section(&text).and_then(|section| table(&text, &section));
    let Some(table) =
        table.filter(|table| color.is_some() && Columns::new(&text, table).color.is_none())
    else {
        return bytes.to_vec();
    };
    let at = Columns::new(&text, &table).last_update.unwrap_or(table.header.cells.len());
    let widened = |row: &Row, value: &str| match row.cells.get(at) {
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

/// Where the table keeps what.
struct Columns {
    name: usize,
    worktree: Option<usize>,
    task: Option<usize>,
    status: Option<usize>,
    color: Option<usize>,
    last_update: Option<usize>,
}

impl Columns {
    fn new(text: &Text<'_>, table: &Table) -> Self {
        let column = |names: &[&str]| table.column(text, names);
        Self {
            name: column(&["Teammate", "Name", "Worker"]).unwrap_or(0),
            worktree: column(&["Worktree"]),
            task: column(&["Task"]),
            status: column(&["Status"]),
            color: column(&["Color", "Colour"]),
            last_update: column(&["Last Update", "Last Updated", "Updated"]),
        }
    }

    fn read(&self, text: &Text<'_>, row: &Row) -> Teammate {
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
        }
    }

    /// Writes a new row.
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
