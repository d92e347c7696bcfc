//! The steps of the position: on to the next plan, how much is done, where a session ended.

use super::fields::{self, find, follow, set_found};
use super::section;
use super::sections::SESSION;
use super::snapshot::{leading_number, split_activity};
use crate::text::Text;
use crate::text::field::{Field, find_field};

/// What a step to the next plan found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The position moved on.
    Next {
        /// The plan that was current before.
        previous: u32,
        /// How many plans the phase has.
        total: u32,
    },
    /// The last plan was current already.
    Last {
        /// The current plan.
        current: u32,
        /// How many plans the phase has.
        total: u32,
    },
}

/// Moves on to the next plan; `None` when the document does not say which plan of how many.
///
/// The status and the date of the last activity follow.
pub fn advance_plan(bytes: &[u8], today: &str) -> Option<(Vec<u8>, Advance)> {
    let text = Text::new(bytes);
    let place = PlanPlace::find(&text)?;
    let PlanPlace { current, total, .. } = place;
    let (moved, status, outcome) = if current < total {
        let moved = set_found(&text, &place.field, &place.next());
        (moved, "Ready to execute", Advance::Next { previous: current, total })
    } else {
        let status = "Phase complete — ready for verification";
        (bytes.to_vec(), status, Advance::Last { current, total })
    };
    let with_status = fields::set(&moved, "Status", status).unwrap_or(moved);
    Some((touch(with_status, current, today), outcome))
}

/// Dates the last activity; where a remark stood behind the date, a new one takes its place.
fn touch(bytes: Vec<u8>, done: u32, today: &str) -> Vec<u8> {
    let text = Text::new(&bytes);
    let Some(field) = find(&text, &["Last Activity"]) else { return bytes };
    let (_, remark) = split_activity(text.slice(field.value.clone()));
    let value = match remark {
        Some(_) => format!("{today} — Plan {done} complete"),
        None => today.to_owned(),
    };
    set_found(&text, &field, &value)
}

/// Where the document says which plan is current, and of how many.
struct PlanPlace {
    field: Field,
    current: u32,
    total: u32,
    /// The number as written, such as `02`.
    digits: String,
    /// What stands before the number, such as `03-`.
    before: String,
    /// What stands behind it when that is kept: ` of 5 in current phase`.
    after: String,
}

impl PlanPlace {
    fn find(text: &Text<'_>) -> Option<Self> {
        let total = find(text, &["Total Plans in Phase"])
            .and_then(|field| leading_number(text.slice(field.value)))
            .and_then(|total| u32::try_from(total).ok());
        let named = ["Current Plan", "Plan"].iter().filter_map(|name| find(text, &[name]));
        named.filter_map(|field| Self::read(text, field, total)).next()
    }

    /// Reads `2`, `03-02` and `2 of 5 in current phase`.
    fn read(text: &Text<'_>, field: Field, total: Option<u32>) -> Option<Self> {
        let value = text.slice(field.value.clone());
        let width = value.find(|c: char| !(c.is_ascii_digit() || c == '-' || c == '.'));
        let (id, rest) = value.split_at(width.unwrap_or(value.len()));
        let at = id.rfind('-').map_or(0, |dash| dash + 1);
        let (before, digits) = id.split_at(at);
        let current = digits.parse().ok()?;
        let of = rest.trim_start();
        let of = of.strip_prefix("of ").or_else(|| of.strip_prefix('/'));
        let stated = of.and_then(|of| leading_number(of.trim_start()));
        let total = total.or_else(|| u32::try_from(stated?).ok())?;
        let (before, digits) = (before.to_owned(), digits.to_owned());
        // A remark about the old plan does not hold for the next one; a count does.
        let after = stated.map_or("", |_| rest).to_owned();
        Some(Self { field, current, total, digits, before, after })
    }

    /// Returns the value with the number raised by one, padded as it was.
    fn next(&self) -> String {
        let width = if self.digits.starts_with('0') { self.digits.len() } else { 0 };
        format!("{}{:0width$}{}", self.before, self.current.saturating_add(1), self.after)
    }
}

/// How many plans are done, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Plans with a summary.
    pub completed: usize,
    /// All plans.
    pub total: usize,
}

impl Progress {
    /// Returns the share that is done, rounded, never above a hundred.
    pub fn percent(self) -> usize {
        if self.total == 0 {
            return 0;
        }
        ((200 * self.completed + self.total) / (2 * self.total)).min(100)
    }

    /// Returns the share as a bar of ten cells: `[████░░░░░░] 40%`.
    pub fn bar(self) -> String {
        let percent = self.percent();
        let filled = (percent + 5) / 10;
        format!("[{}{}] {percent}%", "█".repeat(filled), "░".repeat(10 - filled))
    }
}

/// Writes how much is done; `None` when the document has no field for it.
pub fn set_progress(bytes: &[u8], progress: Progress) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let names = ["Progress", "Progress bar", "Overall progress"];
    let field = names.iter().find_map(|name| find(&text, &[name]))?;
    let facts = [
        ("progress.total_plans", progress.total.to_string()),
        ("progress.completed_plans", progress.completed.to_string()),
        ("progress.percent", progress.percent().to_string()),
    ];
    Some(follow(set_found(&text, &field, &progress.bar()), &facts))
}

/// Where a session ended.
#[derive(Clone, Copy, Debug)]
pub struct SessionEnd<'a> {
    /// When.
    pub now: &'a str,
    /// At what.
    pub stopped_at: Option<&'a str>,
    /// What to read first next time.
    pub resume_file: Option<&'a str>,
}

/// Writes where a session ended into the fields that are there, and returns their names.
pub fn record_session(bytes: &[u8], end: SessionEnd<'_>) -> (Vec<u8>, Vec<&'static str>) {
    let wanted = [
        ("Last session", Some(end.now)),
        ("Last Date", Some(end.now)),
        ("Stopped At", end.stopped_at),
        ("Resume File", Some(end.resume_file.unwrap_or("None"))),
    ];
    let mut bytes = bytes.to_vec();
    let mut updated = Vec::new();
    for (name, value) in wanted.iter().filter_map(|(name, value)| Some((*name, (*value)?))) {
        if let Some(edited) = set_in_session(&bytes, name, value) {
            bytes = edited;
            updated.push(name);
        }
    }
    (bytes, updated)
}

/// Sets a field of the session section, else the first of that name anywhere.
fn set_in_session(bytes: &[u8], name: &str, value: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let lines = section(&text, SESSION).map_or(0..0, |section| section.own);
    let inside = |bold| find_field(&text, lines.clone(), name, bold);
    let field = inside(true).or_else(|| inside(false)).or_else(|| find(&text, &[name]))?;
    Some(set_found(&text, &field, value))
}

#[cfg(test)]
mod tests;
