//! Reads ROADMAP.md: the phases it declares, their completion and their dependencies.
//!
//! Reading takes three steps. [`declarations`] finds every line that declares a phase,
//! [`phase_groups`] groups the declarations of each phase, and [`phase_section`] reads the fields
//! below a phase's heading. A roadmap that contradicts itself is reported as uncertain; nothing is
//! guessed.

mod completion_words;
pub(crate) mod declarations;
pub(crate) mod details;
pub mod edit;
pub mod milestone;
pub(crate) mod phase_groups;
pub(crate) mod phase_label;
mod phase_name;
pub(crate) mod phase_section;
mod withdrawn;

use mow_core::roadmap::RoadmapPhase;

pub use details::{PhaseDescription, PhaseLookup, describe_phase, next_phase};
pub use withdrawn::{Withdrawal, WithdrawalKind};

use crate::text::Text;

/// The contents of one ROADMAP.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roadmap {
    /// All phases, ordered by number.
    pub entries: Vec<RoadmapEntry>,
    /// Milestones named by headings, in file order.
    pub milestones: Vec<MilestoneHeading>,
}

/// A phase with the fields of its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoadmapEntry {
    /// Number, name, completion and dependencies, as `mow-core` uses them.
    pub phase: RoadmapPhase,
    /// Goal as written; `None` if the section has none.
    pub goal: Option<String>,
    /// Dependency field without markup; `None` if the phase states no dependencies.
    pub depends_text: Option<String>,
    /// The line of the dependency field, counted from one.
    pub depends_line: Option<usize>,
    /// Why the phase must not start; `None` for a phase that is done, and for ordinary phases.
    pub withdrawn: Option<Withdrawal>,
    /// Ids in the requirements field.
    pub requirements: Vec<String>,
    /// Whether the phase's first checkbox is ticked.
    pub ticked: bool,
    /// Whether the summary list names the phase but no section describes it.
    pub lacks_details: bool,
}

/// A milestone that a heading names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MilestoneHeading {
    /// Text of the heading up to a parenthesis.
    pub heading: String,
    /// Version, such as `v1.2`.
    pub version: String,
}

/// Reads a ROADMAP.md.
pub fn parse(bytes: &[u8]) -> Roadmap {
    let text = Text::new(bytes);
    let outline = declarations::Outline::new(&text);
    let milestone_index = phase_groups::MilestoneIndex::new(&outline);
    let groups =
        phase_groups::group_by_phase(&milestone_index, declarations::find_declarations(&outline));
    Roadmap {
        entries: phase_groups::roadmap_entries(&milestone_index, &groups),
        milestones: milestones(&outline),
    }
}

fn milestones(outline: &declarations::Outline<'_>) -> Vec<MilestoneHeading> {
    let headings = outline.headings.iter().filter(|heading| heading.level >= 2);
    let named = headings.filter_map(|heading| {
        let title = outline.text.slice(heading.text.clone());
        let version = version(title)?;
        let heading = title.split('(').next().unwrap_or(title).trim().to_owned();
        Some(MilestoneHeading { heading, version })
    });
    named.collect()
}

/// Returns the first version in a text, such as `v1.2`.
fn version(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| !(c.is_alphanumeric() || c == '.'));
    words.find_map(|word| {
        let digits = word.strip_prefix(['v', 'V'])?;
        let mut parts = digits.trim_end_matches('.').splitn(2, '.');
        let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
        let (major, minor) = (parts.next()?, parts.next()?);
        (is_number(major) && is_number(minor)).then(|| format!("v{major}.{minor}"))
    })
}
