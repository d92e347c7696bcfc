//! Recognizes requirement ids in fields and at the start of texts.

use std::collections::HashSet;

use crate::text::inline;

/// The maximum number of ids in a range such as `AUTH-01..05`.
const RANGE_MAX: u32 = 99;

/// Parses the ids of a `Requirements` field: `AUTH-01, AUTH-02`, `[AUTH-01]`, `AUTH-01..05`.
///
/// Comments, remarks in parentheses and the text after a dash are ignored.
pub fn parse_ids(value: &str) -> Vec<String> {
    let value = remove_delimited(&remove_delimited(value, "<!--", "-->"), "(", ")");
    let value = value.split(" — ").next().unwrap_or("");
    let value = value.split(" - ").next().unwrap_or("");
    let mut ids: Vec<String> = Vec::new();
    let mut seen_ids = HashSet::new();
    for token in value.split(|c: char| c.is_whitespace() || ",;[]\"'`*".contains(c)) {
        let token = token.trim_end_matches(['.', ':']);
        for id in expand_range(token) {
            if is_id(&id) && seen_ids.insert(id.to_ascii_lowercase()) {
                ids.push(id);
            }
        }
    }
    ids
}

/// Removes every part between two delimiters; a part without an end runs to the end of the text.
fn remove_delimited(text: &str, open: &str, close: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(open) {
        kept.push_str(before);
        kept.push(' ');
        rest = inside.split_once(close).map_or("", |(_, after)| after);
    }
    kept + rest
}

/// Expands `A-01..05`, `A-01..A-05` and `A-01~05` to their ids; returns any other token unchanged.
fn expand_range(token: &str) -> Vec<String> {
    let unchanged = || vec![token.to_owned()];
    let Some((first, last)) = token.split_once("..").or_else(|| token.split_once('~')) else {
        return unchanged();
    };
    let digits_at = |text: &str| text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (prefix, from) = first.split_at(digits_at(first));
    let (last_prefix, to) = last.split_at(digits_at(last));
    let (Ok(from_number), Ok(to_number)) = (from.parse::<u32>(), to.parse::<u32>()) else {
        return unchanged();
    };
    let is_range = (last_prefix.is_empty() || last_prefix == prefix)
        && from_number <= to_number
        && to_number - from_number < RANGE_MAX;
    if !is_range {
        return unchanged();
    }
    let width = from.len();
    (from_number..=to_number).map(|number| format!("{prefix}{number:0width$}")).collect()
}

/// Returns whether a word looks like an id: begins with a letter, has a digit, and has no blanks.
pub(super) fn is_id(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.chars().all(is_id_char)
}

fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// Splits a text such as `**ID** (remark): text` into the id and the text.
///
/// After a checkbox, `R1` is an id. Elsewhere an id must be in capitals and have a hyphen.
pub(super) fn split(content: &str, has_box: bool) -> Option<(String, String)> {
    let plain = inline::strip_markup(content);
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

/// Returns whether a text without Markdown begins with exactly this id.
pub(super) fn opens_with(plain: &str, id: &str) -> bool {
    let Some(start) = prefix_ignoring_case(plain, id) else { return false };
    let after = &plain[start..];
    let glued = &after[..after.find(|c| !is_id_char(c)).unwrap_or(after.len())];
    // `AUTH-1.` ends a sentence, `AUTH-1.2` is another id.
    glued.trim_start_matches(['.', '-', '_']).is_empty()
}

/// Returns the end of a prefix in a text, ignoring case; `None` when the text begins otherwise.
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
