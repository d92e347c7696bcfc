//! Reads MILESTONES.md, the list of shipped milestones, and appends to it.
//!
//! Entries are appended and never rewritten. Start with [`parse`] and [`append`].

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::text::heading::{self, Heading};
use crate::text::{Text, field, inline, list};

/// One entry of MILESTONES.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MilestoneEntry {
    /// Version as written, such as `v1.2`.
    pub version: String,
    /// Name; empty if the heading has none.
    pub name: String,
    /// Date of shipping, `YYYY-MM-DD`; `None` while the milestone is planned or open.
    pub shipped: Option<String>,
    /// Numbers of phases, plans and tasks that the entry states.
    pub counts: MilestoneCounts,
    /// Bullets under the accomplishments.
    pub accomplishments: Vec<String>,
    /// Line of the heading, counted from 1.
    pub line: usize,
}

/// The counts of an entry; `None` if the entry does not state a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MilestoneCounts {
    /// Number of phases.
    pub phases: Option<u32>,
    /// Number of plans.
    pub plans: Option<u32>,
    /// Number of tasks.
    pub tasks: Option<u32>,
}

/// A milestone to append.
#[derive(Clone, Debug)]
pub struct ShippedMilestone<'a> {
    /// Version, such as `v1.2`.
    pub version: &'a str,
    /// Name.
    pub name: &'a str,
    /// Date of shipping, `YYYY-MM-DD`.
    pub date: &'a str,
    /// Numbers of completed phases, plans and tasks.
    pub counts: [u32; 3],
    /// One line per accomplishment.
    pub accomplishments: &'a [String],
}

/// Reads all entries in file order.
pub fn parse(bytes: &[u8]) -> Vec<MilestoneEntry> {
    let text = Text::new(bytes);
    let headings = heading::headings(&text);
    let mut milestones = Vec::new();
    for (index, heading) in headings.iter().enumerate() {
        if heading.level > 3 {
            continue;
        }
        let title = inline::strip_markup(text.slice(heading.text.clone()));
        let Some((version, rest)) = split_version(&title) else { continue };
        let lines = heading.line + 1..entry_end(&text, &headings[index + 1..], heading.level);
        milestones.push(MilestoneEntry {
            version: version.to_owned(),
            name: name_of(rest),
            shipped: shipped_in(rest).or_else(|| shipped_field(&text, lines.clone())),
            counts: counts_in(&text, lines.clone()),
            accomplishments: accomplishments(&text, lines),
            line: heading.line + 1,
        });
    }
    milestones
}

/// Appends an entry; an empty file gets its title first.
pub fn append(bytes: &[u8], shipped: &ShippedMilestone<'_>) -> Vec<u8> {
    let text = Text::new(bytes);
    let ending = text.line_ending();
    let mut entry = render(shipped);
    if !rule_would_close_frontmatter(&text) {
        entry.push_str("\n---\n");
    }
    let entry = entry.replace('\n', ending);
    if bytes.trim_ascii().is_empty() {
        return format!("# Milestones{ending}{ending}{entry}").into_bytes();
    }
    let unfinished = if bytes.ends_with(b"\n") { "" } else { ending };
    [bytes, unfinished.as_bytes(), ending.as_bytes(), entry.as_bytes()].concat()
}

/// Returns whether a `---` at the end would turn the whole file into frontmatter.
fn rule_would_close_frontmatter(text: &Text<'_>) -> bool {
    let mut lines = text.lines().iter().map(|line| text.bytes()[line.range()].trim_ascii_end());
    let first = lines.next().map(|line| line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line));
    first == Some(b"---") && !lines.any(|line| line == b"---")
}

fn render(shipped: &ShippedMilestone<'_>) -> String {
    let [phases, plans, tasks] = shipped.counts;
    let title = format!("{} {}", shipped.version, shipped.name);
    let title = inline::collapse_whitespace(&title);
    let mut bullets: String = shipped
        .accomplishments
        .iter()
        .map(|line| format!("- {}\n", inline::collapse_whitespace(line)))
        .collect();
    if bullets.is_empty() {
        bullets = "- (none recorded)\n".to_owned();
    }
    format!(
        "## {title} (Shipped: {date})\n\n\
         **Phases completed:** {phases} phases, {plans} plans, {tasks} tasks\n\n\
         **Key accomplishments:**\n{bullets}",
        date = shipped.date
    )
}

/// Splits a title after its version; signs and the word `Milestone` before the version are skipped.
fn split_version(title: &str) -> Option<(&str, &str)> {
    let start = title.trim_start_matches(|c: char| !c.is_alphanumeric());
    let start = start.strip_prefix("Milestone").map_or(start, str::trim_start);
    let digits = start.strip_prefix(['v', 'V'])?;
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let end = start.find(is_end).unwrap_or(start.len());
    let version = start[..end].trim_end_matches(['.', '-', '_']);
    Some((version, &start[version.len()..]))
}

/// Returns the name after the version, up to a remark about when or how the milestone ended.
fn name_of(rest: &str) -> String {
    let rest = rest.trim_start_matches([' ', '-', '–', '—', ':']);
    let remark = rest.match_indices('(').map(|(at, _)| at).find(|at| is_remark(&rest[*at..]));
    let name = remark.map_or(rest, |at| &rest[..at]);
    name.trim_matches(|c: char| c.is_whitespace() || "-–—:🔄✅🚧📋\u{fe0f}".contains(c)).to_owned()
}

const ENDED: [&str; 4] = ["shipped", "closed", "completed", "released"];
const OPEN: [&str; 3] = ["planned", "planning", "in progress"];

fn is_remark(parenthesis: &str) -> bool {
    // A nested parenthesis is a remark of its own and is tested separately.
    let inside = parenthesis[1..].split(['(', ')']).next().unwrap_or("").to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| inside.contains(word));
    says(&ENDED) || says(&OPEN) || first_date(&inside).is_some()
}

fn shipped_in(rest: &str) -> Option<String> {
    let lower = rest.to_lowercase();
    if OPEN.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let ended_at = ENDED.iter().filter_map(|word| lower.find(word)).min();
    let after = ended_at.map_or(lower.as_str(), |at| &lower[at..]);
    first_date(after).map(str::to_owned)
}

fn shipped_field(text: &Text<'_>, lines: Range<usize>) -> Option<String> {
    let names = ["Shipped", "Completed", "Closed"];
    let found = names.iter().find_map(|name| field::find_field(text, lines.clone(), name, true))?;
    first_date(text.slice(found.value)).map(str::to_owned)
}

/// Finds the first `YYYY-MM-DD`.
fn first_date(text: &str) -> Option<&str> {
    let is_date = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    let at = text.as_bytes().windows(10).position(is_date)?;
    text.get(at..at + 10)
}

/// Returns the line after an entry: that of the next heading of the same or a higher level.
fn entry_end(text: &Text<'_>, after: &[Heading], level: usize) -> usize {
    let next = after.iter().find(|heading| heading.level <= level);
    next.map_or(text.lines().len(), |heading| heading.line)
}

fn counts_in(text: &Text<'_>, lines: Range<usize>) -> MilestoneCounts {
    let mut names = ["Phases completed", "Phases"].iter();
    let found = names.find_map(|name| field::find_field(text, lines.clone(), name, true));
    let Some(found) = found else { return MilestoneCounts::default() };
    let value = inline::strip_markup(text.slice(found.value));
    let words: Vec<&str> = value.split_whitespace().collect();
    let before = |unit: &str| {
        let is_unit = |word: &&str| word.trim_matches([',', '.', '(', ')']).starts_with(unit);
        let at = words.iter().position(is_unit)?;
        words[at.checked_sub(1)?].trim_matches(['(', ',']).parse().ok()
    };
    MilestoneCounts { phases: before("phase"), plans: before("plan"), tasks: before("task") }
}

fn accomplishments(text: &Text<'_>, lines: Range<usize>) -> Vec<String> {
    let is_title = |line: &usize| {
        let content = inline::strip_markup(text.line(*line)).to_lowercase();
        let content = content.trim_start_matches(['#', ' ']);
        content.starts_with("key accomplishments") || content.starts_with("accomplishments")
    };
    let Some(start) = lines.clone().find(is_title) else { return Vec::new() };
    let mut found = Vec::new();
    for line in start + 1..lines.end {
        let content = text.line(line).trim();
        let is_field = field::field_at(text, line).is_some_and(|field| field.bold);
        match list::item_at(text, line) {
            Some(item) if item.indent < 2 => {
                found.push(inline::strip_markup(text.slice(item.text)).into_owned());
            }
            _ if content == "---" || content.starts_with('#') => break,
            _ if is_field && !found.is_empty() => break,
            _ => {}
        }
    }
    found
}
