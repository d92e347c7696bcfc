//! Paths that a document refers to: `@path` tokens, and paths in code marks.
//!
//! Only text is looked at; whether the files are there is the caller's business.

#[cfg(test)]
mod tests;

use crate::text::Text;

/// Returns every path a document refers to, each once: first the `@path` tokens without their
/// sign, then the paths in code marks.
pub fn parse(bytes: &[u8]) -> Vec<String> {
    let text = Text::new(bytes);
    let mut found = Vec::new();
    for line in 0..text.lines().len() {
        for token in tokens(text.line(line)) {
            push(token, &mut found);
        }
    }
    for path in coded(&text) {
        if !path.contains("${") && !path.contains("{{") {
            push(&path, &mut found);
        }
    }
    found
}

/// Returns the paths in code marks, each once: with a slash and an ending of letters.
pub fn coded_paths(bytes: &[u8]) -> Vec<String> {
    coded(&Text::new(bytes))
}

fn coded(text: &Text<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for line in 0..text.lines().len() {
        for token in text.line(line).split('`').skip(1).step_by(2) {
            if is_path(token) {
                push(token, &mut found);
            }
        }
    }
    found
}

fn push(path: &str, into: &mut Vec<String>) {
    if !into.iter().any(|known| known == path) {
        into.push(path.to_owned());
    }
}

fn is_path(token: &str) -> bool {
    let ending = token.rsplit_once('.').map_or("", |(_, ending)| ending);
    token.contains('/')
        && !token.contains(char::is_whitespace)
        && !token.starts_with("http")
        && (1..=10).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Finds `@path` tokens with a slash; an address such as `me@host/x` is none.
fn tokens(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('@').filter_map(|(at, _)| {
        let is_glued = line[..at].ends_with(|c: char| c.is_alphanumeric());
        let rest = &line[at + 1..];
        let end = rest.find(|c: char| c.is_whitespace() || c == ',' || c == ')');
        let token = &rest[..end.unwrap_or(rest.len())];
        // Marks that close a sentence or a piece of code are no part of the path.
        let token = token.trim_end_matches(['`', '"', '\'', '.', ';', ':', '*']);
        let inner = token.trim_matches('/');
        (!is_glued && token.contains('/') && !inner.is_empty()).then_some(token)
    })
}
