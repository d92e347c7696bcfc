//! Advances the position in STATE.md: the next plan and the share of completed plans.

use super::fields::{self, find, set_field, update_frontmatter};
use super::snapshot::{leading_number, split_activity};
use crate::text::Text;
use crate::text::field::Field;

/// The result of advancing to the next plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The next plan is current now.
    Next {
        /// Plan that was current before.
        previous: u32,
        /// Number of plans in the phase.
        total: u32,
    },
    /// The last plan was already current.
    Last {
        /// Current plan.
        current: u32,
        /// Number of plans in the phase.
        total: u32,
    },
}

/// Advances to the next plan; `None` if the document does not state the current plan and the total.
///
/// Also sets the status and the date of the last activity.
pub fn advance_plan(bytes: &[u8], today: &str) -> Option<(Vec<u8>, Advance)> {
    let text = Text::new(bytes);
    let plan_field = CurrentPlanField::find(&text)?;
    let CurrentPlanField { current, total, .. } = plan_field;
    let (moved, status, outcome) = if current < total {
        let moved = set_field(&text, &plan_field.field, &plan_field.next_value());
        (moved, "Ready to execute", Advance::Next { previous: current, total })
    } else {
        let status = "Phase complete — ready for verification";
        (bytes.to_vec(), status, Advance::Last { current, total })
    };
    let with_status = fields::set(&moved, "Status", status).unwrap_or(moved);
    Some((date_last_activity(with_status, current, today), outcome))
}

/// Sets the date of the last activity. If a remark followed the date, a new remark replaces it.
fn date_last_activity(bytes: Vec<u8>, done: u32, today: &str) -> Vec<u8> {
    let text = Text::new(&bytes);
    let Some(field) = find(&text, &["Last Activity"]) else { return bytes };
    let (_, remark) = split_activity(text.slice(field.value.clone()));
    let value = match remark {
        Some(_) => format!("{today} — Plan {done} complete"),
        None => today.to_owned(),
    };
    set_field(&text, &field, &value)
}

/// The field that states the current plan, split into its parts.
struct CurrentPlanField {
    field: Field,
    current: u32,
    total: u32,
    /// Plan number as written, such as `02`.
    digits: String,
    /// Text before the number, such as `03-`.
    before: String,
    /// Text after the number that stays, such as ` of 5 in current phase`.
    after: String,
}

impl CurrentPlanField {
    fn find(text: &Text<'_>) -> Option<Self> {
        let total = find(text, &["Total Plans in Phase"])
            .and_then(|field| leading_number(text.slice(field.value)))
            .and_then(|total| u32::try_from(total).ok());
        let named = ["Current Plan", "Plan"].iter().filter_map(|name| find(text, &[name]));
        named.filter_map(|field| Self::read(text, field, total)).next()
    }

    /// Parses `2`, `03-02` and `2 of 5 in current phase`.
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
        // A remark is about the old plan and is dropped; a total stays.
        let after = stated.map_or("", |_| rest).to_owned();
        Some(Self { field, current, total, digits, before, after })
    }

    /// Returns the value with the next number, padded as before.
    fn next_value(&self) -> String {
        let width = if self.digits.starts_with('0') { self.digits.len() } else { 0 };
        format!("{}{:0width$}{}", self.before, self.current.saturating_add(1), self.after)
    }
}

/// The number of completed plans and of all plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCompletion {
    /// Plans with a summary.
    pub completed: usize,
    /// All plans.
    pub total: usize,
}

impl PlanCompletion {
    /// Returns the completed share in percent, rounded and at most 100.
    pub fn percent(self) -> usize {
        if self.total == 0 {
            return 0;
        }
        ((200 * self.completed + self.total) / (2 * self.total)).min(100)
    }

    /// Returns the completed share as a bar of ten cells: `[████░░░░░░] 40%`.
    pub fn bar(self) -> String {
        let percent = self.percent();
        let filled = (percent + 5) / 10;
        format!("[{}{}] {percent}%", "█".repeat(filled), "░".repeat(10 - filled))
    }
}

/// Writes the completed share; `None` if the document has no progress field.
pub fn set_progress(bytes: &[u8], progress: PlanCompletion) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let names = ["Progress", "Progress bar", "Overall progress"];
    let field = names.iter().find_map(|name| find(&text, &[name]))?;
    let updates = [
        ("progress.total_plans", progress.total.to_string()),
        ("progress.completed_plans", progress.completed.to_string()),
        ("progress.percent", progress.percent().to_string()),
    ];
    Some(update_frontmatter(set_field(&text, &field, &progress.bar()), &updates))
}

#[cfg(test)]
mod tests;
