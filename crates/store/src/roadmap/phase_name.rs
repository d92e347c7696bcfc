//! Cuts a phase's name out of the text after its number.

/// Signs that start a remark on the state of a phase.
const SIGNS: &[char] = &[
    '✅', '✔', '✓', '☑', '🚧', '📋', '🔄', '⏸', '⏳', '🔜', '⬜', '🟢', '🟡', '🔴', '⛔', '❌',
    '⭐', '⚠',
];

/// Texts in parentheses that are remarks and not part of the name.
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
    "superseded",
    "cancelled",
    "canceled",
    "descoped",
    "dropped",
    "postponed",
    "pending",
];

/// Returns the name in a heading, without marks of the phase's state.
pub(super) fn from_heading(title: &str) -> &str {
    let mut name = without_remarks(title);
    if !name.is_ascii()
        && let Some(at) = name.find(SIGNS)
    {
        name = &name[..at];
    }
    loop {
        let trimmed = without_remarks(name.trim_end_matches(['—', '–', '-', ':', ' ', '\u{fe0f}']));
        let shorter = match last_dash(trimmed) {
            Some(at)
                if is_capital_state_word(trimmed[at..].trim_start_matches(['—', '-', ' '])) =>
            {
                trimmed[..at].trim_end()
            }
            _ => trimmed,
        };
        if shorter.len() == name.len() {
            return name;
        }
        name = shorter;
    }
}

/// Returns the offset of the last dash with a blank on both sides.
fn last_dash(name: &str) -> Option<usize> {
    name.rmatch_indices(['—', '-']).map(|(at, _)| at).find(|at| is_dash(name, *at))
}

/// Returns whether the dash at an offset has a blank on both sides.
fn is_dash(name: &str, at: usize) -> bool {
    let after = name[at..].trim_start_matches(['—', '–', '-']);
    name[..at].ends_with(' ') && after.starts_with(' ')
}

/// Returns the name in a list item, which a description may follow.
pub(super) fn from_item(title: &str) -> &str {
    let dashes = title.match_indices(['—', '–', '-']).map(|(at, _)| at);
    let cut = dashes.into_iter().find(|at| is_dash(title, *at));
    from_heading(&title[..cut.unwrap_or(title.len())])
}

fn is_capital_state_word(text: &str) -> bool {
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

/// Strips remarks at the end: `(2/2 plans)`, `(INSERTED)`, `[INSERTED]`.
fn without_remarks(title: &str) -> &str {
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
    name
}
