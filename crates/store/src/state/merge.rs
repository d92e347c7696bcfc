//! Merges two versions of STATE.md with a common base, section by section and line by line.
//!
//! A change by one side is taken from that side. Additions by both sides are kept, ours first. If
//! both sides changed the same table row, the row with the later date wins. If both changed the
//! same field, the side that was active later wins. Nothing that either side added may be lost, and
//! no conflict is left for people.

mod sections;

use super::active_phases;
use super::snapshot::{self, Snapshot};
use crate::text::Text;
use crate::text::field::field_at;
use crate::text::table::{Table, tables};
use sections::{SectionBody, SectionedDocument};

/// The identity of a line. Lines with the same identity are versions of each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineKey {
    /// A field, by its name in lower case.
    Field(String),
    /// A table row, by the cells that identify it.
    Row(Vec<String>),
    /// Any other line, by its bytes.
    Line(Vec<u8>),
}

/// A line with its identity; the second part of the key numbers lines with equal identity.
#[derive(Clone, Debug)]
struct MergeLine<'a> {
    key: (LineKey, usize),
    /// The whole line with its line ending.
    bytes: &'a [u8],
}

impl MergeLine<'_> {
    fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }
}

/// The side that wins if both changed the same line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Theirs,
}

/// Merges two versions with a base. An empty base means that they have nothing in common.
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    if ours == theirs || theirs == base {
        return ours.to_vec();
    }
    if ours == base {
        return theirs.to_vec();
    }
    let texts = [Text::new(base), Text::new(ours), Text::new(theirs)];
    let [base, our, their] = texts.each_ref().map(SectionedDocument::new);
    let later_side = later_side(ours, theirs);
    let mut merged = our.clone();
    for (name, body) in &mut merged.sections {
        let (was, other) = (base.body(name), their.body(name));
        match other {
            Some(other) => *body = merge_body(was, body, other, later_side),
            // The other side removed the section. That holds only if we left it unchanged.
            None if was.is_some_and(|was| was.is_same(body)) => body.removed = true,
            None => {}
        }
    }
    merged.adopt(&their, |name, theirs| base.body(name).is_none_or(|was| !was.is_same(theirs)));
    active_phases::refresh_next_unblockable(&merged.render(texts[1].line_ending()))
}

/// Returns the side that was active later; ours if the documents do not say.
fn later_side(ours: &[u8], theirs: &[u8]) -> Side {
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

/// Returns the first date in a text, with the time after it if there is one, in comparable form.
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
    base: Option<&SectionBody<'a>>,
    ours: &SectionBody<'a>,
    theirs: &SectionBody<'a>,
    later_side: Side,
) -> SectionBody<'a> {
    let mut merged = Vec::new();
    let was = |item: &MergeLine<'_>| base.and_then(|base| base.find(item));
    for item in &ours.items {
        if item.is_blank() {
            merged.push(item.clone());
            continue;
        }
        match theirs.find(item) {
            Some(other) => merged.push(choose(was(item), item, other, later_side).clone()),
            // Removed by them and unchanged by us: remove it.
            None if was(item).is_some_and(|was| was.bytes == item.bytes) => {}
            None => merged.push(item.clone()),
        }
    }
    let mut body =
        SectionBody { heading: ours.heading, items: merged, removed: false, grown: false };
    let mut anchor = None;
    let mut after_blank = false;
    for item in &theirs.items {
        let position = body.position(item);
        if item.is_blank() {
            after_blank = true;
        } else if position.is_some() {
            (anchor, after_blank) = (position, false);
        } else if was(item).is_none_or(|was| was.bytes != item.bytes) {
            anchor = Some(body.insert(anchor, item, after_blank, theirs));
            after_blank = false;
        }
    }
    body
}

/// Chooses between two versions of one line.
fn choose<'b, 'a>(
    base: Option<&MergeLine<'_>>,
    ours: &'b MergeLine<'a>,
    theirs: &'b MergeLine<'a>,
    later_side: Side,
) -> &'b MergeLine<'a> {
    if base.is_some_and(|base| base.bytes == ours.bytes) {
        return theirs;
    }
    if ours.bytes == theirs.bytes || base.is_some_and(|base| base.bytes == theirs.bytes) {
        return ours;
    }
    let last_date = |item: &MergeLine<'_>| {
        let line = String::from_utf8_lossy(item.bytes).into_owned();
        line.split('|').filter_map(date_in).max()
    };
    let later = match ours.key.0 {
        LineKey::Row(_) if last_date(ours) != last_date(theirs) => {
            if last_date(theirs) > last_date(ours) { Side::Theirs } else { Side::Ours }
        }
        _ => later_side,
    };
    if later == Side::Theirs { theirs } else { ours }
}

/// Returns a range of lines with their identities.
fn items<'a>(
    text: &Text<'a>,
    lines: std::ops::Range<usize>,
    is_position: bool,
) -> Vec<MergeLine<'a>> {
    let tables = tables(text, lines.clone());
    let mut counts = std::collections::BTreeMap::<LineKey, usize>::new();
    let mut items = Vec::new();
    for line in lines {
        let key = key_of(text, line, &tables, is_position);
        let count = counts.entry(key.clone()).or_default();
        let bytes = &text.bytes()[text.lines()[line].range_with_ending()];
        items.push(MergeLine { key: (key, *count), bytes });
        *count += 1;
    }
    items
}

fn key_of(text: &Text<'_>, line: usize, tables: &[Table], is_position: bool) -> LineKey {
    if let Some(key) = row_key(text, line, tables) {
        return key;
    }
    let raw = &text.bytes()[text.lines()[line].range()];
    let is_item = text.line(line).trim_start().starts_with(['-', '*', '+', '>'])
        && !text.line(line).trim_start().starts_with("**");
    // Outside of the position section `Note: …` is a sentence, and the file may have several of
    // them.
    let field = field_at(text, line).filter(|field| !is_item && (field.bold || is_position));
    match field {
        Some(field) => LineKey::Field(text.slice(field.name).trim().to_lowercase()),
        None => LineKey::Line(raw.trim_ascii_end().to_vec()),
    }
}

/// Identifies a row by its first cell, or in a maintained table by the two columns that identify
/// it.
fn row_key(text: &Text<'_>, line: usize, tables: &[Table]) -> Option<LineKey> {
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
    cells.iter().any(|cell| !cell.is_empty()).then_some(LineKey::Row(cells))
}

#[cfg(test)]
mod tests;
