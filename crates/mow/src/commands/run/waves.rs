//! Shows the waves of a run before it starts, and the phases that change the same files.

use mow_core::lead::PhaseSpec;
use mow_engine::lead::PhaseSelection;

use super::live_view;
use crate::commands::plural::counted;
use crate::terminal::{BOLD, YELLOW, styled};

/// The most phases named per wave, and the most pairs of conflicting phases listed.
const NAMED_MAX: usize = 8;

/// Prints which phases run in parallel.
pub(super) fn show(selection: &PhaseSelection, force: bool) {
    let may_start = selection.phases.iter().filter(|spec| spec.held.is_none());
    let phases: Vec<_> = may_start.cloned().collect();
    let waves = PhaseSpec::by_wave(&phases);
    let mut text = String::new();
    for (wave, specs) in (1..).zip(&waves) {
        let named = specs.iter().take(NAMED_MAX);
        let names: Vec<_> = named.map(|spec| format!("{} {}", spec.number, spec.name)).collect();
        let more = specs.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let wave = styled(BOLD, &format!("Wave {wave}:"));
        text += &format!("{wave} {}{more}\n", names.join(", "));
    }
    let pairs: Vec<_> = waves.iter().flat_map(|wave| PhaseSpec::overlaps(wave)).collect();
    let order = if force { "in parallel, because of --force" } else { "one after the other" };
    for (a, b, path) in pairs.iter().take(NAMED_MAX) {
        let line = format!("{a} and {b} both change {path}: they run {order}");
        text += &format!("{}\n", styled(YELLOW, &line));
    }
    if pairs.len() > NAMED_MAX {
        text += &format!("and {} like these\n", counted(pairs.len() - NAMED_MAX, "more pair"));
    }
    live_view::print(&text);
}
