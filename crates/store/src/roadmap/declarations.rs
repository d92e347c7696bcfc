//! Finds every line of a roadmap that declares a phase.
//!
//! Four kinds of lines count: headings, list items with a checkbox, plain list items, and rows of
//! tables that have a phase column. A line that only refers to a phase declares none.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use mow_core::phase::PhaseNumber;

use super::phase_label::{self, PhaseLabel};
use super::{completion_words, phase_name};
use crate::text::Text;
use crate::text::collapsed::{CollapsedBlock, collapsed_blocks};
use crate::text::heading::{Heading, headings};
use crate::text::inline::strip_markup;
use crate::text::list::{ListItem, item_at};
use crate::text::table::{Table, TableRow, tables};

/// The kind of line that declares a phase, most authoritative first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeclarationKind {
    Heading,
    Checklist,
    Table,
    Bullet,
}

/// A line that declares a phase.
#[derive(Clone, Debug)]
pub(crate) struct Declaration<'a> {
    pub(crate) kind: DeclarationKind,
    pub(crate) number: PhaseNumber,
    pub(crate) written: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    /// Lower-case words of the name for comparing declarations; computed on first use, because most
    /// declarations are never compared.
    pub(crate) words: OnceLock<Vec<String>>,
    /// Index of the line.
    pub(crate) line: usize,
    /// State of the checkbox or the status cell; for the other kinds, what the status marks say.
    pub(crate) done: Option<bool>,
    /// Whether the text starts in bold, as in the summary list of a roadmap.
    pub(crate) bold: bool,
    /// Raw text of the status column.
    pub(crate) status: Option<&'a str>,
    /// Text of the dependency column.
    pub(crate) depends: Option<Cow<'a, str>>,
    /// Text of the milestone column.
    pub(crate) milestone: Option<Cow<'a, str>>,
}

/// A roadmap's text with the structures that all readers share.
pub(crate) struct Outline<'a> {
    pub(crate) text: &'a Text<'a>,
    pub(crate) headings: Vec<Heading>,
    pub(crate) collapsed_blocks: Vec<CollapsedBlock>,
    /// All list items with their lines.
    items: Vec<(usize, ListItem)>,
    /// For each line, the index of the innermost collapsed block around it. Empty if the file has
    /// no collapsed blocks.
    block_of_line: Vec<Option<usize>>,
}

impl<'a> Outline<'a> {
    pub(crate) fn new(text: &'a Text<'a>) -> Self {
        let collapsed_blocks = collapsed_blocks(text);
        let block_of_line = if collapsed_blocks.is_empty() {
            Vec::new()
        } else {
            innermost_blocks(&collapsed_blocks, text.lines().len())
        };
        let lines = 0..text.lines().len();
        let items = lines.filter_map(|line| Some((line, item_at(text, line)?))).collect();
        Self { text, headings: headings(text), collapsed_blocks, items, block_of_line }
    }

    /// Returns the list items in a range of lines.
    pub(crate) fn items(&self, lines: Range<usize>) -> &[(usize, ListItem)] {
        let start = self.items.partition_point(|(line, _)| *line < lines.start);
        let end = self.items.partition_point(|(line, _)| *line < lines.end);
        &self.items[start..end]
    }

    /// Returns the innermost collapsed block around a line.
    pub(crate) fn collapsed_at(&self, line: usize) -> Option<&CollapsedBlock> {
        self.block_of_line.get(line).copied().flatten().map(|index| &self.collapsed_blocks[index])
    }
}

/// Returns, for each line, the innermost collapsed block around it. `blocks` must be in opening
/// order.
fn innermost_blocks(collapsed_blocks: &[CollapsedBlock], lines: usize) -> Vec<Option<usize>> {
    let mut opening = collapsed_blocks.iter().enumerate().peekable();
    let mut open = Vec::new();
    let innermost = (0..lines).map(|line| {
        while let Some((index, _)) = opening.next_if(|(_, block)| block.first_line == line) {
            open.push(index);
        }
        let innermost = open.last().copied();
        while open.pop_if(|index| collapsed_blocks[*index].last_line == line).is_some() {}
        innermost
    });
    innermost.collect()
}

/// Returns all declarations: first those in tables, then headings, then list items, each in file
/// order.
pub(crate) fn find_declarations<'a>(outline: &'a Outline<'a>) -> Vec<Declaration<'a>> {
    let text = outline.text;
    let mut found = Vec::new();
    let all_tables = tables(text, 0..text.lines().len());
    for table in &all_tables {
        from_table(text, table, &mut found);
    }
    for heading in &outline.headings {
        found.extend(from_heading(text, heading));
    }
    for (line, item) in &outline.items {
        found.extend(from_item(text, *line, item));
    }
    found
}

fn from_heading<'a>(text: &'a Text<'_>, heading: &Heading) -> Option<Declaration<'a>> {
    let content = text.slice(heading.text.clone());
    let label = phase_label::parse_label(content)?;
    Some(Declaration {
        kind: DeclarationKind::Heading,
        name: cut(label.title, phase_name::from_heading),
        line: heading.line,
        done: completion_words::parse_marks(content),
        bold: false,
        words: OnceLock::new(),
        status: None,
        depends: None,
        milestone: None,
        number: label.number,
        written: label.written,
    })
}

fn from_item<'a>(text: &'a Text<'_>, line: usize, item: &ListItem) -> Option<Declaration<'a>> {
    let content = text.slice(item.text.clone());
    let label = phase_label::parse_label(content)?;
    let kind =
        if item.checkbox.is_some() { DeclarationKind::Checklist } else { DeclarationKind::Bullet };
    // If the name is bold and text follows, a dash inside the bold part belongs to the name.
    let cut_name = if label.has_tail { phase_name::from_heading } else { phase_name::from_item };
    Some(Declaration {
        kind,
        name: cut(label.title, cut_name),
        line,
        done: item.done().or_else(|| completion_words::parse_marks(content)),
        bold: content.starts_with("**"),
        words: OnceLock::new(),
        status: None,
        depends: None,
        milestone: None,
        number: label.number,
        written: label.written,
    })
}

/// Cuts the name out of a title, without a copy if possible.
fn cut<'a>(title: Cow<'a, str>, name: fn(&str) -> &str) -> Cow<'a, str> {
    match title {
        Cow::Borrowed(title) => Cow::Borrowed(name(title)),
        Cow::Owned(title) => Cow::Owned(name(&title).to_owned()),
    }
}

/// Names of columns that hold phases.
const PHASE_COLUMNS: &[&str] =
    &["phase", "fase", "phase #", "phase no.", "phase number", "阶段", "фаза", "этап"];
const NUMBER_COLUMNS: &[&str] = &["#", "no", "no.", "nr", "number", "№"];
pub(crate) const STATUS_COLUMNS: &[&str] =
    &["status", "state", "estado", "状态", "статус", "statut", "situação", "stand"];
pub(crate) const DATE_COLUMNS: &[&str] =
    &["completed", "concluída em", "completed on", "completion date", "shipped", "done"];
const NAME_COLUMNS: &[&str] =
    &["name", "title", "nome", "nombre", "phase name", "名称", "название"];
pub(crate) const DEPENDS_COLUMNS: &[&str] = &[
    "depends on",
    "dependencies",
    "dependency",
    "depends",
    "deps",
    "dependências",
    "depende de",
    "依赖",
];
pub(crate) const MILESTONE_COLUMNS: &[&str] = &["milestone", "version", "marco", "hito", "里程碑"];
/// Columns that may stand before the phase column. Any other column there means a table about
/// something else.
const LEADING_COLUMNS: &[&str] = &["milestone", "wave", "order", "", "status", "✓", "done"];

/// Returns the index of the column with the phase numbers and of the column with their names.
pub(crate) fn phase_columns(text: &Text<'_>, table: &Table) -> Option<(usize, usize)> {
    let titled = table.column(text, PHASE_COLUMNS)?;
    // `# | Phase | Goal`: the number comes first and the phase column holds the name.
    let numbered = table.column(text, NUMBER_COLUMNS).filter(|column| *column < titled);
    let column = numbered.unwrap_or(titled);
    let leads = (0..column).all(|lead| {
        let header = strip_markup(&table.header.cell(text, lead)).to_lowercase();
        LEADING_COLUMNS.contains(&header.as_str())
    });
    let name = numbered.map(|_| titled).or_else(|| table.column(text, NAME_COLUMNS));
    leads.then_some((column, name.unwrap_or(column + 1)))
}

fn from_table<'a>(text: &'a Text<'_>, table: &Table, found: &mut Vec<Declaration<'a>>) {
    let Some((phase, name)) = phase_columns(text, table) else { return };
    let columns = PhaseTableColumns {
        phase,
        name,
        status: table.column(text, STATUS_COLUMNS),
        date: table.column(text, DATE_COLUMNS),
        depends: table.column(text, DEPENDS_COLUMNS),
        milestone: table.column(text, MILESTONE_COLUMNS),
    };
    found.extend(table.rows.iter().filter_map(|row| from_row(text, row, &columns)));
}

struct PhaseTableColumns {
    phase: usize,
    name: usize,
    status: Option<usize>,
    date: Option<usize>,
    depends: Option<usize>,
    milestone: Option<usize>,
}

/// Strips the markup from a cell.
fn unmarked(cell: Cow<'_, str>) -> Cow<'_, str> {
    match cell {
        Cow::Borrowed(cell) => strip_markup(cell),
        Cow::Owned(cell) => Cow::Owned(strip_markup(&cell).into_owned()),
    }
}

fn from_row<'a>(
    text: &'a Text<'_>,
    row: &TableRow,
    columns: &PhaseTableColumns,
) -> Option<Declaration<'a>> {
    let PhaseLabel { number, written, title, .. } = match row.cell_text(text, columns.phase) {
        Cow::Borrowed(cell) => phase_label::parse_cell_label(cell)?,
        Cow::Owned(cell) => phase_label::parse_cell_label(&cell)?.into_owned(),
    };
    let cell = |column: Option<usize>| column.map(|column| row.cell_text(text, column));
    let done = match (columns.status, columns.date) {
        (Some(status), _) => completion_words::parse_status(row.raw_cell(text, status)),
        (None, Some(date)) => {
            let date = row.raw_cell(text, date);
            Some(date.contains(|c: char| c.is_ascii_digit() || c == '✅'))
        }
        (None, None) => None,
    };
    let title = if title.is_empty() { unmarked(row.cell_text(text, columns.name)) } else { title };
    Some(Declaration {
        kind: DeclarationKind::Table,
        name: cut(title, phase_name::from_heading),
        line: row.line,
        done,
        bold: false,
        words: OnceLock::new(),
        status: columns.status.map(|status| row.raw_cell(text, status)),
        depends: cell(columns.depends).map(unmarked),
        milestone: cell(columns.milestone),
        number,
        written,
    })
}
