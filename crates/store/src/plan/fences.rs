//! What of a plan is meant to be seen by the task scanner: fenced code and comments are blanked.
//!
//! Unlike elsewhere a fence may be indented at will, as it stands inside elements. And a stray fence
//! must not swallow tasks: a part that closes a task it did not open is no code.

use std::ops::Range;

/// Returns the file with every byte that is no UTF-8 masked, all else shown.
pub(super) fn everything(bytes: &[u8]) -> String {
    let mut all = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        all.push_str(chunk.valid());
        all.extend(chunk.invalid().iter().map(|_| '?'));
    }
    all
}

/// Returns a text as long as the file in which code, comments and the first `body` bytes are blank.
pub(super) fn seen(bytes: &[u8], body: usize) -> String {
    let all = everything(bytes);
    let tags = TaskTags::new(&all);
    let mut hidden = code(&all, body, &tags);
    hidden.extend(comments(&all, body, &hidden, &tags));
    hidden.push(0..body);
    let mut seen = all.into_bytes();
    for range in hidden {
        let kept = |byte: &u8| matches!(byte, b'\n' | b'\r');
        seen[range].iter_mut().filter(|byte| !kept(byte)).for_each(|byte| *byte = b' ');
    }
    String::from_utf8(seen).expect("whole lines and whole comments are blanked")
}

/// Finds fenced code from an offset on.
fn code(all: &str, body: usize, tags: &TaskTags) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut at = body;
    for line in all[body..].split_inclusive('\n') {
        lines.push((at..at + line.len(), line.trim()));
        at += line.len();
    }
    // The lines that may close a fence; the others need not be looked at again for each opener.
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
            Some(end) if tags.is_whole(lines[index].0.start..lines[end].0.end) => {
                found.push(lines[index].0.start..lines[end].0.end);
                index = end + 1;
            }
            _ => index += 1,
        }
    }
    found
}

/// Returns the marks of a line that opens a fence.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let marks = &line[..line.len() - line.trim_start_matches(mark).len()];
    let info = &line[marks.len()..];
    (marks.len() >= 3 && !info.contains('`')).then_some(marks)
}

/// Finds comments that do not begin in code, which is given in file order.
fn comments(all: &str, body: usize, code: &[Range<usize>], tags: &TaskTags) -> Vec<Range<usize>> {
    let ends = places(all, "-->");
    let mut found: Vec<Range<usize>> = Vec::new();
    for start in places(all, "<!--").into_iter().filter(|start| *start >= body) {
        let inner = start + "<!--".len();
        let is_in_comment = found.last().is_some_and(|comment| start < comment.end);
        let Some(end) = first_from(&ends, inner).filter(|_| !is_in_comment) else { continue };
        let range = start..end + "-->".len();
        let before = code.partition_point(|code| code.start <= start);
        let is_shown = !code[..before].last().is_some_and(|code| code.contains(&start));
        if is_shown && tags.is_whole(range.clone()) {
            found.push(range);
        }
    }
    found
}

/// Where tasks open and close.
struct TaskTags {
    opens: Vec<usize>,
    closes: Vec<usize>,
}

impl TaskTags {
    fn new(all: &str) -> Self {
        Self { opens: places(all, "<task"), closes: places(all, "</task") }
    }

    /// Returns whether the first task tag in a part, if any, opens a task.
    fn is_whole(&self, part: Range<usize>) -> bool {
        let first = |tags: &[usize]| first_from(tags, part.start).filter(|at| *at < part.end);
        match (first(&self.opens), first(&self.closes)) {
            (_, None) => true,
            (Some(open), Some(close)) => open < close,
            (None, Some(_)) => false,
        }
    }
}

fn places(all: &str, sign: &str) -> Vec<usize> {
    all.match_indices(sign).map(|(at, _)| at).collect()
}

/// Returns the first of some ascending places that is not before an offset.
fn first_from(places: &[usize], from: usize) -> Option<usize> {
    places.get(places.partition_point(|at| *at < from)).copied()
}
