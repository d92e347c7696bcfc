//! `<details>` blocks: what people fold away, usually milestones that have shipped.

use super::Text;

/// A folded block of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The index of the line with the opening tag.
    pub first: usize,
    /// The index of the line with the closing tag, or of the last line.
    pub last: usize,
    /// The text that stays visible when the block is folded.
    pub summary: String,
}

/// How many lines a summary may span.
const SUMMARY_LINES_MAX: usize = 6;

/// Finds all folded blocks in the order they open.
///
/// Only a line that starts with the tag counts: the word in running text or code does not.
pub fn folds(text: &Text<'_>) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    let mut open = Vec::new();
    for index in 0..text.lines().len() {
        let line = text.line(index).trim_start();
        if starts_with_tag(line, "<details") {
            open.push(folds.len());
            let last = text.lines().len() - 1;
            folds.push(Fold { first: index, last, summary: summary(text, index) });
        }
        let closes = starts_with_tag(line, "</details")
            || (starts_with_tag(line, "<details") && ends_fold(line));
        if closes && let Some(fold) = open.pop() {
            folds[fold].last = index;
        }
    }
    folds
}

fn starts_with_tag(line: &str, tag: &str) -> bool {
    line.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

fn ends_fold(line: &str) -> bool {
    line.to_ascii_lowercase().contains("</details")
}

fn summary(text: &Text<'_>, first: usize) -> String {
    let mut collected = String::new();
    for index in first..(first + SUMMARY_LINES_MAX).min(text.lines().len()) {
        let line = text.line(index);
        // What another fold says is not this one's summary.
        if index > first && starts_with_tag(line.trim_start(), "<details") {
            break;
        }
        collected.push_str(line);
        collected.push(' ');
        if let Some(summary) = summary_in(&collected) {
            return summary;
        }
        if ends_fold(line) {
            break;
        }
    }
    String::new()
}

fn summary_in(markup: &str) -> Option<String> {
    let lower = markup.to_ascii_lowercase();
    let start = lower.find("<summary")?;
    let inner = &markup[start..start + lower[start..].find("</summary")?];
    Some(inner.split_once('>').map_or(String::new(), |(_, inner)| without_tags(inner)))
}

fn without_tags(text: &str) -> String {
    let mut plain = String::new();
    let mut in_tag = false;
    for c in text.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            c if !in_tag => plain.push(c),
            _ => {}
        }
    }
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
