//! Shortens commits, lists and names for messages.

/// How many names a message lists before it only counts the rest.
const NAMES_MAX: usize = 5;

/// Returns the first eight characters of a commit id.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..8).unwrap_or(commit)
}

/// Lists the first names, and says how many more there are.
pub(super) fn list_names<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let listed: Vec<_> = names.take(NAMES_MAX).collect();
    let more = match count - listed.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    format!("{}{more}", listed.join(", "))
}

/// Joins a text into one line with single spaces.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Says that a commit which was part of a branch is no longer in it.
pub(super) fn history_rewritten(lost: &str, branch: &str) -> String {
    format!("it rewrote history: {} is no longer in {branch}", short(lost))
}
