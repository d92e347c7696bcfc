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
    let mut hidden = code(&all, body);
    hidden.extend(comments(&all, body, &hidden));
    hidden.push(0..body);
    let mut seen = all.into_bytes();
    for range in hidden {
        let kept = |byte: &u8| matches!(byte, b'\n' | b'\r');
        seen[range].iter_mut().filter(|byte| !kept(byte)).for_each(|byte| *byte = b' ');
    }
    String::from_utf8(seen).expect("whole lines and whole comments are blanked")
}

/// Finds fenced code from an offset on.
fn code(all: &str, body: usize) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut at = body;
    for line in all[body..].split_inclusive('\n') {
        lines.push((at..at + line.len(), line.trim()));
        at += line.len();
    }
    let mut found = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let end = fence(lines[index].1).and_then(|mark| {
            let closes = |line: &str| {
                line.starts_with(mark) && line.trim_start_matches(&mark[..1]).is_empty()
            };
            lines[index + 1..].iter().position(|(_, line)| closes(line)).map(|n| index + 1 + n)
        });
        match end {
            Some(end) if is_whole(&all[lines[index].0.start..lines[end].0.end]) => {
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

/// Finds comments that do not begin in code.
fn comments(all: &str, body: usize, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = body;
    while let Some(start) = all[at..].find("<!--").map(|offset| at + offset) {
        at = start + "<!--".len();
        let Some(length) = all[at..].find("-->") else { break };
        let range = start..at + length + "-->".len();
        let is_shown = !code.iter().any(|code| code.contains(&start));
        if is_shown && is_whole(&all[range.clone()]) {
            at = range.end;
            found.push(range);
        }
    }
    found
}

/// Returns whether the first task tag in a part, if any, opens a task.
fn is_whole(part: &str) -> bool {
    match (part.find("<task"), part.find("</task")) {
        (_, None) => true,
        (Some(open), Some(close)) => open < close,
        (None, Some(_)) => false,
    }
}
