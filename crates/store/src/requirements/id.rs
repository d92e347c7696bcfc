//! What a requirement id looks like, and how it is found at the start of a text.

use std::collections::HashSet;

use crate::text::inline;

/// The most ids a range such as `AUTH-01..05` may stand for.
const RANGE_MAX: u32 = 99;

/// Reads the ids of a `Requirements` field: `AUTH-01, AUTH-02`, `[AUTH-01]`, `AUTH-01..05`.
///
/// Comments, remarks in parentheses and what follows a dash are no ids.
pub fn parse_ids(value: &str) -> Vec<String> {
    let value = without(&without(value, "<!--", "-->"), "(", ")");
    let value = value.split(" — ").next().unwrap_or("");
    let value = value.split(" - ").next().unwrap_or("");
    let mut ids: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    for token in value.split(|c: char| c.is_whitespace() || ",;[]\"'`*".contains(c)) {
        let token = token.trim_end_matches(['.', ':']);
        for id in expand(token) {
            if is_id(&id) && known.insert(id.to_ascii_lowercase()) {
                ids.push(id);
            }
        }
    }
    ids
}

/// Returns the text with every part between two marks removed; an open part runs to the end.
fn without(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        kept.push_str(before);
        kept.push(' ');
        rest = inside.split_once(close).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Turns `A-01..05`, `A-01..A-05` and `A-01~05` into the ids meant, anything else into itself.
fn expand(token: &str) -> Vec<String> {
    let whole = || vec![token.to_owned()];
    let Some((first, last)) = token.split_once("..").or_else(|| token.split_once('~')) else {
        return whole();
    };
    let digits_at = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, from) = first.split_at(digits_at(first));
    let (last_prefix, to) = last.split_at(digits_at(last));
    let (Ok(from_number), Ok(to_number)) = (from.parse::<u32>(), to.parse::<u32>()) else {
        return whole();
    };
    let is_range = (last_prefix.is_empty() || last_prefix == prefix)
        && from_number <= to_number
        && to_number - from_number < RANGE_MAX;
    if !is_range {
        return whole();
    }
    let width = from.len();
    (from_number..=to_number).map(|number| format!("{prefix}{number:0width$}")).collect()
}

/// Returns whether a word has the shape of an id: letters first, a digit somewhere, no blanks.
pub(super) fn is_id(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.chars().all(is_id_char)
}

fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Splits `**ID** (remark): text` and the like into the id and the text.
///
/// Beside a box `R1` will do; elsewhere an id is in capitals and has a hyphen.
pub(super) fn split(content: &str, has_box: bool) -> Option<(String, String)> {
    let plain = inline::plain(content);
    let end = plain.find(|c: char| !is_id_char(c)).unwrap_or(plain.len());
    let id = plain[..end].trim_end_matches(['.', '-', '_']);
    let is_strict = id.contains('-')
        && id.starts_with(|c: char| c.is_ascii_uppercase())
        && id.bytes().filter(u8::is_ascii_lowercase).count() <= 1;
    if !is_id(id) || !(is_strict || has_box && !id.starts_with(|c: char| c.is_lowercase())) {
        return None;
    }
    let rest = plain[id.len()..].trim_start_matches([':', '.', '-', '–', '—', ' ']).trim();
    Some((id.to_owned(), rest.to_owned()))
}

/// Returns whether a text without markup begins with an id, and the id ends there.
pub(super) fn opens_with(plain: &str, id: &str) -> bool {
    let Some(start) = prefix_ignoring_case(plain, id) else { return false };
    let after = &plain[start..];
    let glued = &after[..after.find(|c| !is_id_char(c)).unwrap_or(after.len())];
    // `AUTH-1.` ends a sentence, `AUTH-1.2` is another id.
    glued.trim_start_matches(['.', '-', '_']).is_empty()
}

/// Returns where a prefix ends in a text, letters compared without regard to case.
fn prefix_ignoring_case(text: &str, prefix: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    for wanted in prefix.chars() {
        let (_, found) = characters.next()?;
        if !found.to_lowercase().eq(wanted.to_lowercase()) {
            return None;
        }
    }
    Some(characters.next().map_or(text.len(), |(at, _)| at))
}
