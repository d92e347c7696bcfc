//! Joins two versions of STATE.md that grew from one: section by section, line by line.
//!
//! What only one side changed is taken from it. What both added is kept, ours first. Where both
//! changed the same field or table row there is one answer: the row with the later date, the field
//! of the side that was active later. Nothing that either side added is lost, and no conflict is
//! left for people to solve. Bytes in, bytes out.

mod sections;

use super::active;
use super::snapshot::{self, Snapshot};
use crate::text::Text;
use crate::text::field::field_at;
use crate::text::table::{Table, tables};
use sections::{Body, Document};

/// The identity of a line: lines with the same identity are versions of each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// A field, by its name in lower case.
    Field(String),
    /// A row of a table, by the cells that name it.
    Row(Vec<String>),
    /// Anything else is only itself.
    Line(Vec<u8>),
}

/// One line with its identity; equal identities are told apart by their order.
#[derive(Clone, Debug)]
struct Item<'a> {
    key: (Key, usize),
    /// The whole line with its ending.
    bytes: &'a [u8],
}

impl Item<'_> {
    fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// Which side's word counts where both changed one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

/// Merges what two sides made of a base; an empty base means that they have nothing in common.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    if ours == theirs || theirs == base {
        return ours.to_vec();
    }
    if ours == base {
        return theirs.to_vec();
    }
    let texts = [Text::new(base), Text::new(ours), Text::new(theirs)];
    let [base, our, their] = texts.each_ref().map(Document::new);
    let latest = latest(ours, theirs);
    let mut merged = our.clone();
    for (name, body) in &mut merged.sections {
        let (was, other) = (base.body(name), their.body(name));
        match other {
            Some(other) => *body = merge_body(was, body, other, latest),
            // The other side removed it: that holds only for a section that we left as it was.
            None if was.is_some_and(|was| was.is_same(body)) => body.removed = true,
            None => {}
        }
    }
    merged.adopt(&their, |name, theirs| base.body(name).is_none_or(|was| !was.is_same(theirs)));
    active::refresh_next(&merged.render(texts[1].line_ending()))
}

/// Tells which side was active later; ours when they do not say.
fn latest(ours: &[u8], theirs: &[u8]) -> Side {
    let (ours, theirs) = (snapshot::parse(ours), snapshot::parse(theirs));
    let key = |snapshot: &Snapshot| {
        let moment = |text: &Option<String>| text.as_deref().and_then(date_in);
        let position = snapshot.current_phase.as_deref();
        let phase = position.and_then(mow_core::phase::PhaseNumber::parse);
        let dates = (moment(&snapshot.last_activity), moment(&snapshot.session.last_date));
        (dates, snapshot.progress_percent, phase)
    };
    if key(&theirs) > key(&ours) { Side::Theirs } else { Side::Ours }
}

/// Returns the first date in a text with the time that may follow it, in comparable form.
fn date_in(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_date = |at: &usize| {
        let shape = b"dddd-dd-dd";
        bytes.len() >= at + shape.len()
            && shape.iter().zip(&bytes[*at..]).all(|(shape, byte)| match shape {
                b'd' => byte.is_ascii_digit(),
                _ => byte == shape,
            })
    };
    let start = (0..bytes.len()).find(is_date)?;
    let end = bytes[start..].iter().position(|byte| {
        !(byte.is_ascii_digit() || matches!(byte, b'-' | b':' | b'.' | b'T' | b' '))
    });
    let moment = &text[start..end.map_or(text.len(), |end| start + end)];
    Some(moment.trim().replace(' ', "T"))
}

/// Merges the lines of one section.
fn merge_body<'a>(
    base: Option<&Body<'a>>,
    ours: &Body<'a>,
    theirs: &Body<'a>,
    latest: Side,
) -> Body<'a> {
    let mut merged = Vec::new();
    let was = |item: &Item<'_>| base.and_then(|base| base.find(item));
    for item in &ours.items {
        if item.is_blank() {
            merged.push(item.clone());
            continue;
        }
        match theirs.find(item) {
            Some(other) => merged.push(choose(was(item), item, other, latest).clone()),
            // Removed there and untouched here: it goes.
            None if was(item).is_some_and(|was| was.bytes == item.bytes) => {}
            None => merged.push(item.clone()),
        }
    }
    let mut body = Body { heading: ours.heading, items: merged, removed: false, grown: false };
    let mut anchor = None;
    let mut after_blank = false;
    for item in &theirs.items {
        let known = body.position(item);
        if item.is_blank() {
            after_blank = true;
        } else if known.is_some() {
            (anchor, after_blank) = (known, false);
        } else if was(item).is_none_or(|was| was.bytes != item.bytes) {
            anchor = Some(body.insert(anchor, item, after_blank, theirs));
            after_blank = false;
        }
    }
    body
}

/// Chooses between two versions of one line.
fn choose<'b, 'a>(
    base: Option<&Item<'_>>,
    ours: &'b Item<'a>,
    theirs: &'b Item<'a>,
    latest: Side,
) -> &'b Item<'a> {
    if base.is_some_and(|base| base.bytes == ours.bytes) {
        return theirs;
    }
    if ours.bytes == theirs.bytes || base.is_some_and(|base| base.bytes == theirs.bytes) {
        return ours;
    }
    let last_date = |item: &Item<'_>| {
        let line = String::from_utf8_lossy(item.bytes).into_owned();
        line.split('|').filter_map(date_in).max()
    };
    let later = match ours.key.0 {
        Key::Row(_) if last_date(ours) != last_date(theirs) => {
            if last_date(theirs) > last_date(ours) { Side::Theirs } else { Side::Ours }
        }
        _ => latest,
    };
    if later == Side::Theirs { theirs } else { ours }
}

/// Gives each of some lines its identity.
fn items<'a>(text: &Text<'a>, lines: std::ops::Range<usize>, is_position: bool) -> Vec<Item<'a>> {
    let tables = tables(text, lines.clone());
    let mut seen = std::collections::BTreeMap::<Key, usize>::new();
    let mut items = Vec::new();
    for line in lines {
        let key = key_of(text, line, &tables, is_position);
        let count = seen.entry(key.clone()).or_default();
        let bytes = &text.bytes()[text.lines()[line].whole()];
        items.push(Item { key: (key, *count), bytes });
        *count += 1;
    }
    items
}

fn key_of(text: &Text<'_>, line: usize, tables: &[Table], is_position: bool) -> Key {
    if let Some(key) = row_key(text, line, tables) {
        return key;
    }
    let raw = &text.bytes()[text.lines()[line].range()];
    let is_item = text.line(line).trim_start().starts_with(['-', '*', '+', '>'])
        && !text.line(line).trim_start().starts_with("**");
    // Outside of the position `Note: …` is a sentence, and two of them may stand side by side.
    let field = field_at(text, line).filter(|field| !is_item && (field.bold || is_position));
    match field {
        Some(field) => Key::Field(text.slice(field.name).trim().to_lowercase()),
        None => Key::Line(raw.trim_ascii_end().to_vec()),
    }
}

/// Names a row by its first cell; rows of the tables that commands keep by what they are about.
fn row_key(text: &Text<'_>, line: usize, tables: &[Table]) -> Option<Key> {
    let table = tables.iter().find(|table| table.rows.iter().any(|row| row.line == line))?;
    let row = table.rows.iter().find(|row| row.line == line)?;
    let both = |a: &str, b: &str| Some([table.column(text, &[a])?, table.column(text, &[b])?]);
    let columns = both("Phase", "Tier").or_else(|| both("Worktree", "Phase"));
    let columns = columns.map_or_else(|| vec![0], |columns| columns.to_vec());
    let cell = |column: &usize| {
        let cell = row.cell(text, *column).to_lowercase();
        mow_core::phase::PhaseNumber::parse(&cell).map_or(cell, |number| number.canonical())
    };
    let cells: Vec<_> = columns.iter().map(cell).collect();
    cells.iter().any(|cell| !cell.is_empty()).then_some(Key::Row(cells))
}

#[cfg(test)]
mod tests;
