//! Finds the tasks of a plan by scanning for their tags.
//!
//! Plans look like XML but are not: actions contain HTML, code and stray angle brackets. Only known
//! tag names count, an element ends at its own closing tag, and tags in fenced code are ignored. If
//! nothing is found, `### Task 1: name` headings count, and then tags inside fences.

use std::ops::Range;

use super::visible_text::full_text;
use crate::text::{Text, field, heading};

/// The tag names of task elements, including those of checkpoints.
const TAGS: [&str; 20] = [
    "name",
    "files",
    "action",
    "verify",
    "automated",
    "done",
    "read_first",
    "acceptance_criteria",
    "behavior",
    "implementation",
    "depends_on",
    "precondition",
    "what-built",
    "how-to-verify",
    "resume-signal",
    "decision",
    "context",
    "options",
    "instructions",
    "human-check",
];

/// The tag names of elements inside a `verify` element.
const IN_VERIFY: [&str; 3] = ["automated", "manual", "human-check"];

/// One task of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Name; empty if the task has none.
    pub name: String,
    /// Attributes of the `<task>` tag, in file order.
    pub attributes: Vec<(String, String)>,
    /// Elements in file order.
    pub elements: Vec<TaskElement>,
    /// Byte range of the whole task.
    pub range: Range<usize>,
    /// First line, counted from 1.
    pub line: usize,
    /// Whether the task is a `<task>` element rather than a heading.
    pub tagged: bool,
}

/// One element of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskElement {
    /// Tag name.
    pub tag: String,
    /// Trimmed content.
    pub text: String,
    /// Byte range between the tags.
    pub range: Range<usize>,
}

impl Task {
    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the text of the first element with a tag name.
    pub fn element(&self, tag: &str) -> Option<&str> {
        self.elements.iter().find(|element| element.tag == tag).map(|element| element.text.as_str())
    }

    /// Returns the `type` attribute, or `auto` if the task has none.
    pub fn kind(&self) -> &str {
        self.attribute("type").unwrap_or("auto")
    }

    /// Returns whether the task is a checkpoint, which waits for a person.
    pub fn is_checkpoint(&self) -> bool {
        self.kind().starts_with("checkpoint")
    }
}

/// Finds all tasks of a plan; `visible` is the text without code and comments.
pub(super) fn parse(text: &Text<'_>, visible: &str) -> Vec<Task> {
    let tasks = tagged_tasks(text, visible);
    if !tasks.is_empty() {
        return tasks;
    }
    let tasks = heading_tasks(text);
    if !tasks.is_empty() {
        return tasks;
    }
    tagged_tasks(text, &full_text(text.bytes()))
}

fn tagged_tasks(text: &Text<'_>, visible: &str) -> Vec<Task> {
    let mut tasks = Vec::new();
    let mut at = 0;
    while let Some(open) = find_task(visible, at) {
        let Some(tag) = open_tag(visible, open, "task") else { break };
        let next = find_task(visible, tag.end).unwrap_or(visible.len());
        let close =
            [close_tag(visible, tag.end..next, "task"), close_tag(visible, tag.end..next, "tasks")];
        let close = close.into_iter().flatten().min_by_key(|close| close.start);
        let (end, after) = close.map_or((next, next), |close| (close.start, close.end));
        let elements = elements(text, visible, tag.end..end);
        let attributes = attributes(&visible[open + "<task".len()..tag.end - 1]);
        let mut task =
            Task { attributes, elements, range: open..after, tagged: true, ..Task::default() };
        task.line = text.line_at(open) + 1;
        task.name = task.element("name").or(task.attribute("name")).unwrap_or("").to_owned();
        tasks.push(task);
        at = after.max(tag.end);
    }
    tasks
}

/// Finds the next `<task` at the start of a line or directly after another tag.
fn find_task(visible: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let open = at + visible.get(at..)?.find("<task")?;
        let before = visible[..open].trim_end_matches([' ', '\t']).as_bytes().last();
        let opens_line = before.is_none_or(|byte| matches!(byte, b'\n' | b'>'));
        if opens_line && open_tag(visible, open, "task").is_some() {
            return Some(open);
        }
        at = open + "<task".len();
    }
}

/// Returns the byte range of the opening tag at an offset, if it has that name.
fn open_tag(visible: &str, open: usize, name: &str) -> Option<Range<usize>> {
    let rest = visible.get(open..)?.strip_prefix('<')?.strip_prefix(name)?;
    if !rest.starts_with(|c: char| c == '>' || c == '/' || c.is_ascii_whitespace()) {
        return None;
    }
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate() {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(open..open + 1 + name.len() + at + 1),
            (None, b'<') => return None,
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns the bytes of the first closing tag of a name.
fn close_tag(visible: &str, within: Range<usize>, name: &str) -> Option<Range<usize>> {
    let text = visible.get(within.clone())?;
    let close = format!("</{name}");
    text.match_indices(&close).find_map(|(at, _)| {
        let rest = &text[at + close.len()..];
        let blanks = rest.len() - rest.trim_start().len();
        let start = within.start + at;
        rest.trim_start().starts_with('>').then(|| start..start + close.len() + blanks + 1)
    })
}

/// Returns the byte range of the content of the first element with a tag name.
pub(super) fn element(visible: &str, within: Range<usize>, name: &str) -> Option<Range<usize>> {
    let text = visible.get(within.clone())?;
    let open = format!("<{name}");
    let tag = text
        .match_indices(&open)
        .find_map(|(at, _)| open_tag(visible, within.start + at, name))
        .filter(|tag| tag.end <= within.end)?;
    let close = close_tag(visible, tag.end..within.end, name)?;
    Some(tag.end..close.start)
}

/// Reads the elements of a task. Tags inside an element are part of its text.
fn elements(text: &Text<'_>, visible: &str, within: Range<usize>) -> Vec<TaskElement> {
    let mut found = Vec::new();
    // Tags without a closing tag in the rest of the task, so that each is searched only once.
    let mut unclosed: Vec<&str> = Vec::new();
    let mut at = within.start;
    while let Some(offset) = visible[at..within.end].find('<') {
        let open = at + offset;
        at = open + 1;
        let is_known =
            |tag: &&str| open_tag(visible, open, tag).is_some_and(|t| t.end <= within.end);
        let Some(tag) = TAGS.into_iter().find(is_known) else { continue };
        let start = open_tag(visible, open, tag).map_or(at, |range| range.end);
        // Without a closing tag the element ends at its line; the rest belongs to other elements.
        let line_end = visible[start..within.end].find('\n').map_or(within.end, |n| start + n);
        let is_open = unclosed.contains(&tag);
        let close = if is_open { None } else { close_tag(visible, start..within.end, tag) };
        if close.is_none() && !is_open {
            unclosed.push(tag);
        }
        let (end, after) = close.map_or((line_end, line_end), |close| (close.start, close.end));
        found.push(new_element(text, tag, start..end));
        if tag == "verify" {
            let inner = IN_VERIFY
                .into_iter()
                .filter_map(|tag| Some(new_element(text, tag, element(visible, start..end, tag)?)));
            found.extend(inner);
        }
        at = after.max(start);
    }
    found
}

fn new_element(text: &Text<'_>, tag: &str, range: Range<usize>) -> TaskElement {
    TaskElement { tag: tag.to_owned(), text: text.raw(range.clone()).trim().to_owned(), range }
}

/// Reads `a="b" c='d' e`.
fn attributes(mut rest: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() && after.is_empty() {
            return found;
        }
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else {
            found.push((name.to_owned(), String::new()));
            rest = after;
            continue;
        };
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        found.push((name.to_owned(), value.to_owned()));
        rest = after;
    }
}

/// Finds `## Task 1: name` headings. Each section is a task and its fields are the elements.
fn heading_tasks(text: &Text<'_>) -> Vec<Task> {
    let headings = heading::headings(text);
    let mut tasks = Vec::new();
    for (index, found) in headings.iter().enumerate() {
        let title = text.slice(found.text.clone());
        let Some(name) = task_heading_name(title).filter(|_| (2..=4).contains(&found.level)) else {
            continue;
        };
        let last = heading::section_end(text, &headings, index);
        let start = text.lines()[found.line].start;
        let end = text.lines().get(last).map_or(text.bytes().len(), |line| line.start);
        tasks.push(Task {
            name: name.to_owned(),
            attributes: Vec::new(),
            elements: field_elements(text, found.line + 1..last),
            range: start..end,
            line: found.line + 1,
            tagged: false,
        });
    }
    tasks
}

/// Reads `Task 1: name`, `Task 1.2 - name` and `Task 3`.
fn task_heading_name(title: &str) -> Option<&str> {
    let (word, rest) = title.split_at_checked("task".len())?;
    let rest = rest.trim_start();
    if !word.eq_ignore_ascii_case("task") || !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let number =
        rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.')).unwrap_or(rest.len());
    Some(rest[number..].trim_start_matches([' ', ':', '-', '–', '—']).trim())
}

/// Reads fields such as `**Files:** …` as elements; each ends where the next field starts.
fn field_elements(text: &Text<'_>, lines: Range<usize>) -> Vec<TaskElement> {
    let labelled = lines.clone().filter_map(|line| {
        let field = field::field_at(text, line).filter(|field| field.bold)?;
        let name = text.slice(field.name.clone()).trim().to_ascii_lowercase();
        let tag = if name == "verification" { "verify" } else { name.as_str() };
        let tag = TAGS.into_iter().find(|name| *name == tag)?;
        Some((line, tag, field.value.start))
    });
    let labelled: Vec<_> = labelled.collect();
    let mut found = Vec::new();
    for (index, (_, tag, start)) in labelled.iter().enumerate() {
        let next = labelled.get(index + 1).map_or(lines.end, |(line, ..)| *line);
        let end = text.lines().get(next).map_or(text.bytes().len(), |line| line.start);
        found.push(new_element(text, tag, *start..end.max(*start)));
    }
    found
}
