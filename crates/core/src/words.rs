//! Looks for words in prose.

/// Returns where the first of some words begins, each matched at the start of a word.
///
/// Text and words are given in lower case. Scripts that do not put blanks between words match
/// anywhere.
pub fn first_of(text: &str, words: &[&str]) -> Option<usize> {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let starts =
            !before.is_ascii_alphanumeric() && (!before.is_alphanumeric() || !c.is_ascii());
        if starts && c.is_alphanumeric() && words.iter().any(|word| text[at..].starts_with(word)) {
            return Some(at);
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests;
