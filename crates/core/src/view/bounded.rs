//! Limits of texts and lists. What is left out is counted, never dropped silently.

/// The most characters of a reason or of an event.
pub(super) const TEXT_MAX: usize = 4_000;
/// The most characters of a question.
pub(super) const QUESTION_MAX: usize = 16_000;
/// The most characters of a name, a choice or a path.
pub(super) const NAME_MAX: usize = 400;
/// The most entries of a list within a phase or a question.
pub(super) const LIST_MAX: usize = 200;

/// Returns a text of at most `max` characters; a cut text ends with the number of missing ones.
pub(super) fn text(text: &str, max: usize) -> String {
    // A text has at least as many bytes as characters.
    if text.len() <= max {
        return text.to_owned();
    }
    let Some((end, _)) = text.char_indices().nth(max) else { return text.to_owned() };
    format!("{}… ({} more characters)", &text[..end], text[end..].chars().count())
}

/// Returns at most `max` entries, and how many were left out.
pub(super) fn list<T>(all: impl IntoIterator<Item = T>, max: usize) -> (Vec<T>, usize) {
    let mut all = all.into_iter();
    let kept = all.by_ref().take(max).collect();
    (kept, all.count())
}
