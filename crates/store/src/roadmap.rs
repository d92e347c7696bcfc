//! ROADMAP.md: which phases it declares, what is done, what depends on what.
//!
//! Reading goes in three steps: [`declare`] finds every place that names a phase, [`gather`] puts
//! the places of each phase together, [`section`] reads the fields below a phase's heading. A
//! roadmap that contradicts itself is reported as such, never guessed at.

mod declare;
mod details;
pub mod edit;
mod gather;
mod mention;
pub mod milestone;
mod section;
mod title;
mod verdict;

use mow_core::roadmap::Phase;

pub use details::{Details, Lookup, details, successor};

use crate::text::Text;

/// A roadmap as its file states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roadmap {
    /// All phases, ordered by number.
    pub entries: Vec<Entry>,
    /// The milestones that headings name, in the order of the file.
    pub milestones: Vec<Milestone>,
}

/// A phase with the words of its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What was understood.
    pub phase: Phase,
    /// The goal as written.
    pub goal: Option<String>,
    /// The dependency field as written, without markup.
    pub depends_text: Option<String>,
    /// The ids in its requirements field.
    pub requirements: Vec<String>,
    /// Whether the first box of the phase is ticked.
    pub ticked: bool,
    /// Whether the summary list names the phase and no section describes it.
    pub lacks_details: bool,
}

/// A milestone named by a heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The text of the heading up to a parenthesis.
    pub heading: String,
    /// The version, such as `v1.2`.
    pub version: String,
}

/// Reads a ROADMAP.md.
pub fn parse(bytes: &[u8]) -> Roadmap {
    let text = Text::new(bytes);
    let outline = declare::Outline::new(&text);
    let homes = gather::Milestones::new(&outline);
    let groups = gather::groups(&homes, declare::declarations(&outline));
    Roadmap { entries: gather::entries(&homes, &groups), milestones: milestones(&outline) }
}

fn milestones(outline: &declare::Outline<'_>) -> Vec<Milestone> {
    let headings = outline.headings.iter().filter(|heading| heading.level >= 2);
    let named = headings.filter_map(|heading| {
        let title = outline.text.slice(heading.text.clone());
        let version = version(title)?;
        let heading = title.split('(').next().unwrap_or(title).trim().to_owned();
        Some(Milestone { heading, version })
    });
    named.collect()
}

/// Returns the first version a text names: `v1.2`.
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
