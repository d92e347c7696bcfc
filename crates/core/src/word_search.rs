//! Searches prose for the first of several words.

/// Returns the byte offset of the first occurrence of any of some words, at the start of a word.
///
/// Text and words must be lower case. In scripts without spaces between words, a match may start
/// anywhere.
pub fn find_first_word(text: &str, words: &[&str]) -> Option<usize> {
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let starts =
            !before.is_ascii_alphanumeric() && (!before.is_alphanumeric() || !c.is_ascii());
        if starts && c.is_alphanumeric() && starts_with_any(&text.as_bytes()[at..], words) {
            return Some(at);
        }
        before = c;
    }
    None
}

fn starts_with_any(text: &[u8], words: &[&str]) -> bool {
    let is_start = |word: &&str| {
        // The first byte rules most words out, which saves the call that compares the rest.
        word.as_bytes().first() == text.first() && text.starts_with(word.as_bytes())
    };
    words.iter().any(is_start)
}

#[cfg(test)]
mod tests;
