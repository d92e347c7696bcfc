//! Finds the current milestone of a roadmap and the phases listed under its heading.
//!
//! A milestone is named by a heading (`### 🚧 v1.1 Name (In Progress)`), by a list item (`- ✅ **v1.0
//! MVP** - Phases 1-4`) or by the summary of a collapsed block. All lines with one version describe
//! one milestone. A line that says "in progress" makes it the current one.

mod scope;

use mow_core::phase::PhaseNumber;

use super::declarations::{self, DeclarationKind, Outline};
use super::{completion_words, phase_label};
use crate::text::Text;
use crate::text::heading::section_end;
use crate::text::inline::strip_markup;

pub use scope::{MilestoneScope, ScopedMilestone, milestone_scope, shipped_ranges};

/// The milestone that the project works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentMilestone {
    /// Version, such as `v1.2`; `v1.0` if the roadmap names none.
    pub version: String,
    /// Name; `milestone` if the roadmap has none.
    pub name: String,
}

/// A phase in the checklist of the milestone that is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPhase {
    /// Phase number.
    pub number: PhaseNumber,
    /// Phase number as written.
    pub written: String,
    /// Phase name.
    pub name: String,
    /// Whether the checkbox is ticked.
    pub done: bool,
}

/// Words that may stand before the version on a milestone's line.
const LEADING: &[&str] = &[
    "milestone",
    "current",
    "active",
    "next",
    "planned",
    "upcoming",
    "previous",
    "shipped",
    "completed",
    "closed",
    "parked",
    "in",
    "progress",
    "marco",
    "hito",
];
const UNDER_WAY: &[&str] = &["in progress", "in-progress", "executing", "(active)"];
const UNDER_WAY_LEADS: &[&str] = &["current", "active", "progress"];
const ENDED: &[&str] = &["shipped", "closed", "archived", "released", "completed"];
const UNDER_WAY_SIGNS: &[char] = &['🚧', '🔄'];

/// A line that names a milestone.
struct MilestoneLine {
    version: String,
    name: String,
    /// Whether only words about milestones stand before the version.
    is_definite: bool,
    under_way: bool,
    ended: bool,
}

/// Returns the milestone in progress, else the first that has not shipped, else the newest.
pub fn current_milestone(bytes: &[u8]) -> CurrentMilestone {
    let text = Text::new(bytes);
    let mut lines = named_lines(&Outline::new(&text));
    if lines.iter().any(|line| line.is_definite) {
        lines.retain(|line| line.is_definite);
    }
    let has_ended = |version: &str| lines.iter().any(|line| line.ended && line.version == version);
    let chosen = lines
        .iter()
        .find(|line| line.under_way)
        .or_else(|| lines.iter().find(|line| !has_ended(&line.version)))
        .or_else(|| lines.iter().max_by_key(|line| version_key(&line.version)));
    let Some(chosen) = chosen else {
        let version = super::version(text.visible()).unwrap_or_else(|| "v1.0".to_owned());
        return CurrentMilestone { version, name: "milestone".to_owned() };
    };
    // If the chosen line has no name, another line with the same version may have one.
    let same = lines.iter().filter(|line| line.version == chosen.version);
    let mut names = std::iter::once(chosen).chain(same).map(|line| &line.name);
    let name = names.find(|name| !name.is_empty()).cloned();
    CurrentMilestone {
        version: chosen.version.clone(),
        name: name.unwrap_or_else(|| "milestone".to_owned()),
    }
}

/// Returns the bold checklist below the heading of the milestone in progress.
///
/// The list ends at the next heading of the same or a higher level. `None` if no heading names a
/// milestone in progress.
pub fn phases_in_progress(bytes: &[u8]) -> Option<Vec<ListedPhase>> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let index = outline.headings.iter().position(|heading| {
        let title = text.slice(heading.text.clone());
        heading.level >= 2
            && parse_line(title).is_some_and(|line| line.under_way && line.is_definite)
    })?;
    let start = outline.headings[index].line;
    let lines = start..section_end(&text, &outline.headings, index);
    let listed = declarations::find_declarations(&outline).into_iter().filter(|declaration| {
        declaration.kind == DeclarationKind::Checklist
            && declaration.bold
            && lines.contains(&declaration.line)
    });
    let phases = listed.map(|declaration| ListedPhase {
        number: declaration.number,
        written: declaration.written.into_owned(),
        name: declaration.name.into_owned(),
        done: declaration.done == Some(true),
    });
    Some(phases.collect())
}

fn named_lines(outline: &Outline<'_>) -> Vec<MilestoneLine> {
    let text = outline.text;
    let mut found: Vec<(usize, MilestoneLine)> = Vec::new();
    for heading in &outline.headings {
        let title = text.slice(heading.text.clone());
        if phase_label::parse_label(title).is_none() {
            found.extend(parse_line(title).map(|line| (heading.line, line)));
        }
    }
    for (line, item) in outline.items(0..text.lines().len()) {
        let content = text.slice(item.text.clone());
        let named = parse_line(content).filter(|named| named.is_definite && item.indent < 2);
        if let Some(mut named) = named.filter(|_| is_marked(content, item.checkbox)) {
            named.ended |= item.done() == Some(true);
            found.push((*line, named));
        }
    }
    for block in &outline.collapsed_blocks {
        if let Some(mut named) = parse_line(&block.summary).filter(|named| named.is_definite) {
            named.ended |= completion_words::summary_says_shipped(&block.summary);
            found.push((block.first_line, named));
        }
    }
    found.sort_by_key(|(line, _)| *line);
    found.into_iter().map(|(_, named)| named).collect()
}

/// Returns whether a list item about a version is about a milestone: it is bold, or has a status
/// sign or a checkbox.
fn is_marked(content: &str, tick: Option<char>) -> bool {
    tick.is_some()
        || content.contains("**")
        || content.starts_with(completion_words::is_status_sign)
}

/// Parses a line that names a version.
fn parse_line(line: &str) -> Option<MilestoneLine> {
    let version = super::version(line)?;
    let lower = line.to_lowercase();
    let at = lower.find(&version.to_lowercase())?;
    let before = lower.get(..at)?;
    let after = line.get(at + version.len()..)?;
    let leads: Vec<&str> =
        before.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()).collect();
    let leads_with = |words: &[&str]| leads.iter().any(|lead| words.contains(lead));
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let under_way =
        line.contains(UNDER_WAY_SIGNS) || says(UNDER_WAY) || leads_with(UNDER_WAY_LEADS);
    let ended = completion_words::parse_marks(line) == Some(true)
        || says(ENDED)
        || leads_with(&["previous"]);
    Some(MilestoneLine {
        name: name_after(after),
        is_definite: leads.iter().all(|lead| LEADING.contains(lead)),
        under_way: under_way && !line.contains('✅'),
        ended,
        version,
    })
}

/// Returns the name after a version, up to the end of the bold part, a parenthesis or a status
/// sign.
fn name_after(after: &str) -> String {
    let after = after.trim_start_matches([':', '-', '–', '—', ' ']);
    // In `Acme v1.0 Roadmap`, the word is the title of the document, not a name.
    let is_title = after.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("roadmap"));
    let after =
        if is_title { after[7..].trim_start_matches([':', '-', '–', '—', ' ']) } else { after };
    let bold = after.split("**").find(|part| part.contains(char::is_alphanumeric)).unwrap_or("");
    let name = strip_markup(bold.split(['(', '[']).next().unwrap_or(""));
    let name = name.split(completion_words::is_status_sign).next().unwrap_or("");
    let cut = [" — ", " – ", " -- ", " - "].iter().filter_map(|dash| {
        let at = name.rfind(dash)?;
        is_remark(&name[at + dash.len()..]).then_some(at)
    });
    let name = &name[..cut.min().unwrap_or(name.len())];
    name.trim_matches([' ', ':', '-', '–', '—', '*', ',']).to_owned()
}

/// Returns whether the text after a dash is a remark about the milestone rather than part of its
/// name.
fn is_remark(text: &str) -> bool {
    let lower = text.trim_start().to_lowercase();
    let first = lower.split(|c: char| !c.is_alphabetic()).next().unwrap_or("");
    ["phase", "phases", "fase", "fases"].contains(&first)
        || completion_words::parse_marks(text).is_some()
        || UNDER_WAY.iter().chain(ENDED).any(|word| lower.starts_with(word))
}

/// Splits a version into its numbers for comparison: v1.10 is newer than v1.9.
fn version_key(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
