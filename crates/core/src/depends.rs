//! Reads the prose of a `Depends on` field.
//!
//! People write `Phase 3`, `Phases 3 and 4`, `3.1c (harness)`, `Phases 147–154`, `Nothing (first
//! phase)`, `Phase 2 (done). Parallel-safe with Phase 5`, `All previous phases`. The reading:
//!
//! | text | meaning |
//! |---|---|
//! | nothing, none, n/a, a dash, at the start | no dependency |
//! | a phase outside parentheses | a dependency |
//! | a phase in parentheses | none, unless it says "depends on", or nothing outside names a phase |
//! | parallel, independent, soft, benefits from, best after, before | what follows is no dependency |
//! | a range | every phase of it that exists |
//! | all previous phases | every lower number of the same milestone |

mod numbers;
mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::phase::PhaseNumber;

/// What a dependency text is read against.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The phase whose field it is.
    pub own: &'a PhaseNumber,
    /// The phases of the same block of numbering.
    pub known: &'a [PhaseNumber],
    /// The phases of the same milestone, which "all previous phases" means.
    pub peers: &'a [PhaseNumber],
}

/// Returns the hard dependencies a text names, sorted, each once, the phase itself left out.
pub fn parse(text: &str, around: Surroundings<'_>) -> Vec<PhaseNumber> {
    if let Some(number) = words::strip_phase_word(text).and_then(PhaseNumber::parse)
        && !number.ends_in_letter()
    {
        // `Phase 3` is what most fields say, and it has but one reading.
        return if number == *around.own { Vec::new() } else { vec![number] };
    }
    let text = unify(text);
    let (outer, inner) = split_parentheses(&text);
    let mut found = BTreeSet::new();
    if words::says_nothing(&outer) {
        // `None (depends on Phase 3 for data)` still names one.
    } else if words::says_all_previous(&outer) {
        found.extend(around.peers.iter().filter(|number| *number < around.own).copied());
    } else {
        numbers::collect(&outer, around.known, &mut found);
        if found.is_empty() {
            for remark in &inner {
                numbers::collect_named(remark, around.known, &mut found);
            }
        }
    }
    for remark in inner.iter().filter_map(|remark| words::after_depends_on(remark)) {
        numbers::collect(remark, around.known, &mut found);
    }
    found.remove(around.own);
    found.into_iter().collect()
}

/// Returns whether a text that names no dependency says so, instead of meaning one in other words.
///
/// `None` and `parallel with Phase 5` say so; `the login work` means a phase that nobody can find.
pub fn says_none(text: &str) -> bool {
    let unified = unify(text);
    let (outer, _) = split_parentheses(&unified);
    words::says_nothing(&outer)
        || words::says_all_previous(&outer)
        || words::before_soft_word(&unified).is_some()
        // A number that is no dependency is a version, the phase itself, or a remark.
        || unified.contains(|c: char| c.is_ascii_digit())
}

/// Replaces full-width punctuation by its ASCII relatives.
fn unify(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let unified = text.chars().map(|c| match c {
        '（' => '(',
        '）' => ')',
        '，' | '、' => ',',
        '；' => ';',
        '：' => ':',
        '。' => '.',
        c => c,
    });
    Cow::Owned(unified.collect())
}

/// Returns the text outside parentheses and the remarks inside them.
fn split_parentheses(text: &str) -> (Cow<'_, str>, Vec<String>) {
    if !text.contains(['(', '[', ')', ']']) {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut outer = String::new();
    let mut inner: Vec<String> = Vec::new();
    let mut depth = 0_usize;
    for c in text.chars() {
        match c {
            '(' | '[' => {
                if depth == 0 {
                    inner.push(String::new());
                    outer.push(' ');
                }
                depth += 1;
            }
            ')' | ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => outer.push(c),
            c => inner.last_mut().expect("depth is above zero only inside a remark").push(c),
        }
    }
    (Cow::Owned(outer), inner)
}

#[cfg(test)]
mod tests;
