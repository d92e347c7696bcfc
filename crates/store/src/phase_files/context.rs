//! Parses CONTEXT.md, the decisions of a person before planning, in both dialects.
//!
//! One dialect has blocks in tags with areas as headings, the other plain sections. Both are read
//! by their headings; a closing tag only ends its section.

use crate::text::heading::heading_at;
use crate::text::{Text, inline, list};

/// The content of a CONTEXT.md.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseContext {
    /// The decisions of the person.
    pub decisions: Vec<ContextDecision>,
    /// The matters that the agent may decide.
    pub discretion: Vec<String>,
    /// The ideas that are deferred to later phases.
    pub deferred: Vec<String>,
}

/// One decision of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextDecision {
    /// The heading of the area; empty without one.
    pub area: String,
    /// The decision, with its Markdown.
    pub text: String,
}

/// The section that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ContextSection {
    Decisions,
    Discretion,
    Deferred,
    Other,
}

/// Parses a context file.
pub fn parse_context(bytes: &[u8]) -> PhaseContext {
    let text = Text::new(bytes);
    let mut reader = ContextReader {
        context: PhaseContext::default(),
        section: ContextSection::Other,
        area: String::new(),
        level: 0,
        open: false,
    };
    for line in 0..text.lines().len() {
        let content = text.line(line);
        if let Some(found) = heading_at(&text, line) {
            reader.heading(found.level, &inline::strip_markup(text.slice(found.text)));
        } else if is_tag(content) {
            reader.tag(content.trim());
        } else if let Some(item) = list::item_at(&text, line) {
            reader.item(item.indent, text.slice(item.text));
        } else {
            reader.prose(content.trim());
        }
    }
    reader.context
}

fn is_tag(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('<') && line.ends_with('>') && !line.contains(' ')
}

/// The state of the parser between two lines.
struct ContextReader {
    context: PhaseContext,
    section: ContextSection,
    area: String,
    /// The level of the heading that opened the decisions.
    level: usize,
    /// Whether the next line may continue the last entry.
    open: bool,
}

impl ContextReader {
    fn heading(&mut self, level: usize, title: &str) {
        self.open = false;
        let lower = title.to_lowercase();
        let in_decisions =
            self.section == ContextSection::Decisions || self.section == ContextSection::Discretion;
        if lower.contains("discretion") {
            self.section = ContextSection::Discretion;
            self.level = if in_decisions && level > self.level { self.level } else { level };
        } else if lower.starts_with("deferred") {
            (self.section, self.level) = (ContextSection::Deferred, level);
        } else if in_decisions && level > self.level {
            self.section = ContextSection::Decisions;
            title.clone_into(&mut self.area);
        } else if lower.contains("decisions") {
            (self.section, self.level) = (ContextSection::Decisions, level);
            self.area.clear();
        } else if self.section != ContextSection::Deferred || level <= self.level {
            self.section = ContextSection::Other;
        }
    }

    fn tag(&mut self, tag: &str) {
        self.open = false;
        match tag {
            "<decisions>" => (self.section, self.level) = (ContextSection::Decisions, 0),
            "<deferred>" => (self.section, self.level) = (ContextSection::Deferred, 0),
            "</decisions>" | "</deferred>" => self.section = ContextSection::Other,
            _ => {}
        }
    }

    fn item(&mut self, indent: usize, text: &str) {
        if indent >= 2 && self.open {
            self.extend("\n- ", text);
        } else {
            self.push(text);
        }
    }

    fn prose(&mut self, text: &str) {
        if text.is_empty() {
            self.open = false;
        } else if self.open {
            self.extend(" ", text);
        } else if text != "---" {
            self.push(text);
        }
    }

    fn push(&mut self, text: &str) {
        if is_placeholder(text) {
            return;
        }
        let text = text.to_owned();
        match self.section {
            ContextSection::Decisions => {
                self.context.decisions.push(ContextDecision { area: self.area.clone(), text });
            }
            ContextSection::Discretion => self.context.discretion.push(text),
            ContextSection::Deferred => self.context.deferred.push(text),
            ContextSection::Other => return,
        }
        self.open = true;
    }

    fn extend(&mut self, separator: &str, text: &str) {
        let last = match self.section {
            ContextSection::Decisions => {
                self.context.decisions.last_mut().map(|decision| &mut decision.text)
            }
            ContextSection::Discretion => self.context.discretion.last_mut(),
            ContextSection::Deferred => self.context.deferred.last_mut(),
            ContextSection::Other => None,
        };
        if let Some(last) = last {
            last.push_str(separator);
            last.push_str(text);
        }
    }
}

/// Returns whether an entry says that there is none: `None` or `n/a`, also with a remark.
fn is_placeholder(text: &str) -> bool {
    let plain = inline::strip_markup(text).to_lowercase();
    let word = plain.split([' ', '.', ',', '—', '-', ':']).next().unwrap_or("");
    matches!(word, "none" | "") || plain.starts_with("n/a")
}
