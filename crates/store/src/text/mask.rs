//! Blanks what a reader is not meant to see, byte for byte.
//!
//! Fences and comments are found by a Markdown parser. Two readings differ from CommonMark on
//! purpose, because real files need them: a fence that never closes is none (else one stray line
//! hides the rest of a roadmap), and HTML tags do not turn the lines after them into raw HTML (else
//! a list right below `<details>` is no list).

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr3_iter, memmem};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::Line;

/// How many times the text is read again because a fence in it never closes.
const ROUNDS_MAX: usize = 8;

/// Returns a string as long as the bytes in which dead parts are spaces; the bytes themselves where
/// there are none.
pub(super) fn visible<'a>(bytes: &'a [u8], lines: &[Line]) -> Cow<'a, str> {
    let text = masked_utf8(bytes);
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut dead: Vec<_> = frontmatter(text.as_bytes(), lines, start).into_iter().collect();
    if start == 0 && dead.is_empty() && !needs_parser(text.as_bytes()) {
        return text;
    }
    let mut text = text.into_owned().into_bytes();
    blank(&mut text, 0..start);
    // What a parser finds must not begin in the block.
    dead.drain(..).for_each(|block| blank(&mut text, block));
    for range in dead_ranges(&text, lines) {
        blank(&mut text, range);
    }
    Cow::Owned(String::from_utf8(text).expect("blanking replaces whole characters only"))
}

/// Returns the text with every byte that is no UTF-8 replaced by a question mark.
pub(crate) fn masked_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

fn blank(text: &mut [u8], range: Range<usize>) {
    for byte in &mut text[range] {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Finds a block between two `---` lines at the very top, where the text starts.
fn frontmatter(text: &[u8], lines: &[Line], start: usize) -> Option<Range<usize>> {
    // An indented fence is text of the block, or of a file without one.
    let is_fence = |line: Range<usize>| text[line].trim_ascii_end() == b"---";
    let (first, others) = lines.split_first()?;
    if !is_fence(start.min(first.end)..first.end) {
        return None;
    }
    let last = others.iter().find(|line| is_fence(line.range()))?;
    Some(first.start..last.end)
}

/// Finds fenced code and comments.
fn dead_ranges(text: &[u8], lines: &[Line]) -> Vec<Range<usize>> {
    if !needs_parser(text) {
        return Vec::new();
    }
    let mut probe = probe(text, lines);
    for _ in 0..ROUNDS_MAX {
        let found = parse(&probe);
        if found.unclosed.is_empty() {
            return found.dead;
        }
        let mut bytes = probe.into_bytes();
        for at in found.unclosed {
            let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
            blank(&mut bytes, at..end);
        }
        probe = String::from_utf8(bytes).expect("a fence line is blanked to its end");
    }
    // So many stray fences are no code anybody wrote; what did close still counts.
    parse(&probe).dead
}

fn needs_parser(text: &[u8]) -> bool {
    let signs: [&[u8]; 3] = [b"```", b"~~~", b"<!--"];
    memchr3_iter(b'`', b'~', b'<', text).any(|at| signs.iter().any(|s| text[at..].starts_with(s)))
}

/// Returns a copy for the parser in which tags at the start of a line, and comments that never
/// close, have lost their meaning.
fn probe(text: &[u8], lines: &[Line]) -> String {
    let mut probe = text.to_vec();
    let last_close = memmem::rfind(text, b"-->").unwrap_or(0);
    for line in lines {
        let content = &text[line.range()];
        let at = line.start + content.len() - content.trim_ascii_start().len();
        if at < line.end && text[at] == b'<' && !text[at..].starts_with(b"<!--") {
            probe[at] = b' ';
        }
    }
    for at in memmem::find_iter(&text[last_close..], b"<!--") {
        probe[last_close + at] = b' ';
    }
    String::from_utf8(probe).expect("only single ASCII bytes were replaced")
}

#[derive(Default)]
struct Found {
    dead: Vec<Range<usize>>,
    /// Where fences begin that no line closes.
    unclosed: Vec<usize>,
}

fn parse(probe: &str) -> Found {
    let mut found = Found::default();
    for (event, range) in Parser::new_ext(probe, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                if is_closed(&probe[range.clone()]) {
                    found.dead.push(range);
                } else {
                    found.unclosed.push(range.start);
                }
            }
            // A comment over several lines comes as one block with an event for each line.
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let comments = comments(&probe[range.clone()]).into_iter();
                found.dead.extend(
                    comments.map(|comment| range.start + comment.start..range.start + comment.end),
                );
            }
            _ => {}
        }
    }
    found
}

/// Finds the comments in a piece of HTML; what stands beside them on a line is text like any other.
fn comments(html: &str) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(start) = html[at..].find("<!--").map(|found| at + found) {
        // `<!-->` is a whole comment.
        let inner = start + 2;
        at = html[inner..].find("-->").map_or(html.len(), |found| inner + found + 3);
        comments.push(start..at);
    }
    comments
}

/// Returns whether the last line of a fenced block is its closing fence.
fn is_closed(block: &str) -> bool {
    let unquoted = |line: &'_ str| line.trim_start_matches([' ', '\t', '>']).trim_end().len();
    let mut lines = block.trim_end().lines();
    let (Some(first), Some(last)) = (lines.next(), lines.next_back()) else { return false };
    let opener = &first[first.len() - first.trim_start_matches([' ', '\t', '>']).len()..];
    let Some(mark) = opener.chars().next() else { return false };
    let width = opener.len() - opener.trim_start_matches(mark).len();
    let closer = last.trim_end();
    let closer = &closer[closer.len() - unquoted(last)..];
    closer.len() >= width && closer.chars().all(|c| c == mark)
}
