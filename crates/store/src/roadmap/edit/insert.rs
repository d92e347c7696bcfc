//! New phases: a section, a line in the summary list, a row in the progress table.

use mow_core::phase::PhaseNumber;

use super::super::declare::{
    Declaration, Kind, MILESTONE_COLUMNS, Outline, STATUS_COLUMNS, phase_columns,
};
use super::super::details::{is_padded, styled};
use super::super::mention;
use super::{Draft, PLANS_COLUMNS};
use crate::text::Text;
use crate::text::inline::{fold_blanks, plain};
use crate::text::list::item_at;
use crate::text::splice::{self, Splice};
use crate::text::table::render_row;

/// A phase that the roadmap does not have yet.
#[derive(Clone, Debug)]
pub struct NewPhase<'a> {
    /// Its number.
    pub number: PhaseNumber,
    /// Its name.
    pub name: &'a str,
    /// The phase it follows: its place is behind that one, and it depends on it.
    pub after: Option<PhaseNumber>,
    /// Whether it is an urgent one between two others, which its heading then says.
    pub inserted: bool,
}

/// Returns the highest whole number that the roadmap uses, the backlog left out.
pub fn highest(bytes: &[u8]) -> Option<u32> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let draft = Draft::new(&outline);
    let used = draft
        .groups
        .iter()
        .filter(|group| !group.number.is_backlog() && group.best().kind != Kind::Bullet);
    used.map(|group| group.number.major()).max()
}

/// Adds a phase.
pub fn insert(bytes: &[u8], new: &NewPhase<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let draft = Draft::new(&outline);
    // Two of them may go to the same place: the list stands before the sections.
    let lines = [list_line(&draft, new), progress_row(&draft, new)];
    let mut splices: Vec<_> = lines.into_iter().flatten().collect();
    splices.push(entry(&draft, new));
    splice::apply(bytes, splices)
}

/// Finds the place behind which a new one goes: that of the phase it follows or of the last one that
/// hangs on it, else the one with the highest number.
fn anchor<'a>(
    draft: &'a Draft<'_>,
    new: &NewPhase<'_>,
    accepts: impl Fn(&Declaration) -> bool,
) -> Option<&'a Declaration<'a>> {
    let is_open = |place: &&Declaration| draft.outline.fold_at(place.line).is_none();
    let places = || {
        let all = draft.groups.iter().flat_map(|group| &group.places);
        all.filter(|place| accepts(place) && !place.number.is_backlog())
    };
    let own = new.after.filter(|_| new.inserted).and_then(|after| {
        let near = |place: &&Declaration| place.number == after || place.number.hangs_on(&after);
        places()
            .filter(near)
            .filter(is_open)
            .max_by_key(|place| (place.number, place.line))
            .or_else(|| places().filter(near).max_by_key(|place| (place.number, place.line)))
    });
    let last = || places().filter(is_open).max_by_key(|place| (place.number, place.line));
    if new.inserted { own } else { last() }
}

/// Writes the section.
fn entry(draft: &Draft<'_>, new: &NewPhase<'_>) -> Splice {
    let is_heading = |place: &Declaration| place.kind == Kind::Heading;
    let place = anchor(draft, new, is_heading);
    let level = place.map_or(3, |place| {
        let heading = draft.outline.headings.iter().find(|heading| heading.line == place.line);
        heading.map_or(3, |heading| heading.level.clamp(3, 4))
    });
    let (line, end) = match place {
        Some(place) => {
            let end = draft.own_lines(place.line).end;
            (draft.last_filled(place.line..end), end)
        }
        None => {
            let end = end_of_phases(draft);
            (draft.last_filled(0..end), end)
        }
    };
    let ending = draft.text.line_ending();
    let body = section(draft, new, level).replace('\n', ending);
    let Some(line) = line else { return Splice::insert(0, format!("{body}{ending}")) };
    let place = draft.text.lines()[line];
    // What follows directly, such as a rule or a heading, needs a blank line before it.
    let tight = line + 1 == end && end < draft.text.lines().len();
    let gap = if tight { ending } else { "" };
    if place.end == place.next {
        return Splice::insert(place.end, format!("{ending}{ending}{body}{ending}"));
    }
    Splice::insert(place.next, format!("{ending}{body}{ending}{gap}"))
}

/// Returns the line before which phases end in a roadmap that has no section of one.
fn end_of_phases(draft: &Draft<'_>) -> usize {
    let text = draft.text;
    let progress = draft.outline.headings.iter().find(|heading| {
        plain(text.slice(heading.text.clone())).to_lowercase().starts_with("progress")
    });
    let rule = || (0..text.lines().len()).rev().find(|line| text.line(*line).starts_with("---"));
    progress.map(|heading| heading.line).or_else(rule).unwrap_or(text.lines().len())
}

fn section(draft: &Draft<'_>, new: &NewPhase<'_>, level: usize) -> String {
    let padded = is_padded(&draft.groups);
    // An inserted phase has the form of its directory in its heading.
    let number = styled(&new.number, padded || new.inserted);
    let mark = if new.inserted { " (INSERTED)" } else { "" };
    let depends = new.after.map_or_else(
        || "Nothing".to_owned(),
        |after| {
            let group = draft.groups.iter().find(|group| group.number == after);
            let written = group.map(|group| group.best().written.to_string());
            format!("Phase {}", written.unwrap_or_else(|| styled(&after, padded)))
        },
    );
    format!(
        "{signs} Phase {number}: {name}{mark}\n\n\
         **Goal:** [To be planned]\n\
         **Depends on:** {depends}\n\
         **Plans:** 0 plans\n\n\
         Plans:\n\
         - [ ] TBD (run /mow:plan-phase {number} to break it down)",
        signs = "#".repeat(level),
        name = fold_blanks(new.name),
    )
}

/// Writes the line of the summary list, where there is one.
fn list_line(draft: &Draft<'_>, new: &NewPhase<'_>) -> Option<Splice> {
    let text = draft.text;
    let headings = draft.groups.iter().flat_map(|group| group.of_kind(Kind::Heading));
    let sections: Vec<_> = headings.map(|place| draft.own_lines(place.line)).collect();
    let in_section = |line: usize| sections.iter().any(|lines| lines.contains(&line));
    let is_listed = |place: &Declaration| place.kind == Kind::Checklist && !in_section(place.line);
    let place = anchor(draft, new, is_listed)?;
    let item = item_at(text, place.line)?;
    let mark = text.slice(text.lines()[place.line].start..item.tick_at.start);
    let number = styled(&new.number, is_padded(&draft.groups));
    let remark = if new.inserted { " (INSERTED)" } else { "" };
    let title = format!("Phase {number}: {}{remark}", fold_blanks(new.name));
    let title = if place.bold { format!("**{title}**") } else { title };
    Some(add_line(draft, draft.item_lines(place.line).end, &format!("{mark} ] {title}")))
}

/// Writes the row of the progress table, where there is one.
fn progress_row(draft: &Draft<'_>, new: &NewPhase<'_>) -> Option<Splice> {
    let text = draft.text;
    let is_progress = |place: &Declaration| {
        let table = draft.row(place.line).map(|(table, _)| table);
        place.kind == Kind::Table
            && table.is_some_and(|table| {
                table.column(text, PLANS_COLUMNS).is_some()
                    && table.column(text, STATUS_COLUMNS).is_some()
            })
    };
    let place = anchor(draft, new, is_progress)?;
    let (table, row) = draft.row(place.line)?;
    let (phase, name) = phase_columns(text, table)?;
    let model = row.cell(text, phase);
    let titled = mention::in_cell(&model).is_some_and(|mention| !mention.title.is_empty());
    let number = styled(&new.number, place.written.starts_with('0'));
    let new_name = fold_blanks(new.name);
    let is_named = !plain(&model).starts_with(|c: char| c.is_ascii_digit());
    let cell = |column: usize| {
        let is = |names: &[&str]| table.column(text, names) == Some(column);
        match column {
            _ if column == phase && is_named && titled => format!("Phase {number}: {new_name}"),
            _ if column == phase && is_named => format!("Phase {number}"),
            _ if column == phase && titled => format!("{number}. {new_name}"),
            _ if column == phase => number.clone(),
            _ if column == name && !titled => new_name.to_string(),
            _ if is(MILESTONE_COLUMNS) => row.cell(text, column),
            _ if is(PLANS_COLUMNS) => "0/0".to_owned(),
            _ if is(STATUS_COLUMNS) => "Not started".to_owned(),
            _ => "-".to_owned(),
        }
    };
    let cells: Vec<_> = (0..table.header.cells.len()).map(cell).collect();
    Some(add_line(draft, place.line + 1, &render_row(&cells)))
}

/// Adds a line before another, or at the end of a file that may lack its last line ending.
fn add_line(draft: &Draft<'_>, before: usize, line: &str) -> Splice {
    let ending = draft.text.line_ending();
    let last = draft.text.lines()[before - 1];
    if last.end == last.next {
        Splice::insert(last.end, format!("{ending}{line}"))
    } else {
        Splice::insert(last.next, format!("{line}{ending}"))
    }
}
