//! Finds the phase numbers in a clause.

use std::collections::BTreeSet;

use super::words::{before_soft_word, strip_phase_word};
use crate::phase::PhaseNumber;

/// Collects the phases that a text outside parentheses names as hard dependencies.
pub(super) fn collect(text: &str, known: &[PhaseNumber], found: &mut BTreeSet<PhaseNumber>) {
    let mut remark = false;
    for (index, clause) in clauses(text).into_iter().enumerate() {
        // What follows a dash explains the phases before it: it adds none once there are some.
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
            // `Phase 2 and in parallel with 3` needs 2; a later sentence about what is parallel, or
            // usually comes first, needs nothing.
            if !(soft && index > 0) {
                scan(hard.unwrap_or(segment), known, true, found);
            }
        }
    }
}

/// Collects the phases that a text names with the word "phase" in front.
pub(super) fn collect_named(text: &str, known: &[PhaseNumber], found: &mut BTreeSet<PhaseNumber>) {
    for segment in text.split([';', ',']) {
        scan(before_soft_word(segment).unwrap_or(segment), known, false, found);
    }
}

struct Clause<'a> {
    text: &'a str,
    after_dash: bool,
}

/// Splits a text at semicolons, at the ends of sentences and at dashes with blanks around them.
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

/// A dash between two numbers is a range, blanks or not.
fn is_range(before: &str, after: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_digit())
        && after.starts_with(|c: char| c.is_ascii_digit())
}

/// Walks over a segment: a number counts after the word "phase", in a list that such a number
/// began, or (where bare numbers are welcome) at the very start.
fn scan(segment: &str, known: &[PhaseNumber], bare: bool, found: &mut BTreeSet<PhaseNumber>) {
    let mut rest = segment.trim_start_matches([' ', '*', '_', '`', '"']);
    let mut expected = bare;
    let mut announced = false;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        // `feat/phase-156-x` is the name of a branch, `1.3` in `v1.3` part of a version.
        let at_word = !previous.is_alphanumeric() && !['.', '-', '/', '_'].contains(&previous);
        if (at_word || !c.is_ascii())
            && let Some(after) = strip_phase_word(rest)
        {
            (expected, announced, rest, previous) = (true, true, after, ' ');
            continue;
        }
        if (c.is_ascii_digit() && at_word && expected)
            && (announced || !counts_things(rest))
            && let Some(after) = take_number(rest, known, found)
        {
            (expected, rest) = list_goes_on(after);
            (announced, previous) = (false, ' ');
            continue;
        }
        expected = expected && !c.is_alphanumeric();
        previous = c;
        rest = &rest[c.len_utf8()..];
    }
}

/// What a number that is no phase may count.
const UNITS: &[&str] = &[
    "day", "week", "month", "hour", "minute", "plan", "task", "test", "table", "item", "run",
    "time", "step", "file",
];

/// Returns whether a number is a count of something: `3 days`.
fn counts_things(text: &str) -> bool {
    let after = PhaseNumber::parse_prefix(text).map_or("", |(_, after)| after.trim_start());
    UNITS.iter().any(|unit| after.starts_with(unit))
}

/// Reads a number or a range and returns what follows.
fn take_number<'a>(
    text: &'a str,
    known: &[PhaseNumber],
    found: &mut BTreeSet<PhaseNumber>,
) -> Option<&'a str> {
    let (first, rest) = PhaseNumber::parse_prefix(text)?;
    if let Some((last, after)) = range_end(rest) {
        found.extend(known.iter().filter(|number| (&first..=&last).contains(number)).copied());
        return Some(after);
    }
    // `48h` looks like a number with a letter; only a phase that exists may carry one.
    if !first.ends_in_letter() || known.contains(&first) {
        found.insert(first);
    }
    Some(rest)
}

fn range_end(rest: &str) -> Option<(PhaseNumber, &str)> {
    const JOINS: &[&str] = &[
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
    let after = JOINS.iter().find_map(|join| text.strip_prefix(join))?.trim_start();
    PhaseNumber::parse_prefix(strip_phase_word(after).unwrap_or(after))
}

/// Returns whether a list of numbers goes on, and the text behind the joint.
fn list_goes_on(rest: &str) -> (bool, &str) {
    const JOINTS: &[&str] = &[
        "and ", "& ", "+ ", "/", "&", "+", "e ", "y ", "und ", "et ", "или ", "и ", "or ", "和",
        "与",
    ];
    let text = rest.trim_start();
    match JOINTS.iter().find_map(|joint| text.strip_prefix(joint)) {
        Some(after) => (true, after.trim_start()),
        None => (false, rest),
    }
}
