//! Blanks fenced code and comments in a plan, so that the task scanner finds no tags in them.
//!
//! Unlike in [`crate::text`], a fence may have any indentation, because it stands inside elements.
//! A stray fence must not hide tasks: a range that closes a task it did not open is not code.

use std::ops::Range;

/// Returns the whole file as text of the same length; each byte that is not UTF-8 becomes `?`.
pub(super) fn full_text(bytes: &[u8]) -> String {
    let mut full = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        full.push_str(chunk.valid());
        full.extend(chunk.invalid().iter().map(|_| '?'));
    }
    full
}

/// Returns a text of the same length in which code, comments and the first `body` bytes are
/// blanked.
pub(super) fn visible_text(bytes: &[u8], body: usize) -> String {
    let full = full_text(bytes);
    let tags = TaskTags::new(&full);
    let mut hidden = code(&full, body, &tags);
    hidden.extend(comments(&full, body, &hidden, &tags));
    hidden.push(0..body);
    let mut visible = full.into_bytes();
    for range in hidden {
        let is_line_ending = |byte: &u8| matches!(byte, b'\n' | b'\r');
        visible[range]
            .iter_mut()
            .filter(|byte| !is_line_ending(byte))
            .for_each(|byte| *byte = b' ');
    }
    String::from_utf8(visible).expect("whole lines and whole comments are blanked")
}

/// Finds the fenced code after the offset `body`.
fn code(full: &str, body: usize, tags: &TaskTags) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut at = body;
    for line in full[body..].split_inclusive('\n') {
        lines.push((at..at + line.len(), line.trim()));
        at += line.len();
    }
    // Collect the lines that may close a fence once, so that no opener scans all lines again.
    let is_closer = |index: &usize| fence(lines[*index].1).is_some_and(|m| m == lines[*index].1);
    let closers: Vec<usize> = (0..lines.len()).filter(is_closer).collect();
    let mut found = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let end = fence(lines[index].1).and_then(|mark| {
            let after = closers.partition_point(|closer| *closer <= index);
            closers[after..].iter().copied().find(|closer| lines[*closer].1.starts_with(mark))
        });
        match end {
            Some(end) if tags.opens_before_closing(lines[index].0.start..lines[end].0.end) => {
                found.push(lines[index].0.start..lines[end].0.end);
                index = end + 1;
            }
            _ => index += 1,
        }
    }
    found
}

/// Returns the backticks or tildes of a line that opens a fence.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let marks = &line[..line.len() - line.trim_start_matches(mark).len()];
    let info = &line[marks.len()..];
    (marks.len() >= 3 && !info.contains('`')).then_some(marks)
}

/// Finds comments that do not start in code. `code` must be in file order.
fn comments(full: &str, body: usize, code: &[Range<usize>], tags: &TaskTags) -> Vec<Range<usize>> {
    let ends = offsets_of(full, "-->");
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in offsets_of(full, "<!--").into_iter().filter(|start| *start >= body) {
        let inner = start + "<!--".len();
        let is_in_comment = found.last().is_some_and(|comment| start < comment.end);
        let Some(end) = first_from(&ends, inner).filter(|_| !is_in_comment) else { continue };
        let range = start..end + "-->".len();
        let before = code.partition_point(|code| code.start <= start);
        let is_shown = !code[..before].last().is_some_and(|code| code.contains(&start));
        if is_shown && tags.opens_before_closing(range.clone()) {
            found.push(range);
        }
    }
    found
}

/// The offsets of all opening and closing task tags.
struct TaskTags {
    opens: Vec<usize>,
    closes: Vec<usize>,
}

impl TaskTags {
    fn new(full: &str) -> Self {
        Self { opens: offsets_of(full, "<task"), closes: offsets_of(full, "</task") }
    }

    /// Returns whether the first task tag in a range, if any, opens a task.
    fn opens_before_closing(&self, range: Range<usize>) -> bool {
        let first = |tags: &[usize]| first_from(tags, range.start).filter(|at| *at < range.end);
        match (first(&self.opens), first(&self.closes)) {
            (_, None) => true,
            (Some(open), Some(close)) => open < close,
            (None, Some(_)) => false,
        }
    }
}

fn offsets_of(full: &str, sign: &str) -> Vec<usize> {
    full.match_indices(sign).map(|(at, _)| at).collect()
}

/// Returns the first of ascending offsets that is not before `from`.
fn first_from(offsets: &[usize], from: usize) -> Option<usize> {
    offsets.get(offsets.partition_point(|at| *at < from)).copied()
}
