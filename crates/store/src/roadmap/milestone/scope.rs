//! Which milestone each phase belongs to, and which milestones are current: the scope of a run.
//!
//! A phase belongs to the milestone of the heading or collapsed block around it, of its milestone
//! column, or of the list item that names it (`- 🚧 **v1.1 Next** - Phases 5-6`).

use std::collections::BTreeMap;

use mow_core::depends_on;
use mow_core::phase::PhaseNumber;

use super::{LEADING, MilestoneLine, is_marked, parse_line};
use crate::roadmap::completion_words;
use crate::roadmap::declarations::{self, Outline};
use crate::roadmap::phase_groups::{self, MilestoneIndex, PhaseGroup};
use crate::roadmap::phase_label;
use crate::text::Text;

/// The milestones of a roadmap and their phases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MilestoneScope {
    /// The milestones, in file order, each once.
    pub milestones: Vec<ScopedMilestone>,
    /// The milestone of each phase, by number and numbering block; phases without one are missing.
    of_phase: BTreeMap<(PhaseNumber, usize), String>,
}

/// A milestone, as several lines of a roadmap describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedMilestone {
    /// The version or number: `v1.2`, `Milestone 3`.
    pub key: String,
    /// The name; empty if there is none.
    pub name: String,
    /// Whether a line says that the milestone is in progress.
    pub under_way: bool,
    /// Whether a line says that the milestone has ended.
    pub ended: bool,
}

impl MilestoneScope {
    /// Returns the milestone of a phase.
    pub fn of_phase(&self, number: PhaseNumber, block: usize) -> Option<&str> {
        self.of_phase.get(&(number, block)).map(String::as_str)
    }

    /// Returns the current milestones: those in progress, else the first that has not ended and has
    /// one of the open phases. Empty if that is not clear.
    pub fn current(&self, open: &[(PhaseNumber, usize)]) -> Vec<String> {
        let has_phase =
            |own: &&ScopedMilestone| self.of_phase.values().any(|milestone| *milestone == own.key);
        let under_way = self.milestones.iter().filter(|own| own.under_way && !own.ended);
        let under_way: Vec<_> = under_way.collect();
        if !under_way.is_empty() {
            let is_clear = under_way.iter().any(has_phase);
            let keys = under_way.iter().map(|own| own.key.clone());
            return if is_clear { keys.collect() } else { Vec::new() };
        }
        let has_open = |own: &&ScopedMilestone| {
            open.iter().any(|(number, block)| self.of_phase(*number, *block) == Some(&own.key))
        };
        let next = self.milestones.iter().find(|own| !own.ended && has_open(own));
        next.map(|own| own.key.clone()).into_iter().collect()
    }

    /// Finds a milestone by its version, number or name, ignoring case.
    pub fn find(&self, wanted: &str) -> Option<&ScopedMilestone> {
        let wanted = wanted.trim().to_lowercase();
        let is_meant = |own: &&ScopedMilestone| {
            let key = own.key.to_lowercase();
            let number = key.strip_prefix("milestone ").or_else(|| key.strip_prefix('v'));
            key == wanted || number == Some(wanted.as_str()) || own.name.to_lowercase() == wanted
        };
        self.milestones.iter().find(is_meant)
    }
}

/// Reads the milestones of a roadmap and the phases of each.
pub fn milestone_scope(bytes: &[u8]) -> MilestoneScope {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let index = MilestoneIndex::new(&outline);
    let groups = phase_groups::group_by_phase(&index, declarations::find_declarations(&outline));
    let lines = milestone_lines(&outline);
    let numbers: Vec<_> = groups.iter().map(|group| group.number).collect();
    let listed: Vec<_> = lines.iter().map(|(_, title, _)| listed_phases(title, &numbers)).collect();
    let home = |group: &PhaseGroup<'_>| {
        let mut own: Vec<_> = group.declarations.iter().collect();
        own.sort_by_key(|declaration| declaration.kind);
        let around = own.iter().find_map(|declaration| {
            let line = index.at(declaration.line)?;
            lines
                .iter()
                .find(|(at, ..)| *at == line)
                .map(|(.., milestone)| milestone.version.clone())
        });
        let column = || {
            let cell = own.iter().find_map(|declaration| declaration.milestone.as_deref())?;
            let cell = parse_milestone(cell)?.version;
            lines.iter().any(|(.., milestone)| milestone.version == cell).then_some(cell)
        };
        let in_list = || {
            let at = listed.iter().position(|phases| phases.contains(&group.number))?;
            Some(lines[at].2.version.clone())
        };
        around.or_else(column).or_else(in_list)
    };
    let of_phase =
        groups.iter().filter_map(|group| Some(((group.number, group.block), home(group)?)));
    let of_phase = of_phase.collect();
    MilestoneScope { of_phase, milestones: joined(lines) }
}

/// Joins the lines about each milestone.
fn joined(lines: Vec<(usize, String, MilestoneLine)>) -> Vec<ScopedMilestone> {
    let mut milestones: Vec<ScopedMilestone> = Vec::new();
    for (_, _, MilestoneLine { version, name, under_way, ended, .. }) in lines {
        match milestones.iter_mut().find(|own| own.key == version) {
            Some(own) => {
                own.under_way |= under_way;
                own.ended |= ended && !under_way;
                if own.name.is_empty() {
                    own.name = name;
                }
            }
            None => milestones.push(ScopedMilestone { key: version, name, under_way, ended }),
        }
    }
    milestones
}

/// Returns the headings, list items and summaries that name a milestone, with their lines.
fn milestone_lines(outline: &Outline<'_>) -> Vec<(usize, String, MilestoneLine)> {
    let text = outline.text;
    let mut found = Vec::new();
    let mut add = |line: usize, title: &str, ended: bool| {
        let milestone = parse_milestone(title).filter(|milestone| milestone.is_definite);
        if let Some(mut milestone) = milestone {
            milestone.ended |= ended;
            found.push((line, title.to_owned(), milestone));
        }
    };
    for heading in outline.headings.iter().filter(|heading| heading.level >= 2) {
        let title = text.slice(heading.text.clone());
        if phase_label::parse_label(title).is_none() {
            add(heading.line, title, false);
        }
    }
    for (line, item) in outline.items(0..text.lines().len()) {
        let content = text.slice(item.text.clone());
        if item.indent < 2 && is_marked(content, item.checkbox) {
            add(*line, content, item.done() == Some(true));
        }
    }
    for block in &outline.collapsed_blocks {
        let ended = completion_words::summary_says_shipped(&block.summary);
        add(block.first_line, &block.summary, ended);
    }
    found.sort_by_key(|(line, ..)| *line);
    found
}

/// Parses a line that names a version or a numbered milestone.
fn parse_milestone(line: &str) -> Option<MilestoneLine> {
    parse_line(line).filter(|own| own.is_definite).or_else(|| parse_numbered(line))
}

/// Parses `Milestone 2: Name (in progress)`.
fn parse_numbered(line: &str) -> Option<MilestoneLine> {
    let lower = line.to_lowercase();
    let at = lower.find("milestone ")?;
    let after = line.get(at + "milestone ".len()..)?;
    let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let leads = lower[..at].split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    if digits == 0 || !leads.into_iter().all(|lead| LEADING.contains(&lead)) {
        return None;
    }
    // The words for the state are the same as on a line with a version.
    let stand_in = format!("{}v1.0{}", &line[..at], &after[digits..]);
    let version = format!("Milestone {}", &after[..digits]);
    Some(MilestoneLine { version, ..parse_line(&stand_in)? })
}

/// Returns the phases that a line about a milestone lists: `Phases 5-6 (in progress)`.
fn listed_phases(title: &str, numbers: &[PhaseNumber]) -> Vec<PhaseNumber> {
    let lower = title.to_ascii_lowercase();
    let Some(at) = lower.find("phase").or_else(|| lower.find("fase")) else { return Vec::new() };
    let list = title[at..].split([')', '(', ';']).next().unwrap_or("");
    let nobody = PhaseNumber::whole(u32::MAX);
    let context = depends_on::DependencyContext {
        phase: &nobody,
        block_phases: numbers,
        milestone_phases: &[],
    };
    depends_on::parse(&list.replace('*', ""), context)
}

/// Returns the ranges of phases that lines about shipped milestones name: `Phases 1-4 (shipped)`.
pub fn shipped_ranges(bytes: &[u8]) -> Vec<(PhaseNumber, PhaseNumber)> {
    let text = Text::new(bytes);
    let outline = Outline::new(&text);
    let lines = milestone_lines(&outline);
    let shipped = lines.iter().filter(|(.., own)| own.ended && !own.under_way);
    let ranges = shipped.filter_map(|(_, title, _)| {
        let lower = title.to_ascii_lowercase();
        let at = lower.find("phase").or_else(|| lower.find("fase"))?;
        let list = title[at..].split([')', '(', ';']).next()?;
        let named = depends_on::named_phases(&list.replace('*', ""), &[]);
        Some((*named.first()?, *named.last()?))
    });
    ranges.collect()
}

#[cfg(test)]
mod tests;
