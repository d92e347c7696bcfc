//! CONTEXT.md: what a person decided before planning, in both dialects.
//!
//! One dialect has tagged blocks with areas as headings, the other plain sections. Both are read by
//! their headings; the tags only end what they hold.

use crate::text::heading::heading_at;
use crate::text::{Text, inline, list};

/// What a context file settles, leaves open and puts off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// What is decided.
    pub decisions: Vec<Decision>,
    /// What the agent may decide.
    pub discretion: Vec<String>,
    /// What is for later.
    pub deferred: Vec<String>,
}

/// One decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The area it stands under; empty without one.
    pub area: String,
    /// What is decided, markup kept.
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Decisions,
    Discretion,
    Deferred,
    Other,
}

/// Reads a context file.
pub fn parse_context(bytes: &[u8]) -> Context {
    let text = Text::new(bytes);
    let mut reader = Reader {
        context: Context::default(),
        part: Part::Other,
        area: String::new(),
        level: 0,
        open: false,
    };
    for line in 0..text.lines().len() {
        let content = text.line(line);
        if let Some(found) = heading_at(&text, line) {
            reader.heading(found.level, &inline::plain(text.slice(found.text)));
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

struct Reader {
    context: Context,
    part: Part,
    area: String,
    /// The level of the heading that opened the decisions.
    level: usize,
    /// Whether the last entry may go on.
    open: bool,
}

impl Reader {
    fn heading(&mut self, level: usize, title: &str) {
        self.open = false;
        let lower = title.to_lowercase();
        let in_decisions = self.part == Part::Decisions || self.part == Part::Discretion;
        if lower.contains("discretion") {
            self.part = Part::Discretion;
            self.level = if in_decisions && level > self.level { self.level } else { level };
        } else if lower.starts_with("deferred") {
            (self.part, self.level) = (Part::Deferred, level);
        } else if in_decisions && level > self.level {
            self.part = Part::Decisions;
            title.clone_into(&mut self.area);
        } else if lower.contains("decisions") {
            (self.part, self.level) = (Part::Decisions, level);
            self.area.clear();
        } else if self.part != Part::Deferred || level <= self.level {
            self.part = Part::Other;
        }
    }

    fn tag(&mut self, tag: &str) {
        self.open = false;
        match tag {
            "<decisions>" => (self.part, self.level) = (Part::Decisions, 0),
            "<deferred>" => (self.part, self.level) = (Part::Deferred, 0),
            "</decisions>" | "</deferred>" => self.part = Part::Other,
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
        match self.part {
            Part::Decisions => {
                self.context.decisions.push(Decision { area: self.area.clone(), text });
            }
            Part::Discretion => self.context.discretion.push(text),
            Part::Deferred => self.context.deferred.push(text),
            Part::Other => return,
        }
        self.open = true;
    }

    fn extend(&mut self, joint: &str, text: &str) {
        let last = match self.part {
            Part::Decisions => self.context.decisions.last_mut().map(|decision| &mut decision.text),
            Part::Discretion => self.context.discretion.last_mut(),
            Part::Deferred => self.context.deferred.last_mut(),
            Part::Other => None,
        };
        if let Some(last) = last {
            last.push_str(joint);
            last.push_str(text);
        }
    }
}

/// `None`, alone or with a remark, says that there is nothing.
fn is_placeholder(text: &str) -> bool {
    let plain = inline::plain(text).to_lowercase();
    let word = plain.split([' ', '.', ',', '—', '-', ':']).next().unwrap_or("");
    matches!(word, "none" | "") || plain.starts_with("n/a")
}
