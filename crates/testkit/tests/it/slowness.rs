//! No reader takes more than linear time, whatever it is given.
//!
//! Each pattern is repeated to a small and to a large file. A reader that is linear takes about four
//! times as long for a file four times as long, a quadratic one sixteen times. Files that are read
//! in no time are not judged, and a measurement that looks bad is repeated: a busy machine makes
//! one run slow, not the fastest of several.

use std::time::{Duration, Instant};

use mow_testkit::checks::{Check, TARGETS};

const SMALL: usize = 40_000;
const LARGE: usize = 4 * SMALL;
/// Less than this says nothing about growth.
const SHORT: Duration = Duration::from_millis(400);
const GROWTH_MAX: u32 = 11;
const ATTEMPTS: usize = 4;

/// What stands once at the top, and what is repeated below it.
const PATTERNS: &[(&str, &str)] = &[
    ("", "<details>\n"),
    ("", "<details><summary>v1.0</summary>\n\n### Phase 1: a\n"),
    ("", "```a\n"),
    ("", "~~~~\n```\n"),
    ("", "> ```\n\n"),
    ("", "<!-- "),
    ("", "<!-- a -->\n"),
    ("", "<!-- ```\n-->\n"),
    ("", "# a\n"),
    ("", "## Phase 1: b\n"),
    ("# Phase 1: ", "("),
    ("# Phase 1 ", "()"),
    ("- [ ] **Phase 1 ", "(a)[b]"),
    ("## v1.0 ", "("),
    ("", "*"),
    ("- ", "["),
    ("- ", "[a]("),
    ("# ", "_"),
    ("- ", "\\"),
    ("", " "),
    ("**a:** ", "   "),
    ("", "\n"),
    ("", "\r"),
    ("", "|"),
    ("## Active Phases\n| Phase | Status |\n|---|---|\n", "| 1 | blocked (1-1000) |\n"),
    ("## Active Phases\n| Phase | Status |\n|---|---|\n| 1 | blocked (", "1-1000,"),
    ("## Plans\n| Plan | Status |\n|---|---|\n", "| 01-01 | done |\n"),
    ("## Plans\n| Plan ", "| a "),
    ("| Commit |\n|---|\n", "| a1b2c3d |\n"),
    ("", "|-|\n"),
    ("", "  - a\n"),
    ("", "- "),
    ("", "> "),
    ("", "1. "),
    ("", "# Commits\n"),
    ("### Phase 1: a\n**Depends on:** ", ";"),
    ("### Phase 1: a\n**Depends on:** ", "#"),
    ("### Phase 1: a\n**Depends on:** ", "(Phase 1 "),
    ("### Phase 1: a\n**Depends on:** ", "Phases 1-9, "),
    ("### Phase 1: a\n**Depends on:** Phase ", "1 and "),
    ("", "phase "),
    ("---\n", "a:\n"),
    ("---\na:\n", " - b\n"),
    ("---\na: ", "["),
    ("---\na: ", "{a: "),
    ("---\na:\n", "- \"\n"),
    ("---\na: &a b\n", "c: *a\n"),
    ("", "<task>\n"),
    ("<task>\n", "<name>a\n"),
    ("<task>\n", "<action "),
    ("", "<task \""),
    ("<objective>\n", "<objective"),
    ("", "</task"),
    ("", "<!-- </task> -->\n"),
    ("", "- [ ] **A-1**: a\n"),
    ("", "A-1..99 "),
    ("", "`a/b.c` "),
    ("", "a: b\n"),
    ("", "**a"),
    ("{\"a\": ", "["),
    ("{", "\"a\": {"),
    ("", "{}\n"),
    ("", "0"),
    ("", "1."),
    ("", "\u{ff}\u{3000}"),
];

#[test]
fn time_grows_no_faster_than_the_file() {
    let mut slow = Vec::new();
    for (name, check) in TARGETS {
        for pattern in PATTERNS {
            if let Some((small, large)) = grows_too_fast(*check, pattern) {
                slow.push(format!("{name} {pattern:?}: {small:?}, then {large:?}"));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Returns the times of both files when the large one takes too long for the small one.
fn grows_too_fast(check: Check, (top, unit): &(&str, &str)) -> Option<(Duration, Duration)> {
    let file = |size: usize| format!("{top}{}", unit.repeat(size / unit.len())).into_bytes();
    let (small, large) = (file(SMALL), file(LARGE));
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..ATTEMPTS {
        best.1 = best.1.min(time(check, &large));
        if best.1 < SHORT {
            return None;
        }
        best.0 = best.0.min(time(check, &small));
        if best.1 < best.0 * GROWTH_MAX {
            return None;
        }
    }
    Some(best)
}

fn time(check: Check, file: &[u8]) -> Duration {
    let start = Instant::now();
    check(file);
    start.elapsed()
}
