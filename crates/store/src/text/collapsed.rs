//! Finds `<details>` blocks, which people use to collapse milestones that have shipped.

use super::Text;

/// The lines of one `<details>` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollapsedBlock {
    /// Index of the line with the opening tag.
    pub first_line: usize,
    /// Index of the line with the closing tag; the file's last line if the block is never closed.
    pub last_line: usize,
    /// Text of the `<summary>` element without tags; empty if there is none.
    pub summary: String,
}

/// The number of lines searched for the end of a summary.
const SUMMARY_LINES_MAX: usize = 6;

/// Finds all `<details>` blocks in the order they open.
///
/// Only a line that starts with the tag opens a block; the tag inside running text does not.
pub fn collapsed_blocks(text: &Text<'_>) -> Vec<CollapsedBlock> {
    let mut blocks: Vec<CollapsedBlock> = Vec::new();
    let mut open = Vec::new();
    for index in 0..text.lines().len() {
        let line = text.line(index).trim_start();
        if starts_with_tag(line, "<details") {
            open.push(blocks.len());
            let last = text.lines().len() - 1;
            blocks.push(CollapsedBlock {
                first_line: index,
                last_line: last,
                summary: summary(text, index),
            });
        }
        let closes = starts_with_tag(line, "</details")
            || (starts_with_tag(line, "<details") && closes_block(line));
        if closes && let Some(innermost) = open.pop() {
            blocks[innermost].last_line = index;
        }
    }
    blocks
}

fn starts_with_tag(line: &str, tag: &str) -> bool {
    line.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

fn closes_block(line: &str) -> bool {
    line.to_ascii_lowercase().contains("</details")
}

fn summary(text: &Text<'_>, first: usize) -> String {
    let mut collected = String::new();
    for index in first..(first + SUMMARY_LINES_MAX).min(text.lines().len()) {
        let line = text.line(index);
        // The summary of a nested block does not belong to this block.
        if index > first && starts_with_tag(line.trim_start(), "<details") {
            break;
        }
        collected.push_str(line);
        collected.push(' ');
        if let Some(summary) = summary_in(&collected) {
            return summary;
        }
        if closes_block(line) {
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
