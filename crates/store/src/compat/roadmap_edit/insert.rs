//! Inserts a new phase: a section, a line in the summary list, and a row in the progress table.

use mow_core::phase::PhaseNumber;

use crate::roadmap::declarations::{
    Declaration, DeclarationKind, MILESTONE_COLUMNS, Outline, STATUS_COLUMNS, phase_columns,
};
use crate::roadmap::details::{format_number, uses_padded_numbers};
use crate::roadmap::edit::{PLANS_COLUMNS, RoadmapEditor};
use crate::roadmap::phase_label;
use crate::text::Text;
use crate::text::inline::{collapse_whitespace, strip_markup};
use crate::text::list::item_at;
use crate::text::splice::{self, Splice};
use crate::text::table::render_row;

/// A phase that is not in the roadmap yet.
#[derive(Clone, Debug)]
pub struct NewPhase<'a> {
    /// Phase number.
    pub number: PhaseNumber,
    /// Phase name.
    pub name: &'a str,
    /// The phase after which the new one is inserted and on which it depends.
    pub after: Option<PhaseNumber>,
    /// Whether it is an urgent phase between two others; its heading is then marked `(INSERTED)`.
    pub inserted: bool,
}

/// Returns the highest whole phase number in the roadmap, without the backlog.
pub fn highest_number(bytes: &[u8]) -> Option<u32> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let editor = RoadmapEditor::new(&outline);
    let used = editor
        .groups
        .iter()
        .filter(|group| !group.number.is_backlog() && group.best().kind != DeclarationKind::Bullet);
    used.map(|group| group.number.major()).max()
}

/// Adds a phase to a roadmap and returns the new file.
pub fn insert(bytes: &[u8], new: &NewPhase<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let editor = RoadmapEditor::new(&outline);
    // Two splices may have the same offset; their order puts the list before the sections.
    let lines = [list_line(&editor, new), progress_row(&editor, new)];
    let mut splices: Vec<_> = lines.into_iter().flatten().collect();
    splices.push(section_edit(&editor, new));
    splice::apply(bytes, splices)
}

/// Finds the declaration after which a new one goes: that of the phase it follows or of that
/// phase's last sub-phase, else the one with the highest number.
fn anchor<'a>(
    editor: &'a RoadmapEditor<'_>,
    new: &NewPhase<'_>,
    accepts: impl Fn(&Declaration) -> bool,
) -> Option<&'a Declaration<'a>> {
    let is_open =
        |declaration: &&Declaration| editor.outline.collapsed_at(declaration.line).is_none();
    let declarations = || {
        let all = editor.groups.iter().flat_map(|group| &group.declarations);
        all.filter(|declaration| accepts(declaration) && !declaration.number.is_backlog())
    };
    let own = new.after.filter(|_| new.inserted).and_then(|after| {
        let near = |declaration: &&Declaration| {
            declaration.number == after || declaration.number.is_descendant_of(&after)
        };
        declarations()
            .filter(near)
            .filter(is_open)
            .max_by_key(|declaration| (declaration.number, declaration.line))
            .or_else(|| {
                declarations()
                    .filter(near)
                    .max_by_key(|declaration| (declaration.number, declaration.line))
            })
    });
    let last = || {
        declarations()
            .filter(is_open)
            .max_by_key(|declaration| (declaration.number, declaration.line))
    };
    if new.inserted { own } else { last() }
}

/// Returns the edit that inserts the section.
fn section_edit(editor: &RoadmapEditor<'_>, new: &NewPhase<'_>) -> Splice {
    let is_heading = |declaration: &Declaration| declaration.kind == DeclarationKind::Heading;
    let declaration = anchor(editor, new, is_heading);
    let level = declaration.map_or(3, |declaration| {
        let heading =
            editor.outline.headings.iter().find(|heading| heading.line == declaration.line);
        heading.map_or(3, |heading| heading.level.clamp(3, 4))
    });
    let (line, end) = match declaration {
        Some(declaration) => {
            let end = editor.own_lines(declaration.line).end;
            (editor.last_filled(declaration.line..end), end)
        }
        None => {
            let end = end_of_phases(editor);
            (editor.last_filled(0..end), end)
        }
    };
    let ending = editor.text.line_ending();
    let body = render_section(editor, new, level).replace('\n', ending);
    let Some(line) = line else { return Splice::insert(0, format!("{body}{ending}")) };
    let span = editor.text.lines()[line];
    // A rule or heading that follows directly needs a blank line before it.
    let tight = line + 1 == end && end < editor.text.lines().len();
    let gap = if tight { ending } else { "" };
    if span.end == span.next {
        return Splice::insert(span.end, format!("{ending}{ending}{body}{ending}"));
    }
    Splice::insert(span.next, format!("{ending}{body}{ending}{gap}"))
}

/// Returns the line before which a section goes in a roadmap without any phase section.
fn end_of_phases(editor: &RoadmapEditor<'_>) -> usize {
    let text = editor.text;
    let progress = editor.outline.headings.iter().find(|heading| {
        strip_markup(text.slice(heading.text.clone())).to_lowercase().starts_with("progress")
    });
    let rule = || (0..text.lines().len()).rev().find(|line| text.line(*line).starts_with("---"));
    progress.map(|heading| heading.line).or_else(rule).unwrap_or(text.lines().len())
}

fn render_section(editor: &RoadmapEditor<'_>, new: &NewPhase<'_>, level: usize) -> String {
    let padded = uses_padded_numbers(&editor.groups);
    // The heading of an inserted phase has its number padded, as in its directory name.
    let number = format_number(&new.number, padded || new.inserted);
    let mark = if new.inserted { " (INSERTED)" } else { "" };
    let depends = new.after.map_or_else(
        || "Nothing".to_owned(),
        |after| {
            let group = editor.groups.iter().find(|group| group.number == after);
            let written = group.map(|group| group.best().written.to_string());
            format!("Phase {}", written.unwrap_or_else(|| format_number(&after, padded)))
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
        name = collapse_whitespace(new.name),
    )
}

/// Returns the edit that adds the line to the summary list, if there is one.
fn list_line(editor: &RoadmapEditor<'_>, new: &NewPhase<'_>) -> Option<Splice> {
    let text = editor.text;
    let headings = editor.groups.iter().flat_map(|group| group.of_kind(DeclarationKind::Heading));
    let sections: Vec<_> = headings.map(|declaration| editor.own_lines(declaration.line)).collect();
    let in_section = |line: usize| sections.iter().any(|lines| lines.contains(&line));
    let is_listed = |declaration: &Declaration| {
        declaration.kind == DeclarationKind::Checklist && !in_section(declaration.line)
    };
    let declaration = anchor(editor, new, is_listed)?;
    let item = item_at(text, declaration.line)?;
    let mark = text.slice(text.lines()[declaration.line].start..item.checkbox_range.start);
    let number = format_number(&new.number, uses_padded_numbers(&editor.groups));
    let remark = if new.inserted { " (INSERTED)" } else { "" };
    let title = format!("Phase {number}: {}{remark}", collapse_whitespace(new.name));
    let title = if declaration.bold { format!("**{title}**") } else { title };
    Some(add_line(editor, editor.item_lines(declaration.line).end, &format!("{mark} ] {title}")))
}

/// Returns the edit that adds the row to the progress table, if there is one.
fn progress_row(editor: &RoadmapEditor<'_>, new: &NewPhase<'_>) -> Option<Splice> {
    let text = editor.text;
    let is_progress = |declaration: &Declaration| {
        let table = editor.row(declaration.line).map(|(table, _)| table);
        declaration.kind == DeclarationKind::Table
            && table.is_some_and(|table| {
                table.column(text, PLANS_COLUMNS).is_some()
                    && table.column(text, STATUS_COLUMNS).is_some()
            })
    };
    let declaration = anchor(editor, new, is_progress)?;
    let (table, row) = editor.row(declaration.line)?;
    let (phase, name) = phase_columns(text, table)?;
    let model = row.cell(text, phase);
    let titled = phase_label::parse_cell_label(&model).is_some_and(|label| !label.title.is_empty());
    let number = format_number(&new.number, declaration.written.starts_with('0'));
    let new_name = collapse_whitespace(new.name);
    let is_named = !strip_markup(&model).starts_with(|c: char| c.is_ascii_digit());
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
    Some(add_line(editor, declaration.line + 1, &render_row(&cells)))
}

/// Inserts a line before another, or at the end of a file that may lack its last line ending.
fn add_line(editor: &RoadmapEditor<'_>, before: usize, line: &str) -> Splice {
    let ending = editor.text.line_ending();
    let last = editor.text.lines()[before - 1];
    if last.end == last.next {
        Splice::insert(last.end, format!("{ending}{line}"))
    } else {
        Splice::insert(last.next, format!("{line}{ending}"))
    }
}
