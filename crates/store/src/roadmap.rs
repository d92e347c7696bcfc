//! ROADMAP.md: which phases it declares, what is done, what depends on what.
//!
//! Reading goes in three steps: [`declare`] finds every place that names a phase, [`gather`] puts
//! the places of each phase together, [`section`] reads the fields below a phase's heading. A
//! roadmap that contradicts itself is reported as such, never guessed at.

mod declare;
mod gather;
mod mention;
mod section;
mod title;
mod verdict;

use mow_core::roadmap::Phase;

use crate::text::Text;

/// Reads all phases, ordered by number.
pub fn parse_phases(bytes: &[u8]) -> Vec<Phase> {
    let text = Text::new(bytes);
    let outline = declare::Outline::new(&text);
    let groups = gather::groups(&outline, declare::declarations(&outline));
    gather::phases(&outline, &groups)
}
