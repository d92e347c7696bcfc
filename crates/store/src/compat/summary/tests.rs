//! Tests of summaries: keys in both spellings, the one-liner, the self-check, commits.

use proptest::prelude::*;

use super::*;
use crate::corpus;

const SAMPLE: &str = "\
---
phase: 03-hull
plan: 01
subsystem: hull
tags: [wood]
dependency_graph:
  provides: [hull]
affects: [sails]
tech_stack:
  added:
    - name: tar
    - rope
key_files:
  created: [src/hull.rs]
key-decisions:
  - Oak: it lasts
patterns-established: single
requirements_completed: [HULL-01]
---

# Phase 3 Plan 1: Hull Summary

**Built the hull in `oak`**

## Task Commits

1. **Task 1: Planks** - `1234567` (feat, 20260101)
2. **Task 2** - abc1234 (fix)

## Deviations

- Commit: `0a1b2c3`, deadbeef1 was blocked
- The hash cafebabe1 is not listed

| Task | Commit |
|---|---|
| 3 | 7654321 |

Created: src/keel.rs and `src/hull.rs`, not `http://x/y.z`

## Verification

Earlier runs failed and were blocked.

## Self-Check: PASSED
";

#[test]
fn reads_keys_in_both_spellings() {
    let summary = parse(SAMPLE.as_bytes());
    assert_eq!(summary.provides, ["hull"]);
    assert_eq!(summary.affects, ["sails"]);
    assert_eq!(summary.tech_added, ["tar", "rope"]);
    assert_eq!(summary.decisions, ["Oak: it lasts"]);
    assert_eq!(summary.patterns, ["single"]);
    assert_eq!(summary.requirements_completed, ["HULL-01"]);
    assert!(summary.key_files.unwrap().entry("created").is_some());
    assert_eq!(summary.one_liner.as_deref(), Some("Built the hull in oak"));
}

#[test]
fn commits_are_those_that_are_listed() {
    let summary = parse(SAMPLE.as_bytes());
    assert_eq!(summary.commits, ["1234567", "abc1234", "0a1b2c3", "deadbeef1", "7654321"]);
    let summary = parse(b"---\ncommits:\n  - hash: 1111111\n  - \"2222222 feat: x\"\n---\n");
    assert_eq!(summary.commits, ["1111111", "2222222"]);
}

#[test]
fn the_self_check_is_what_its_section_says() {
    let check =
        |text: &str, expected| assert_eq!(parse(text.as_bytes()).self_check, expected, "{text}");
    check(SAMPLE, SelfCheck::Passed);
    check("## Self-Check: FAILED\n\nall passed\n", SelfCheck::Failed);
    check("**Self-Check: PASS** — two items failed before\n", SelfCheck::Passed);
    check(
        "## Self-Check\n\n- a: FOUND\n- All checks PASSED\n\n## Next\n\nblocked\n",
        SelfCheck::Passed,
    );
    check("## Verification\n\n12 passed, 0 failed\n", SelfCheck::Passed);
    check("## Verification\n\n- ❌ tests\n", SelfCheck::Failed);
    check("## Verification\n\nnothing\n", SelfCheck::NotFound);
    check("Self-made\n", SelfCheck::NotFound);
}

#[test]
fn a_field_is_no_one_liner() {
    assert_eq!(parse(b"# T\n\n**Phase:** 3\n").one_liner, None);
    assert_eq!(parse(b"# T\n\n**One-liner:** Done it\n").one_liner.as_deref(), Some("Done it"));
    assert_eq!(parse(b"---\none_liner: \"A: b\"\n---\n").one_liner.as_deref(), Some("A: b"));
}

#[test]
fn finds_the_mentioned_files() {
    assert_eq!(mentioned_files(SAMPLE.as_bytes()), ["src/hull.rs", "src/keel.rs"]);
}

#[test]
fn corpus_summaries_are_read() {
    let files = corpus::files(|name| name.ends_with("SUMMARY.md"), SAMPLE);
    let (mut blocks, mut problems, mut lines, mut commits) = (0, 0, 0, 0);
    let mut checks = [0; 3];
    for (_, bytes) in &files {
        let summary = parse(bytes);
        mentioned_files(bytes);
        blocks += usize::from(summary.has_block);
        problems += usize::from(!summary.problems.is_empty());
        lines += usize::from(summary.one_liner.is_some());
        commits += usize::from(!summary.commits.is_empty());
        checks[summary.self_check as usize] += 1;
    }
    let files = files.len();
    corpus::print_line(&format!(
        "summaries: {files}, blocks {blocks}, problems {problems}, one-liners {lines}, with commits \
         {commits}, self check passed/failed/none {checks:?}"
    ));
    assert!(commits * 2 >= files);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "(# |\\*\\*|:|a|Commit|\\||-|\n|`|é|Self-Check|1234567)*") {
        parse(&bytes);
        parse(text.as_bytes());
        mentioned_files(&bytes);
        mentioned_files(text.as_bytes());
    }
}
