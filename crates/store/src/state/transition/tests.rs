//! Tests of phase and milestone transitions in both dialects.

use mow_core::phase::PhaseNumber;

use super::{NextPhase, complete_milestone, complete_phase, remove_one_phase, stub};
use crate::roadmap::milestone::CurrentMilestone;
use crate::state::snapshot;

const BOLD: &str = "# State

**Current Phase:** 01
**Current Phase Name:** Base
**Total Phases:** 5
**Current Plan:** 2
**Status:** Executing
**Last Activity:** 2026-01-01
**Last Activity Description:** old $1

## Notes

Phase 1 of 5 is nice. **Current Phase:** none
";

const PLAIN: &str = "# Project State

## Current Position

Phase: 1 of 5 (Base)
Plan: 2 of 2 in current phase
Status: In progress
Last activity: 2026-01-01 — old
Progress: [█████░░░░░] 50%
";

fn complete(text: &str, next: Option<&str>) -> String {
    let number = next.map(|next| PhaseNumber::parse(next).unwrap());
    let next = number.as_ref().map(|number| NextPhase { number, name: "next thing" });
    String::from_utf8(complete_phase(text.as_bytes(), "1", next, "2026-05-06")).unwrap()
}

#[test]
fn a_completed_phase_moves_the_bold_fields() {
    let expected = BOLD
        .replace("Phase:** 01", "Phase:** 02")
        .replace("Name:** Base", "Name:** next thing")
        .replace("Plan:** 2", "Plan:** Not started")
        .replace("Executing", "Ready to plan")
        .replace("Activity:** 2026-01-01", "Activity:** 2026-05-06")
        .replace("old $1", "Phase 1 complete, transitioned to Phase 2");
    assert_eq!(complete(BOLD, Some("2")), expected);
    let last = complete(BOLD, None);
    assert!(last.contains("**Status:** Milestone complete\n"), "{last}");
    assert!(last.contains("**Current Phase:** 01\n"), "{last}");
}

#[test]
fn a_completed_phase_moves_the_plain_fields() {
    let expected = PLAIN
        .replace("1 of 5 (Base)", "2 of 5 (next thing)")
        .replace("2 of 2 in current phase", "Not started")
        .replace("In progress", "Ready to plan")
        .replace("2026-01-01 — old", "2026-05-06 — Phase 1 complete, transitioned to Phase 2");
    assert_eq!(complete(PLAIN, Some("2")), expected);
}

#[test]
fn a_milestone_leaves_all_but_three_fields_alone() {
    let after = complete_milestone(BOLD.as_bytes(), "v1.0", "2026-05-06");
    let expected = BOLD
        .replace("Executing", "v1.0 milestone complete")
        .replace("Activity:** 2026-01-01", "Activity:** 2026-05-06")
        .replace("old $1", "v1.0 milestone completed and archived");
    assert_eq!(String::from_utf8(after).unwrap(), expected);
}

#[test]
fn totals_go_down_by_one_and_nothing_else_does() {
    let fewer = |text: &str| String::from_utf8(remove_one_phase(text.as_bytes())).unwrap();
    assert_eq!(fewer(BOLD), BOLD.replace("Phases:** 5", "Phases:** 4"));
    assert_eq!(fewer(PLAIN), PLAIN.replace("1 of 5 (", "1 of 4 ("));
    let zero = "**Total Phases:** 0\nPhase: 3\n";
    assert_eq!(fewer(zero), zero);
}

#[test]
fn a_stub_can_be_read() {
    let milestone = CurrentMilestone { version: "v1.1".to_owned(), name: "Next".to_owned() };
    let text = stub(&milestone, "2026-05-06");
    let read = snapshot::parse(text.as_bytes());
    assert_eq!((read.current_phase, read.status.as_deref()), (None, Some("Resuming")));
}
