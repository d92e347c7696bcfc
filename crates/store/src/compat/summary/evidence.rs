//! Extracts the evidence in a summary: its self-check, its commits, and the files it mentions.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::frontmatter::{Frontmatter, Value};
use crate::text::heading::{self, Heading};
use crate::text::{Text, inline, list, table};
use crate::{frontmatter_values, sections};

/// The result of a summary's self-check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelfCheck {
    /// The self-check reports success.
    Passed,
    /// The self-check reports a failure.
    Failed,
    /// The summary has no self-check, or it reports neither.
    NotFound,
}

impl SelfCheck {
    /// Returns the word that commands print.
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotFound => "not_found",
        }
    }
}

/// Reads the self-check: from an explicit line, or else from the words in its section.
pub(super) fn self_check(text: &Text<'_>) -> SelfCheck {
    let headings = heading::headings(text);
    let is_named = |title: &str| {
        let title = title.to_lowercase().replace('-', " ");
        title.starts_with("self check")
    };
    let explicit = (0..text.lines().len()).find_map(|line| {
        let content = inline::strip_markup(text.line(line).trim_start().trim_start_matches('#'));
        is_named(&content).then(|| parse_result_word(&content)).flatten()
    });
    if let Some(result) = explicit {
        return result;
    }
    let older = |title: &str| {
        let title = title.to_lowercase();
        title.starts_with("verification") || title.starts_with("quality check")
    };
    let section = sections::find(text, &headings, is_named)
        .or_else(|| sections::find(text, &headings, older));
    section.map_or(SelfCheck::NotFound, |lines| section_result(text, lines))
}

/// Returns the result that the first matching word means.
fn parse_result_word(line: &str) -> Option<SelfCheck> {
    line.split(|c: char| !c.is_alphanumeric()).find_map(|word| {
        match word.to_ascii_lowercase().as_str() {
            "pass" | "passed" => Some(SelfCheck::Passed),
            "fail" | "failed" => Some(SelfCheck::Failed),
            _ => None,
        }
    })
}

fn section_result(text: &Text<'_>, lines: Range<usize>) -> SelfCheck {
    let mut result = SelfCheck::NotFound;
    for line in lines {
        let content = inline::strip_markup(text.line(line)).to_lowercase();
        if says_failed(&content) {
            return SelfCheck::Failed;
        }
        let marks = ["✓", "✅", "[x]", "pass", "all checks", "success", "found:"];
        if marks.iter().any(|mark| content.contains(mark)) {
            result = SelfCheck::Passed;
        }
    }
    result
}

/// Returns whether a line reports a failure; `0 failed` and `no failures` do not.
fn says_failed(line: &str) -> bool {
    if line.contains(['✗', '❌']) {
        return true;
    }
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    words.iter().enumerate().any(|(at, word)| {
        let is_bad =
            matches!(*word, "fail" | "failed" | "fails" | "failing" | "incomplete" | "blocked");
        let before = at.checked_sub(1).map(|at| words[at]);
        is_bad
            && !matches!(
                before,
                Some("0" | "no" | "zero" | "not" | "never" | "without" | "previously")
            )
    })
}

/// Collects the commits that a summary lists.
pub(super) fn commits(text: &Text<'_>, front: Option<&Frontmatter>) -> Vec<String> {
    let mut found = DistinctWords::default();
    for key in ["commits", "commit"] {
        if let Some(value) = front.and_then(|front| frontmatter_values::value_at(front, key)) {
            collect_values(value, &mut found);
        }
    }
    let headings = heading::headings(text);
    let mut section_end = 0;
    let mut sections = commit_sections(text, &headings).peekable();
    let columns = commit_columns(text);
    for line in 0..text.lines().len() {
        let content = text.line(line);
        while let Some(lines) = sections.next_if(|lines| lines.start <= line) {
            section_end = section_end.max(lines.end);
        }
        if let Some(cell) = columns.get(&line) {
            collect(text.slice(cell.clone()), true, &mut found);
        } else if line < section_end {
            collect(content, false, &mut found);
        } else if list::item_at(text, line).is_some() || opens_with_label(content) {
            collect_after_word(content, &mut found);
        }
    }
    found.words
}

/// Distinct words in the order of their first occurrence.
#[derive(Default)]
struct DistinctWords {
    words: Vec<String>,
    seen: HashSet<String>,
}

impl DistinctWords {
    fn push(&mut self, word: &str) {
        if !self.seen.contains(word) {
            self.seen.insert(word.to_owned());
            self.words.push(word.to_owned());
        }
    }
}

/// Returns whether a line starts in bold, or with the word `commit`.
fn opens_with_label(line: &str) -> bool {
    let word = line.trim_start();
    word.starts_with("**") || word.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("commit"))
}

fn commit_sections(text: &Text<'_>, headings: &[Heading]) -> impl Iterator<Item = Range<usize>> {
    headings.iter().enumerate().filter_map(|(index, heading)| {
        let title = text.slice(heading.text.clone()).to_lowercase();
        let lines = heading.line + 1..heading::section_end(text, headings, index);
        title.contains("commit").then_some(lines)
    })
}

/// Returns the cells of all commit columns by line.
fn commit_columns(text: &Text<'_>) -> HashMap<usize, Range<usize>> {
    let mut cells = HashMap::new();
    for table in table::tables(text, 0..text.lines().len()) {
        let names = ["Commit", "Commits", "Hash", "Commit Hash", "SHA"];
        let Some(column) = table.column(text, &names) else { continue };
        cells.extend(
            table.rows.iter().filter_map(|row| Some((row.line, row.cells.get(column)?.clone()))),
        );
    }
    cells
}

/// Collects hashes after a label such as `Commit: 1a2b3c4` or `Committed in: …`.
fn collect_after_word(line: &str, into: &mut DistinctWords) {
    let lower = line.to_ascii_lowercase();
    let label = ["commit:", "commits:", "commit**:", "commits**:", "committed in:", "commit hash:"];
    if let Some(at) = label.iter().filter_map(|label| lower.find(label)).min() {
        collect(&line[at..], false, into);
    }
}

/// Collects hashes. A hash of digits only counts in backticks or in a commit column.
fn collect(text: &str, digits_count: bool, into: &mut DistinctWords) {
    let mut before = ' ';
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/');
    for piece in text.split_inclusive(|c: char| !is_word(c)) {
        let word = piece.trim_end_matches(|c: char| !is_word(c));
        let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
        if is_hash(word) && (has_letter || digits_count || before == '`') {
            into.push(word);
        }
        before = piece.chars().next_back().unwrap_or(' ');
    }
}

fn collect_values(value: &Value, into: &mut DistinctWords) {
    match value {
        Value::Null => {}
        Value::Scalar(text) => {
            let words = text.split(|c: char| !c.is_alphanumeric());
            words.filter(|word| is_hash(word)).for_each(|word| into.push(word));
        }
        Value::List(items) => items.iter().for_each(|item| collect_values(item, into)),
        Value::Map(map) => {
            for (key, value) in map {
                if is_hash(key) {
                    into.push(key);
                }
                if value.as_map().is_some() || matches!(key.as_str(), "hash" | "sha" | "commit") {
                    collect_values(value, into);
                }
            }
        }
    }
}

fn is_hash(word: &str) -> bool {
    (7..=40).contains(&word.len()) && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns the files that a summary mentions: paths in backticks and after labels such as
/// `Created:`.
pub fn mentioned_files(bytes: &[u8]) -> Vec<String> {
    let text = Text::new(bytes);
    let mut found = DistinctWords::default();
    for line in 0..text.lines().len() {
        let content = text.line(line);
        let coded = content.split('`').skip(1).step_by(2).map(str::trim);
        let coded = coded.filter(|token| has_extension(token));
        for token in coded.chain(after_verbs(content)) {
            let is_path = token.contains('/')
                && !token.starts_with("http")
                && !token.contains(char::is_whitespace);
            if is_path {
                found.push(token);
            }
        }
    }
    found.words
}

fn has_extension(token: &str) -> bool {
    token.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=10).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn after_verbs(line: &str) -> impl Iterator<Item = &str> {
    const VERBS: [&str; 5] = ["Created:", "Modified:", "Added:", "Updated:", "Edited:"];
    VERBS.into_iter().filter_map(|verb| {
        let (_, after) = line.split_once(verb)?;
        let token = after.trim_start_matches('*').split_whitespace().next()?;
        Some(token.trim_matches(['`', ',', ';', '(', ')']))
    })
}
