//! Cuts a phase's name out of the text behind its number.

/// Signs that begin a remark on the state of a phase.
const SIGNS: &[char] = &[
    '✅', '✔', '✓', '☑', '🚧', '📋', '🔄', '⏸', '⏳', '🔜', '⬜', '🟢', '🟡', '🔴', '⛔', '❌',
    '⭐', '⚠',
];

/// Texts in parentheses that are remarks and no part of the name.
const REMARKS: &[&str] = &[
    "inserted",
    "backlog",
    "complete",
    "completed",
    "done",
    "shipped",
    "deferred",
    "in progress",
    "planned",
    "skipped",
    "removed",
    "pending",
];

/// Returns the name in a heading: all of it but marks of its state.
pub(super) fn of_heading(title: &str) -> String {
    let mut name = without_remarks(title);
    if !name.is_ascii()
        && let Some(at) = name.find(SIGNS)
    {
        name.truncate(at);
    }
    loop {
        let trimmed = without_remarks(name.trim_end_matches(['—', '–', '-', ':', ' ', '\u{fe0f}']));
        let shorter = match trimmed.rsplit_once(" — ").or_else(|| trimmed.rsplit_once(" - ")) {
            Some((before, last)) if is_shouted_state(last) => before.to_owned(),
            _ => trimmed.clone(),
        };
        if shorter == name {
            return name;
        }
        name = shorter;
    }
}

/// Returns the name in an item, where a description follows it.
pub(super) fn of_item(title: &str) -> String {
    let cut = [" — ", " – ", " - ", " -- "].iter().filter_map(|dash| title.find(dash)).min();
    of_heading(&title[..cut.unwrap_or(title.len())])
}

fn is_shouted_state(text: &str) -> bool {
    let word = text.split([' ', ',', '(']).next().unwrap_or("");
    let states = [
        "COMPLETE",
        "COMPLETED",
        "DONE",
        "SHIPPED",
        "NEXT",
        "DEFERRED",
        "FIXED",
        "RESOLVED",
        "PLANNED",
        "BLOCKED",
        "CLOSED",
    ];
    states.contains(&word)
}

/// Takes remarks off the end: `(2/2 plans)`, `(INSERTED)`, `[INSERTED]`.
fn without_remarks(title: &str) -> String {
    let mut name = title.trim();
    while let Some(at) = name.rfind(['(', '[']).filter(|_| name.ends_with([')', ']'])) {
        let remark = name[at + 1..name.len() - 1].trim().to_lowercase();
        let word = remark.split([' ', ',', ':', '—']).next().unwrap_or("");
        let counts = remark.starts_with(|c: char| c.is_ascii_digit())
            && (remark.contains("pla") || remark.contains('/'));
        if !(counts || REMARKS.contains(&word) || remark.starts_with("in progress")) {
            break;
        }
        name = name[..at].trim_end();
    }
    name.to_owned()
}
