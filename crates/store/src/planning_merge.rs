//! Three-way merge of a planning file that two branches changed.
//!
//! Merges section by section and line by line, like [`crate::state::merge`]. In a roadmap and in
//! the requirements, no entry may appear twice. If both sides changed an entry in different ways,
//! there is no result, and a person must decide. Takes and returns bytes; opens no file.

use std::collections::BTreeMap;

use crate::state::merge::merge;

/// Merges base, ours and theirs of the planning file with this name.
///
/// `None` when the file is not a shared planning file, or when a person must decide.
pub fn merge_file(file: &str, [base, ours, theirs]: [&[u8]; 3]) -> Option<Vec<u8>> {
    let merged = || merge(base, ours, theirs);
    match file {
        "STATE.md" => Some(merged()),
        "ROADMAP.md" | "REQUIREMENTS.md" => {
            let merged = merged();
            let (ours, theirs) = (count_entries(ours), count_entries(theirs));
            let max = |key: &String| ours.get(key).max(theirs.get(key)).copied().unwrap_or(0);
            count_entries(&merged).iter().all(|(key, count)| *count <= max(key)).then_some(merged)
        }
        _ => None,
    }
}

/// Counts the checkbox lines by their subject: `**Phase 1`, `**REQ-01**`, `01-01-PLAN.md`.
fn count_entries(bytes: &[u8]) -> BTreeMap<String, usize> {
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
