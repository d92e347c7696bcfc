//! Finds the paths that a document refers to: `@path` tokens and paths in backticks.
//!
//! Only the text is read. The caller checks whether the files exist.

#[cfg(test)]
mod tests;

use crate::text::Text;

/// Returns every path that a document refers to, each once: first the `@path` tokens without their
/// `@`, then the paths in backticks.
pub fn parse(bytes: &[u8]) -> Vec<String> {
    let text = Text::new(bytes);
    let mut found = Vec::new();
    for line in 0..text.lines().len() {
        for token in at_tokens(text.line(line)) {
            push_unique(token, &mut found);
        }
    }
    for path in paths_in_code_spans(&text) {
        if !path.contains("${") && !path.contains("{{") {
            push_unique(&path, &mut found);
        }
    }
    found
}

/// Returns the paths in backticks, each once: tokens with a slash and a file extension of letters.
pub fn code_span_paths(bytes: &[u8]) -> Vec<String> {
    paths_in_code_spans(&Text::new(bytes))
}

fn paths_in_code_spans(text: &Text<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for line in 0..text.lines().len() {
        for token in text.line(line).split('`').skip(1).step_by(2) {
            if is_path(token) {
                push_unique(token, &mut found);
            }
        }
    }
    found
}

fn push_unique(path: &str, into: &mut Vec<String>) {
    if !into.iter().any(|other| other == path) {
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

/// Finds `@path` tokens with a slash. An address such as `me@host/x` is not one.
fn at_tokens(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('@').filter_map(|(at, _)| {
        let is_glued = line[..at].ends_with(|c: char| c.is_alphanumeric());
        let rest = &line[at + 1..];
        let end = rest.find(|c: char| c.is_whitespace() || c == ',' || c == ')');
        let token = &rest[..end.unwrap_or(rest.len())];
        // Punctuation and quotes after the path are not part of it.
        let token = token.trim_end_matches(['`', '"', '\'', '.', ';', ':', '*']);
        let inner = token.trim_matches('/');
        (!is_glued && token.contains('/') && !inner.is_empty()).then_some(token)
    })
}
