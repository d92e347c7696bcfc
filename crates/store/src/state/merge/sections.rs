//! Splits a document into sections and lines for merging, and renders it again.

use super::{LineKey, MergeLine, items};
use crate::text::Text;
use crate::text::heading::headings;

/// Titles of sections in which a plain `Name: value` is a field.
const POSITIONS: [&str; 5] =
    ["current position", "position", "session continuity", "session", "current state"];

/// The path of titles to a section, and its index among sections with the same path.
pub(super) type SectionName = (Vec<String>, usize);

/// A document as a list of sections. The first section is the text before all headings.
#[derive(Clone)]
pub(super) struct SectionedDocument<'a> {
    pub(super) sections: Vec<(SectionName, SectionBody<'a>)>,
}

/// One section without its sub-sections.
#[derive(Clone)]
pub(super) struct SectionBody<'a> {
    /// Line of the heading; empty for the first section.
    pub(super) heading: &'a [u8],
    pub(super) items: Vec<MergeLine<'a>>,
    /// Whether the section is left out of the result.
    pub(super) removed: bool,
    /// Whether lines of the other side were inserted, so that a blank line may be missing at the
    /// end.
    pub(super) grown: bool,
}

impl<'a> SectionedDocument<'a> {
    pub(super) fn new(text: &Text<'a>) -> Self {
        let headings = headings(text);
        let end_of = |next: usize| headings.get(next).map_or(text.lines().len(), |h| h.line);
        let first = SectionBody {
            heading: b"",
            items: items(text, 0..end_of(0), true),
            removed: false,
            grown: false,
        };
        let mut sections = vec![((Vec::new(), 0), first)];
        let mut above: Vec<(usize, String)> = Vec::new();
        for (index, heading) in headings.iter().enumerate() {
            let title = text.slice(heading.text.clone()).to_lowercase();
            let is_position = POSITIONS.contains(&title.as_str());
            above.retain(|(level, _)| *level < heading.level);
            above.push((heading.level, title));
            let path: Vec<_> = above.iter().map(|(_, title)| title.clone()).collect();
            let count = sections.iter().filter(|((other, _), _)| *other == path).count();
            let body = SectionBody {
                heading: &text.bytes()[text.lines()[heading.line].range_with_ending()],
                items: items(text, heading.line + 1..end_of(index + 1), is_position),
                removed: false,
                grown: false,
            };
            sections.push(((path, count), body));
        }
        Self { sections }
    }

    pub(super) fn body(&self, name: &SectionName) -> Option<&SectionBody<'a>> {
        self.sections.iter().find(|(other, _)| other == name).map(|(_, body)| body)
    }

    /// Inserts the sections of another document that this one lacks, each after its predecessor
    /// there.
    pub(super) fn adopt(
        &mut self,
        other: &Self,
        is_wanted: impl Fn(&SectionName, &SectionBody<'a>) -> bool,
    ) {
        let mut anchor = 0;
        for (name, body) in &other.sections {
            if let Some(at) = self.sections.iter().position(|(own, _)| own == name) {
                anchor = at;
            } else if is_wanted(name, body) {
                anchor += 1;
                let body = SectionBody { grown: true, ..body.clone() };
                self.sections.insert(anchor, (name.clone(), body));
            }
        }
    }

    /// Renders the document; blank lines between lines and sections are kept.
    pub(super) fn render(&self, ending: &str) -> Vec<u8> {
        let mut written: Vec<u8> = Vec::new();
        let end_line = |written: &mut Vec<u8>| {
            if !written.is_empty() && !written.ends_with(b"\n") {
                written.extend_from_slice(ending.as_bytes());
            }
        };
        let mut was_grown = false;
        for (_, body) in self.sections.iter().filter(|(_, body)| !body.removed) {
            end_line(&mut written);
            let is_apart =
                written.is_empty() || written.ends_with(b"\n\n") || written.ends_with(b"\n\r\n");
            if !is_apart && (was_grown || body.grown && !body.heading.is_empty()) {
                written.extend_from_slice(ending.as_bytes());
            }
            was_grown = body.grown;
            written.extend_from_slice(body.heading);
            for item in &body.items {
                end_line(&mut written);
                written.extend_from_slice(item.bytes);
            }
        }
        written
    }
}

impl<'a> SectionBody<'a> {
    /// Returns whether two versions of a section have the same lines, ignoring blank lines.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let lines = |body: &Self| {
            let filled = body.items.iter().filter(|item| !item.is_blank());
            filled.map(|item| item.bytes.trim_ascii_end().to_vec()).collect::<Vec<_>>()
        };
        lines(self) == lines(other)
    }

    /// Returns this section's version of a line.
    pub(super) fn find(&self, item: &MergeLine<'_>) -> Option<&MergeLine<'a>> {
        self.items.iter().find(|own| own.key == item.key)
    }

    pub(super) fn position(&self, item: &MergeLine<'_>) -> Option<usize> {
        self.items.iter().position(|own| own.key == item.key)
    }

    /// Inserts a line of the other side after a line that both have, and after the lines that this
    /// side added there. Without an anchor the line is inserted first. Returns its index.
    pub(super) fn insert(
        &mut self,
        after: Option<usize>,
        item: &MergeLine<'a>,
        apart: bool,
        theirs: &Self,
    ) -> usize {
        let mut at = after.map_or(0, |after| after + 1);
        let mut is_apart = !apart || after.is_none();
        let skips_blank = apart || after.is_none();
        while skips_blank && self.items.get(at).is_some_and(MergeLine::is_blank) {
            (at, is_apart) = (at + 1, true);
        }
        let is_ours = |own: &MergeLine<'_>| !own.is_blank() && theirs.find(own).is_none();
        while self.items.get(at).is_some_and(is_ours) {
            at += 1;
        }
        if !is_apart && at > 0 {
            let blank = MergeLine { key: (LineKey::Line(Vec::new()), usize::MAX), bytes: b"\n" };
            self.items.insert(at, blank);
            at += 1;
        }
        self.items.insert(at, item.clone());
        self.grown = true;
        at
    }
}
