//! Finds every place in a roadmap that declares a phase.
//!
//! Four kinds of places count: headings, items with a box, plain items in a list of phases, and rows
//! of tables that have a phase column. What only speaks of a phase declares none.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use mow_core::phase::PhaseNumber;

use super::mention::{self, Mention};
use super::{title, verdict};
use crate::text::Text;
use crate::text::fold::{Fold, folds};
use crate::text::heading::{Heading, headings};
use crate::text::inline::plain;
use crate::text::list::{Item, item_at};
use crate::text::table::{Row, Table, tables};

/// The kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Heading,
    Checklist,
    Table,
    Bullet,
}

/// A place that declares a phase.
#[derive(Clone, Debug)]
pub(super) struct Declaration<'a> {
    pub(super) kind: Kind,
    pub(super) number: PhaseNumber,
    pub(super) written: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    /// The words of the name by which places are compared; most never are.
    pub(super) words: OnceLock<Vec<String>>,
    /// The index of the line.
    pub(super) line: usize,
    /// The box or the status cell; marks for the other kinds.
    pub(super) done: Option<bool>,
    /// Whether the line begins in bold, as the summary list of a roadmap does.
    pub(super) bold: bool,
    /// What a dependency column says.
    pub(super) depends: Option<Cow<'a, str>>,
    /// What a milestone column says.
    pub(super) milestone: Option<Cow<'a, str>>,
}

/// A roadmap's lines with the structure that the readers share.
pub(super) struct Outline<'a> {
    pub(super) text: &'a Text<'a>,
    pub(super) headings: Vec<Heading>,
    pub(super) folds: Vec<Fold>,
    /// The list items with their lines.
    items: Vec<(usize, Item)>,
    /// For each line the innermost fold around it; empty where nothing is folded.
    fold_of: Vec<Option<usize>>,
}

impl<'a> Outline<'a> {
    pub(super) fn new(text: &'a Text<'a>) -> Self {
        let folds = folds(text);
        let fold_of =
            if folds.is_empty() { Vec::new() } else { innermost_folds(&folds, text.lines().len()) };
        let lines = 0..text.lines().len();
        let items = lines.filter_map(|line| Some((line, item_at(text, line)?))).collect();
        Self { text, headings: headings(text), folds, items, fold_of }
    }

    /// Returns the list items among some lines.
    pub(super) fn items(&self, lines: Range<usize>) -> &[(usize, Item)] {
        let start = self.items.partition_point(|(line, _)| *line < lines.start);
        let end = self.items.partition_point(|(line, _)| *line < lines.end);
        &self.items[start..end]
    }

    /// Returns the innermost folded block around a line.
    pub(super) fn fold_at(&self, line: usize) -> Option<&Fold> {
        self.fold_of.get(line).copied().flatten().map(|index| &self.folds[index])
    }
}

/// Returns for each line the innermost fold around it; folds come in the order they open.
fn innermost_folds(folds: &[Fold], lines: usize) -> Vec<Option<usize>> {
    let mut opening = folds.iter().enumerate().peekable();
    let mut open = Vec::new();
    let innermost = (0..lines).map(|line| {
        while let Some((index, _)) = opening.next_if(|(_, fold)| fold.first == line) {
            open.push(index);
        }
        let innermost = open.last().copied();
        while open.pop_if(|index| folds[*index].last == line).is_some() {}
        innermost
    });
    innermost.collect()
}

/// Returns all declarations, first those of tables, then headings, then items, each in the order of
/// their lines.
pub(super) fn declarations<'a>(outline: &'a Outline<'a>) -> Vec<Declaration<'a>> {
    let text = outline.text;
    let mut found = Vec::new();
    let all_tables = tables(text, 0..text.lines().len());
    for table in &all_tables {
        of_table(text, table, &mut found);
    }
    for heading in &outline.headings {
        found.extend(of_heading(text, heading));
    }
    for (line, item) in &outline.items {
        found.extend(of_item(text, *line, item));
    }
    found
}

fn of_heading<'a>(text: &'a Text<'_>, heading: &Heading) -> Option<Declaration<'a>> {
    let content = text.slice(heading.text.clone());
    let mention = mention::named(content)?;
    Some(Declaration {
        kind: Kind::Heading,
        name: cut(mention.title, title::of_heading),
        line: heading.line,
        done: verdict::of_marks(content),
        bold: false,
        words: OnceLock::new(),
        depends: None,
        milestone: None,
        number: mention.number,
        written: mention.written,
    })
}

fn of_item<'a>(text: &'a Text<'_>, line: usize, item: &Item) -> Option<Declaration<'a>> {
    let content = text.slice(item.text.clone());
    let mention = mention::named(content)?;
    let kind = if item.tick.is_some() { Kind::Checklist } else { Kind::Bullet };
    // Where the name is in bold, a dash in it is part of it.
    let of_title = if mention.has_tail { title::of_heading } else { title::of_item };
    Some(Declaration {
        kind,
        name: cut(mention.title, of_title),
        line,
        done: item.done().or_else(|| verdict::of_marks(content)),
        bold: content.starts_with("**"),
        words: OnceLock::new(),
        depends: None,
        milestone: None,
        number: mention.number,
        written: mention.written,
    })
}

/// Cuts the name out of a title, without a copy where that is possible.
fn cut<'a>(title: Cow<'a, str>, name: fn(&str) -> &str) -> Cow<'a, str> {
    match title {
        Cow::Borrowed(title) => Cow::Borrowed(name(title)),
        Cow::Owned(title) => Cow::Owned(name(&title).to_owned()),
    }
}

/// The names of columns that hold phases.
const PHASE_COLUMNS: &[&str] =
    &["phase", "fase", "phase #", "phase no.", "phase number", "阶段", "фаза", "этап"];
const NUMBER_COLUMNS: &[&str] = &["#", "no", "no.", "nr", "number", "№"];
pub(super) const STATUS_COLUMNS: &[&str] =
    &["status", "state", "estado", "状态", "статус", "statut", "situação", "stand"];
pub(super) const DATE_COLUMNS: &[&str] =
    &["completed", "concluída em", "completed on", "completion date", "shipped", "done"];
const NAME_COLUMNS: &[&str] =
    &["name", "title", "nome", "nombre", "phase name", "名称", "название"];
pub(super) const DEPENDS_COLUMNS: &[&str] = &[
    "depends on",
    "dependencies",
    "dependency",
    "depends",
    "deps",
    "dependências",
    "depende de",
    "依赖",
];
pub(super) const MILESTONE_COLUMNS: &[&str] = &["milestone", "version", "marco", "hito", "里程碑"];
/// Columns that may stand before the phase column without making the table one of other things.
const LEADING_COLUMNS: &[&str] = &["milestone", "wave", "order", "", "status", "✓", "done"];

/// Returns the column that holds the numbers of phases, and the one beside it for their names.
pub(super) fn phase_columns(text: &Text<'_>, table: &Table) -> Option<(usize, usize)> {
    let titled = table.column(text, PHASE_COLUMNS)?;
    // `# | Phase | Goal`: the number stands in front, the phase column holds the name.
    let numbered = table.column(text, NUMBER_COLUMNS).filter(|column| *column < titled);
    let column = numbered.unwrap_or(titled);
    let leads = (0..column).all(|lead| {
        let header = plain(&table.header.cell(text, lead)).to_lowercase();
        LEADING_COLUMNS.contains(&header.as_str())
    });
    let name = numbered.map(|_| titled).or_else(|| table.column(text, NAME_COLUMNS));
    leads.then_some((column, name.unwrap_or(column + 1)))
}

fn of_table<'a>(text: &'a Text<'_>, table: &Table, found: &mut Vec<Declaration<'a>>) {
    let Some((phase, name)) = phase_columns(text, table) else { return };
    let columns = Columns {
        phase,
        name,
        status: table.column(text, STATUS_COLUMNS),
        date: table.column(text, DATE_COLUMNS),
        depends: table.column(text, DEPENDS_COLUMNS),
        milestone: table.column(text, MILESTONE_COLUMNS),
    };
    found.extend(table.rows.iter().filter_map(|row| of_row(text, row, &columns)));
}

struct Columns {
    phase: usize,
    name: usize,
    status: Option<usize>,
    date: Option<usize>,
    depends: Option<usize>,
    milestone: Option<usize>,
}

/// Takes the markup off a cell.
fn unmarked(cell: Cow<'_, str>) -> Cow<'_, str> {
    match cell {
        Cow::Borrowed(cell) => plain(cell),
        Cow::Owned(cell) => Cow::Owned(plain(&cell).into_owned()),
    }
}

fn of_row<'a>(text: &'a Text<'_>, row: &Row, columns: &Columns) -> Option<Declaration<'a>> {
    let Mention { number, written, title, .. } = match row.cell_text(text, columns.phase) {
        Cow::Borrowed(cell) => mention::in_cell(cell)?,
        Cow::Owned(cell) => mention::in_cell(&cell)?.into_owned(),
    };
    let cell = |column: Option<usize>| column.map(|column| row.cell_text(text, column));
    let done = match (columns.status, columns.date) {
        (Some(status), _) => verdict::of_status(row.written(text, status)),
        (None, Some(date)) => {
            let date = row.written(text, date);
            Some(date.contains(|c: char| c.is_ascii_digit() || c == '✅'))
        }
        (None, None) => None,
    };
    let title = if title.is_empty() { unmarked(row.cell_text(text, columns.name)) } else { title };
    Some(Declaration {
        kind: Kind::Table,
        name: cut(title, title::of_heading),
        line: row.line,
        done,
        bold: false,
        words: OnceLock::new(),
        depends: cell(columns.depends).map(unmarked),
        milestone: cell(columns.milestone),
        number,
        written,
    })
}
