//! Updates STATE.md when a phase is complete, a milestone ships or a phase is removed.
//!
//! Only existing fields are changed, in the dialect that the document uses.

use mow_core::phase::PhaseNumber;

use super::fields::{self, find, set_field};
use super::position::PhaseLine;
use super::snapshot::split_activity;
use crate::roadmap::milestone::CurrentMilestone;
use crate::text::Text;
use crate::text::field::Field;

/// The phase with which work continues.
#[derive(Clone, Copy, Debug)]
pub struct NextPhase<'a> {
    /// Phase number.
    pub number: &'a PhaseNumber,
    /// Phase name; empty if it has none.
    pub name: &'a str,
}

/// Records that a phase is complete and which phase is next.
pub fn complete_phase(
    bytes: &[u8],
    done: &str,
    next: Option<NextPhase<'_>>,
    today: &str,
) -> Vec<u8> {
    let mut state = bytes.to_vec();
    let (status, words) = match next {
        Some(next) => {
            state = set_current(&state, next);
            let words = format!("Phase {done} complete, transitioned to Phase {}", next.number);
            ("Ready to plan", words)
        }
        None => ("Milestone complete", format!("Phase {done} complete, it was the last one")),
    };
    state = set(state, &["Status"], status);
    state = set(state, &["Current Plan", "Plan"], "Not started");
    set_last_activity(state, today, &words)
}

/// Records that a milestone has shipped.
pub fn complete_milestone(bytes: &[u8], version: &str, today: &str) -> Vec<u8> {
    let state = set(bytes.to_vec(), &["Status"], &format!("{version} milestone complete"));
    set_last_activity(state, today, &format!("{version} milestone completed and archived"))
}

/// Sets the current phase.
pub fn set_current(bytes: &[u8], next: NextPhase<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let state = match find(&text, &["Current Phase"]) {
        Some(field) => set_field(&text, &field, &position(&text, &field, next, true)),
        None => match find(&text, &["Phase"]) {
            Some(field) => set_field(&text, &field, &position(&text, &field, next, false)),
            None => bytes.to_vec(),
        },
    };
    if next.name.is_empty() { state } else { set(state, &["Current Phase Name"], next.name) }
}

/// Formats a phase in the style of its field: `02`, or `2 of 5 (Name)`.
fn position(text: &Text<'_>, field: &Field, next: NextPhase<'_>, padded: bool) -> String {
    let line = PhaseLine::parse(text.slice(field.value.clone()));
    match line.and_then(|line| line.total) {
        Some(total) if next.name.is_empty() => format!("{} of {total}", next.number),
        Some(total) => format!("{} of {total} ({})", next.number, next.name),
        None if padded => next.number.padded(),
        None if next.name.is_empty() => next.number.to_string(),
        None => format!("{} ({})", next.number, next.name),
    }
}

/// Decrements the number of phases wherever the document states it.
pub fn remove_one_phase(bytes: &[u8]) -> Vec<u8> {
    let mut state = bytes.to_vec();
    for names in [&["Total Phases"][..], &["Current Phase"], &["Phase"]] {
        let text = Text::new(&state);
        let Some(field) = find(&text, names) else { continue };
        let value = text.slice(field.value.clone());
        let lower = value.to_lowercase();
        // The total stands alone, or after `of`.
        let at =
            if names == ["Total Phases"] { Some(0) } else { lower.find(" of ").map(|at| at + 4) };
        let fewer =
            at.and_then(|at| Some(format!("{}{}", value.get(..at)?, one_less(value.get(at..)?)?)));
        if let Some(fewer) = fewer {
            state = set_field(&text, &field, &fewer);
        }
    }
    state
}

/// Decrements the number at the start of a text.
fn one_less(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = text[..digits].parse().ok()?;
    Some(format!("{}{}", number.checked_sub(1)?, &text[digits..]))
}

fn set(bytes: Vec<u8>, names: &[&str], value: &str) -> Vec<u8> {
    let found = names.iter().find_map(|name| fields::set(&bytes, name, value));
    found.unwrap_or(bytes)
}

/// Sets the date and the description of the last activity.
fn set_last_activity(bytes: Vec<u8>, today: &str, words: &str) -> Vec<u8> {
    let described = fields::set(&bytes, "Last Activity Description", words);
    let is_described = described.is_some();
    let bytes = described.unwrap_or(bytes);
    let text = Text::new(&bytes);
    let Some(field) = find(&text, &["Last Activity"]) else { return bytes };
    // The plain dialect writes both on one line: `DATE — text`.
    let remarked = split_activity(text.slice(field.value.clone())).1.is_some();
    let in_line = !is_described && (!field.bold || remarked);
    let value = if in_line { format!("{today} — {words}") } else { today.to_owned() };
    set_field(&text, &field, &value)
}

/// Returns the document that replaces a missing or unreadable STATE.md.
pub fn stub(milestone: &CurrentMilestone, today: &str) -> String {
    let CurrentMilestone { version, name } = milestone;
    format!(
        "# Session State\n\n\
         ## Project Reference\n\nSee: .planning/PROJECT.md\n\n\
         ## Position\n\n\
         **Milestone:** {version} {name}\n\
         **Current phase:** (to be determined)\n\
         **Status:** Resuming\n\n\
         ## Session Log\n\n\
         - {today}: STATE.md was missing or unreadable and was made anew\n"
    )
}

#[cfg(test)]
mod tests;
