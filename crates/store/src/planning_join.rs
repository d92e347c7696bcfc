//! Joins two versions of a shared planning file that grew from one.
//!
//! Section by section, line by line, as [`crate::state::merge`] does it. In a roadmap and in the
//! requirements the same entry must not come out twice: where both sides changed it in different
//! ways, only a person can tell, and there is no answer. Bytes in, bytes out.

use std::collections::BTreeMap;

use crate::state::merge::merge;

/// Joins base, ours and theirs of a file by its name; `None` for other files, and where only a person
/// can.
pub fn join(file: &str, [base, ours, theirs]: [&[u8]; 3]) -> Option<Vec<u8>> {
    let joined = || merge(base, ours, theirs);
    match file {
        "STATE.md" => Some(joined()),
        "ROADMAP.md" | "REQUIREMENTS.md" => {
            let joined = joined();
            let (ours, theirs) = (entries(ours), entries(theirs));
            let most = |key: &String| ours.get(key).max(theirs.get(key)).copied().unwrap_or(0);
            entries(&joined).iter().all(|(key, count)| *count <= most(key)).then_some(joined)
        }
        _ => None,
    }
}

/// Counts the lines with a box by what they are about: `**Phase 1`, `**REQ-01**`, `01-01-PLAN.md`.
fn entries(bytes: &[u8]) -> BTreeMap<String, usize> {
    let text = String::from_utf8_lossy(bytes);
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let line = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
        let boxes = ["[ ] ", "[x] ", "[X] "];
        let Some(rest) = boxes.iter().find_map(|mark| line.strip_prefix(mark)) else { continue };
        let name = rest.split_once(':').map_or(rest, |(name, _)| name);
        let name = if rest.contains(':') { name } else { name.split(' ').next().unwrap_or(name) };
        *counts.entry(name.trim().to_owned()).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests;
