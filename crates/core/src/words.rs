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
        if starts && c.is_alphanumeric() && starts_with_any(&text.as_bytes()[at..], words) {
            return Some(at);
        }
        before = c;
    }
    None
}

fn starts_with_any(text: &[u8], words: &[&str]) -> bool {
    let is_start = |word: &&str| {
        // The first byte rules most words out, without the call that comparing the rest takes.
        word.as_bytes().first() == text.first() && text.starts_with(word.as_bytes())
    };
    words.iter().any(is_start)
}

#[cfg(test)]
mod tests;
