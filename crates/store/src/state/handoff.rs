//! Writes the handoff note at the end of STATE.md when a session's context window is full.
//!
//! The file has at most one note, that of the last session, so that repeated stops do not add
//! notes.

#[cfg(test)]
mod tests;

use crate::text::Text;
use crate::text::heading::{headings, section_end};
use crate::text::splice::{Splice, apply};

const TITLE: &str = "Context Window Handoff";

/// Writes the note of a session; `None` if the file already has this session's note.
pub fn write_note(bytes: &[u8], date: &str, session: &str, words: &str) -> Option<Vec<u8>> {
    let text = Text::new(bytes);
    let ending = text.line_ending();
    let mark = format!("Session: {session}");
    let lines = [&format!("### {TITLE} ({date})"), "", words, "", &mark, ""];
    let new = lines.join(ending);
    let headings = headings(&text);
    let old = headings.iter().position(|heading| text.raw(heading.text.clone()).starts_with(TITLE));
    let Some(old) = old else {
        let gap = match bytes {
            [] => "",
            _ if !bytes.ends_with(b"\n") => &[ending, ending].concat(),
            _ if bytes.ends_with([ending, ending].concat().as_bytes()) => "",
            _ => ending,
        };
        return Some([bytes, gap.as_bytes(), new.as_bytes()].concat());
    };
    let lines = headings[old].line..section_end(&text, &headings, old);
    if lines.clone().any(|line| text.line(line).trim() == mark) {
        return None;
    }
    let start = text.lines()[lines.start].start;
    let end = text.lines().get(lines.end).map_or(bytes.len(), |line| line.start);
    let gap = if end < bytes.len() { ending } else { "" };
    Some(apply(bytes, vec![Splice::replace(start..end, new + gap)]))
}
