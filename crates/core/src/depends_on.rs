//! Parses the prose of a `Depends on` field into phase numbers.
//!
//! People write `Phase 3`, `Phases 3 and 4`, `3.1c (harness)`, `Phases 147–154`, `Nothing (first
//! phase)`, `Phase 2 (done). Parallel-safe with Phase 5`, `All previous phases`. The rules:
//!
//! | text | meaning |
//! |---|---|
//! | nothing, none, n/a, a dash, at the start | no dependency |
//! | a phase outside parentheses | a dependency |
//! | a phase in parentheses | none, except after "depends on" or if no phase stands outside |
//! | parallel, independent, soft, benefits from, best after, before | none after that word |
//! | a range | every existing phase in the range |
//! | all previous phases | every lower number of the same milestone |

mod numbers;
mod phrases;

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::phase::PhaseNumber;

/// The phases that a dependency text can refer to.
#[derive(Clone, Copy, Debug)]
pub struct DependencyContext<'a> {
    /// The phase that has the field; it never depends on itself.
    pub phase: &'a PhaseNumber,
    /// The phases of the same numbering block; ranges are expanded to these.
    pub block_phases: &'a [PhaseNumber],
    /// The phases of the same milestone; "all previous phases" refers to these.
    pub milestone_phases: &'a [PhaseNumber],
}

/// Returns the hard dependencies that a text names: sorted, each once, without the phase itself.
pub fn parse(text: &str, context: DependencyContext<'_>) -> Vec<PhaseNumber> {
    if let Some(number) = phrases::strip_phase_word(text).and_then(PhaseNumber::parse)
        && !number.ends_in_letter()
    {
        // Fast path: most fields are just `Phase 3`, which is unambiguous.
        return if number == *context.phase { Vec::new() } else { vec![number] };
    }
    let text = to_ascii_punctuation(text);
    let (outer, inner) = split_parentheses(&text);
    let mut numbers = BTreeSet::new();
    if phrases::says_nothing(&outer) {
        // The remarks below still count: `None (depends on Phase 3 for data)`.
    } else if phrases::says_all_previous(&outer) {
        numbers.extend(
            context.milestone_phases.iter().filter(|number| *number < context.phase).copied(),
        );
    } else {
        numbers::collect(&outer, context.block_phases, &mut numbers);
        if numbers.is_empty() {
            for remark in &inner {
                numbers::collect_named(remark, context.block_phases, &mut numbers);
            }
        }
    }
    for remark in inner.iter().filter_map(|remark| phrases::after_depends_on(remark)) {
        numbers::collect(remark, context.block_phases, &mut numbers);
    }
    numbers.remove(context.phase);
    numbers.into_iter().collect()
}

/// Returns whether a text for which [`parse`] finds no dependency really has none.
///
/// `None` and `parallel with Phase 5` have none. `the login work` means a phase, but no number
/// tells which one, so the user should be warned.
pub fn states_no_dependency(text: &str) -> bool {
    let unified = to_ascii_punctuation(text);
    let (outer, _) = split_parentheses(&unified);
    phrases::says_nothing(&outer)
        || phrases::says_all_previous(&outer)
        || phrases::before_soft_word(&unified).is_some()
        // `v1.0 complete` names an earlier milestone.
        || phrases::names_milestone(&outer)
}

/// Returns all phases that a text names as hard dependencies, whether they exist or not, with the
/// ends of ranges, and with the phase itself.
///
/// [`parse`] leaves out what cannot be a dependency; this function is for finding mistakes.
pub fn named_phases(text: &str, block_phases: &[PhaseNumber]) -> Vec<PhaseNumber> {
    let unified = to_ascii_punctuation(text);
    let mut known = block_phases.to_vec();
    known.extend(numbers::written(&unified));
    let nobody = PhaseNumber::whole(u32::MAX);
    parse(text, DependencyContext { phase: &nobody, block_phases: &known, milestone_phases: &[] })
}

/// Returns whether a text has a placeholder in the place of a phase: `Phase 3, TBD`, `Phase X`.
pub fn has_placeholder(text: &str) -> bool {
    let unified = to_ascii_punctuation(text);
    let (outer, _) = split_parentheses(&unified);
    phrases::has_placeholder(&outer)
}

/// Replaces full-width punctuation by its ASCII equivalent.
fn to_ascii_punctuation(text: &str) -> Cow<'_, str> {
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
