//! Collects the phase numbers that the clauses of a dependency text name.

use std::collections::BTreeSet;

use super::phrases::{before_soft_word, strip_phase_word};
use crate::phase::PhaseNumber;

/// Collects the phases that a text outside parentheses names as hard dependencies.
pub(super) fn collect(text: &str, block_phases: &[PhaseNumber], found: &mut BTreeSet<PhaseNumber>) {
    let mut remark = false;
    for (index, clause) in clauses(text).into_iter().enumerate() {
        // Text after a dash explains the phases before it, so it adds no phases once there are
        // some.
        remark = remark || clause.after_dash;
        if remark && !found.is_empty() && strip_phase_word(clause.text.trim()).is_none() {
            continue;
        }
        let mut soft = false;
        for segment in clause.text.split(',') {
            let named = segment.trim().chars().next().is_some_and(char::is_alphabetic);
            if soft && !named {
                continue;
            }
            let hard = before_soft_word(segment);
            soft = hard.is_some();
            // `Phase 2 and in parallel with 3` depends on 2. A later sentence with a soft word
            // names no dependency at all.
            if !(soft && index > 0) {
                scan(hard.unwrap_or(segment), block_phases, true, found);
            }
        }
    }
}

/// Collects the phases that follow the word "phase" in a remark.
pub(super) fn collect_named(
    text: &str,
    block_phases: &[PhaseNumber],
    found: &mut BTreeSet<PhaseNumber>,
) {
    for segment in text.split([';', ',']) {
        scan(before_soft_word(segment).unwrap_or(segment), block_phases, false, found);
    }
}

/// Returns all numbers that a text contains at the starts of words.
///
/// `48h` looks like a number with a letter suffix, so such a number counts only after "phase".
pub(super) fn written(text: &str) -> Vec<PhaseNumber> {
    let mut numbers = Vec::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let at_word = !before.is_alphanumeric() && before != '.';
        if at_word && c.is_ascii_digit() {
            let number = PhaseNumber::parse_prefix(&text[at..]).map(|(number, _)| number);
            numbers.extend(number.filter(|number| !number.ends_in_letter()));
        } else if at_word && let Some(after) = strip_phase_word(&text[at..]) {
            numbers.extend(PhaseNumber::parse_prefix(after).map(|(number, _)| number));
        }
        before = c;
    }
    numbers
}

/// A part of a dependency text between two separators.
struct Clause<'a> {
    text: &'a str,
    after_dash: bool,
}

/// Splits a text at semicolons, line breaks, ends of sentences and dashes with spaces around them.
fn clauses(text: &str) -> Vec<Clause<'_>> {
    const ENDS: &[(&str, bool)] = &[
        (";", false),
        (". ", false),
        ("\n", false),
        (" — ", true),
        (" – ", true),
        (" - ", true),
        (" -- ", true),
    ];
    let mut clauses = Vec::new();
    let mut start = 0;
    let mut after_dash = false;
    for (at, _) in text.match_indices([';', '.', '\n', ' ']) {
        let rest = &text[at..];
        let end = ENDS.iter().find(|(end, _)| rest.starts_with(end));
        let Some((end, dash)) = end.filter(|_| at >= start) else { continue };
        if *dash && is_range(&text[start..at], &rest[end.len()..]) {
            continue;
        }
        clauses.push(Clause { text: &text[start..at], after_dash });
        start = at + end.len();
        after_dash = *dash;
    }
    clauses.push(Clause { text: &text[start..], after_dash });
    clauses
}

/// Returns whether a dash stands between two numbers, which makes it a range even with spaces.
fn is_range(before: &str, after: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit())
        && after.starts_with(|c: char| c.is_ascii_digit())
}

/// Collects the phase numbers of a segment.
///
/// A number counts after the word "phase", in a list that such a number started, or at the start of
/// the segment if `allow_bare` is set.
fn scan(
    segment: &str,
    block_phases: &[PhaseNumber],
    allow_bare: bool,
    found: &mut BTreeSet<PhaseNumber>,
) {
    let mut rest = segment.trim_start_matches([' ', '*', '_', '`', '"']);
    let mut expected = allow_bare;
    let mut announced = false;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        // `feat/phase-156-x` is a branch name; `1.3` in `v1.3` is part of a version.
        let at_word = !previous.is_alphanumeric() && !['.', '-', '/', '_'].contains(&previous);
        if (at_word || !c.is_ascii())
            && let Some(after) = strip_phase_word(rest)
        {
            (expected, announced, rest, previous) = (true, true, after, ' ');
            continue;
        }
        if (c.is_ascii_digit() && at_word && expected)
            && (announced || !is_count(rest))
            && let Some(after) = take_number(rest, block_phases, found)
        {
            (expected, rest) = continue_list(after);
            (announced, previous) = (false, ' ');
            continue;
        }
        expected = expected && !c.is_alphanumeric();
        previous = c;
        rest = &rest[c.len_utf8()..];
    }
}

/// Units: a number before one of these is a count, not a phase.
const UNITS: &[&str] = &[
    "day", "week", "month", "hour", "minute", "plan", "task", "test", "table", "item", "run",
    "time", "step", "file",
];

/// Returns whether the number at the start of a text counts a unit, as in `3 days`.
fn is_count(text: &str) -> bool {
    let after = PhaseNumber::parse_prefix(text).map_or("", |(_, after)| after.trim_start());
    UNITS.iter().any(|unit| after.starts_with(unit))
}

/// Collects the number or range at the start of a text and returns the rest.
fn take_number<'a>(
    text: &'a str,
    block_phases: &[PhaseNumber],
    found: &mut BTreeSet<PhaseNumber>,
) -> Option<&'a str> {
    let (first, rest) = PhaseNumber::parse_prefix(text)?;
    if let Some((last, after)) = range_end(rest) {
        found.extend(
            block_phases.iter().filter(|number| (&first..=&last).contains(number)).copied(),
        );
        return Some(after);
    }
    // `48h` looks like a number with a letter suffix, so such a number counts only if it exists.
    if !first.ends_in_letter() || block_phases.contains(&first) {
        found.insert(first);
    }
    Some(rest)
}

/// Returns the last number of a range and the text after it, if `rest` continues a range.
fn range_end(rest: &str) -> Option<(PhaseNumber, &str)> {
    const RANGE_WORDS: &[&str] = &[
        "-",
        "–",
        "—",
        "‑",
        "to ",
        "through ",
        "thru ",
        "até ",
        "bis ",
        "..",
        "~",
        "â\u{80}\u{93}",
    ];
    let text = rest.trim_start();
    let after = RANGE_WORDS.iter().find_map(|word| text.strip_prefix(word))?.trim_start();
    PhaseNumber::parse_prefix(strip_phase_word(after).unwrap_or(after))
}

/// Returns whether a list of numbers continues, and the text after the conjunction.
fn continue_list(rest: &str) -> (bool, &str) {
    const CONJUNCTIONS: &[&str] = &[
        "and ", "& ", "+ ", "/", "&", "+", "e ", "y ", "und ", "et ", "или ", "и ", "or ", "和",
        "与",
    ];
    let text = rest.trim_start();
    match CONJUNCTIONS.iter().find_map(|word| text.strip_prefix(word)) {
        Some(after) => (true, after.trim_start()),
        None => (false, rest),
    }
}
