//! What a run will do, before it begins: the waves, and which phases get in each other's way.

use std::collections::BTreeMap;

use mow_core::lead::PhaseSpec;
use mow_core::phase::PhaseNumber;
use mow_core::touch;
use mow_engine::lead::Chosen;

use super::face;
use crate::terminal::{BOLD, YELLOW, painted};

/// How many pairs of phases that change the same files are named.
const PAIRS_MAX: usize = 8;

/// Shows which phases run side by side.
pub(super) fn show(chosen: &Chosen, force: bool) {
    let waves = waves(&chosen.phases);
    let mut lines: BTreeMap<usize, Vec<&PhaseSpec>> = BTreeMap::new();
    for spec in &chosen.phases {
        lines.entry(waves[&spec.number]).or_default().push(spec);
    }
    let mut text = String::new();
    for (wave, specs) in &lines {
        let names: Vec<_> =
            specs.iter().take(8).map(|spec| format!("{} {}", spec.number, spec.name)).collect();
        let more = specs.len().saturating_sub(8);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let wave = painted(BOLD, &format!("Wave {wave}:"));
        text += &format!("{wave} {}{more}\n", names.join(", "));
    }
    let pairs: Vec<_> = lines.values().flat_map(|specs| overlaps(specs)).collect();
    for (a, b, path) in pairs.iter().take(PAIRS_MAX) {
        let then = if force { "side by side, as forced" } else { "one after the other" };
        let line = format!("{a} and {b} both change {path}: {then}");
        text += &format!("{}\n", painted(YELLOW, &line));
    }
    if pairs.len() > PAIRS_MAX {
        text += &format!("and {} more pairs like these\n", pairs.len() - PAIRS_MAX);
    }
    face::print(&text);
}

fn waves(phases: &[PhaseSpec]) -> BTreeMap<PhaseNumber, usize> {
    let mut waves: BTreeMap<PhaseNumber, usize> = BTreeMap::new();
    // Phases stand behind what they depend on after as many rounds as there are phases.
    for _ in 0..phases.len() {
        let mut changed = false;
        for spec in phases {
            let before = spec.depends_on.iter().map(|n| waves.get(n).copied().unwrap_or(1)).max();
            let wave = before.map_or(1, |before| before + 1);
            changed |= waves.insert(spec.number, wave) != Some(wave);
        }
        if !changed {
            break;
        }
    }
    waves
}

/// Finds the phases of a wave whose plans change the same files, with one of these.
fn overlaps<'a>(specs: &[&'a PhaseSpec]) -> Vec<(PhaseNumber, PhaseNumber, &'a str)> {
    let planned: Vec<_> =
        specs.iter().filter_map(|spec| Some((spec.number, spec.touches.as_deref()?))).collect();
    let mut found = Vec::new();
    for (n, (a, own)) in planned.iter().enumerate() {
        for (b, other) in &planned[n + 1..] {
            found.extend(touch::common(own, other).map(|path| (*a, *b, path)));
        }
    }
    found
}
