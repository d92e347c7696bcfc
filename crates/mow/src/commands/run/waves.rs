//! What a run will do, before it begins: the waves, and which phases get in each other's way.

use mow_core::lead::PhaseSpec;
use mow_engine::lead::Chosen;

use super::face;
use crate::terminal::{BOLD, YELLOW, painted};

/// How many phases of a wave are named, and how many pairs that change the same files.
const NAMED_MAX: usize = 8;

/// Shows which phases run side by side.
pub(super) fn show(chosen: &Chosen, force: bool) {
    let waves = PhaseSpec::by_wave(&chosen.phases);
    let mut text = String::new();
    for (wave, specs) in (1..).zip(&waves) {
        let named = specs.iter().take(NAMED_MAX);
        let names: Vec<_> = named.map(|spec| format!("{} {}", spec.number, spec.name)).collect();
        let more = specs.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let wave = painted(BOLD, &format!("Wave {wave}:"));
        text += &format!("{wave} {}{more}\n", names.join(", "));
    }
    let pairs: Vec<_> = waves.iter().flat_map(|wave| PhaseSpec::overlaps(wave)).collect();
    let then = if force { "side by side, as forced" } else { "one after the other" };
    for (a, b, path) in pairs.iter().take(NAMED_MAX) {
        let line = format!("{a} and {b} both change {path}: {then}");
        text += &format!("{}\n", painted(YELLOW, &line));
    }
    if pairs.len() > NAMED_MAX {
        text += &format!("and {} more pairs like these\n", pairs.len() - NAMED_MAX);
    }
    face::print(&text);
}
