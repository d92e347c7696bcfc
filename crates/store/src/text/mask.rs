//! Blanks frontmatter, fenced code and comments byte for byte, to produce the visible copy of a file.
//!
//! A Markdown parser finds fences and comments. Two rules differ from CommonMark because real files
//! need them. A fence that is never closed is ignored; otherwise one stray line would hide the rest of
//! a roadmap. An HTML tag does not turn the lines after it into raw HTML; otherwise a list directly
//! below `<details>` would not be a list.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr3_iter, memmem};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use super::LineSpan;

/// The number of times a text is parsed again after its unclosed fences were blanked.
const ROUNDS_MAX: usize = 8;

/// Returns a string of the same length in which hidden parts are spaces.
///
/// Borrows the bytes if nothing is hidden.
pub(super) fn visible<'a>(bytes: &'a [u8], lines: &[LineSpan]) -> Cow<'a, str> {
    let text = masked_utf8(bytes);
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut front: Vec<_> = frontmatter(text.as_bytes(), lines, start).into_iter().collect();
    if start == 0 && front.is_empty() && !needs_parser(text.as_bytes()) {
        return text;
    }
    let mut text = text.into_owned().into_bytes();
    blank(&mut text, 0..start);
    // Blank the frontmatter before parsing: nothing that the parser finds may start inside it.
    front.drain(..).for_each(|block| blank(&mut text, block));
    for range in hidden_ranges(&text, lines) {
        blank(&mut text, range);
    }
    Cow::Owned(String::from_utf8(text).expect("blanking replaces whole characters only"))
}

/// Returns the text with every byte that is not UTF-8 replaced by a question mark.
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

/// Finds a block between two `---` lines at the top of the text.
fn frontmatter(text: &[u8], lines: &[LineSpan], start: usize) -> Option<Range<usize>> {
    // An indented `---` is not a fence: it is text inside the block, or the file has no block.
    let is_fence = |line: Range<usize>| text[line].trim_ascii_end() == b"---";
    let (first, others) = lines.split_first()?;
    if !is_fence(start.min(first.end)..first.end) {
        return None;
    }
    let last = others.iter().find(|line| is_fence(line.range()))?;
    Some(first.start..last.end)
}

/// Finds fenced code and comments.
fn hidden_ranges(text: &[u8], lines: &[LineSpan]) -> Vec<Range<usize>> {
    if !needs_parser(text) {
        return Vec::new();
    }
    let mut parser_input = parser_input(text, lines);
    for _ in 0..ROUNDS_MAX {
        let found = parse(&parser_input);
        if found.unclosed.is_empty() {
            return found.hidden;
        }
        let mut bytes = parser_input.into_bytes();
        for at in found.unclosed {
            let end = bytes[at..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |n| at + n);
            blank(&mut bytes, at..end);
        }
        parser_input = String::from_utf8(bytes).expect("a fence line is blanked to its end");
    }
    // After that many rounds, ignore the remaining stray fences. Closed fences still count.
    parse(&parser_input).hidden
}

fn needs_parser(text: &[u8]) -> bool {
    let signs: [&[u8]; 3] = [b"```", b"~~~", b"<!--"];
    memchr3_iter(b'`', b'~', b'<', text).any(|at| signs.iter().any(|s| text[at..].starts_with(s)))
}

/// Returns a copy for the parser in which HTML tags at the start of a line and unclosed comments are
/// disabled.
fn parser_input(text: &[u8], lines: &[LineSpan]) -> String {
    let mut parser_input = text.to_vec();
    let last_close = memmem::rfind(text, b"-->").unwrap_or(0);
    for line in lines {
        let content = &text[line.range()];
        let at = line.start + content.len() - content.trim_ascii_start().len();
        if at < line.end && text[at] == b'<' && !text[at..].starts_with(b"<!--") {
            parser_input[at] = b' ';
        }
    }
    for at in memmem::find_iter(&text[last_close..], b"<!--") {
        parser_input[last_close + at] = b' ';
    }
    String::from_utf8(parser_input).expect("only single ASCII bytes were replaced")
}

/// The ranges that one parser run found.
#[derive(Default)]
struct MaskRanges {
    /// Closed fenced code and comments.
    hidden: Vec<Range<usize>>,
    /// Offsets of fences that no line closes.
    unclosed: Vec<usize>,
}

fn parse(parser_input: &str) -> MaskRanges {
    let mut found = MaskRanges::default();
    for (event, range) in Parser::new_ext(parser_input, Options::empty()).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                if is_closed(&parser_input[range.clone()]) {
                    found.hidden.push(range);
                } else {
                    found.unclosed.push(range.start);
                }
            }
            // The parser reports a comment over several lines as one block with an event per line.
            Event::Start(Tag::HtmlBlock) | Event::InlineHtml(_) => {
                let comments = comments(&parser_input[range.clone()]).into_iter();
                found.hidden.extend(
                    comments.map(|comment| range.start + comment.start..range.start + comment.end),
                );
            }
            _ => {}
        }
    }
    found
}

/// Finds the comments in a piece of HTML. Text beside a comment on the same line stays visible.
fn comments(html: &str) -> Vec<Range<usize>> {
    let mut comments = Vec::new();
    let mut at = 0;
    while let Some(start) = html[at..].find("<!--").map(|found| at + found) {
        // `<!-->` is a complete comment.
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
