//! Numbers with their nouns, for messages.

/// Returns a number with its noun: `1 task`, `2 tasks`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
