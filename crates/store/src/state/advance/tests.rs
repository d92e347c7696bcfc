//! Tests of advancing the position in every dialect.

use super::{Advance, PlanCompletion, advance_plan, set_progress};

const NEXT: Advance = Advance::Next { previous: 2, total: 5 };

fn check(before: &str, outcome: Advance, after: &str) {
    let (bytes, found) = advance_plan(before.as_bytes(), "TODAY").expect(before);
    assert_eq!((String::from_utf8(bytes).unwrap().as_str(), found), (after, outcome));
}

#[test]
fn the_bold_dialect_advances() {
    let text = |plan: &str, status: &str, date: &str| {
        format!(
            "**Current Plan:** {plan}\n**Total Plans in Phase:** 5\n**Status:** {status}\n\
             **Last Activity:** {date}\n"
        )
    };
    let moved = |plan: &str| text(plan, "Ready to execute", "TODAY");
    check(&text("2", "x", "2026-01-01"), NEXT, &moved("3"));
    check(&text("02", "x", "2026-01-01"), NEXT, &moved("03"));
    check(&text("03-02", "x", "2026-01-01"), NEXT, &moved("03-03"));
    check(&text("2 (the api)", "x", ""), NEXT, &moved("3"));
    let last = Advance::Last { current: 5, total: 5 };
    let done = text("5", "Phase complete — ready for verification", "TODAY");
    check(&text("5", "x", "y"), last, &done);
}

#[test]
fn the_template_dialect_advances() {
    let text = |plan: &str, status: &str, activity: &str| {
        format!(
            "## Current Position\n\nPhase: 1 of 3 (A)\nPlan: {plan}\nStatus: {status}\nLast activity: {activity}\n"
        )
    };
    let moved = |plan| text(plan, "Ready to execute", "TODAY — Plan 2 complete");
    let before = |plan| text(plan, "x", "2026-01-01 — y");
    check(&before("2 of 5 in current phase"), NEXT, &moved("3 of 5 in current phase"));
    check(&before("02 of 05"), NEXT, &moved("03 of 05"));
    check(&before("2/5"), NEXT, &moved("3/5"));
    check("Plan: 2 of 5\n", NEXT, "Plan: 3 of 5\n");
}

#[test]
fn a_position_without_plan_numbers_stays_unchanged() {
    for text in [
        "",
        "**Current Plan:** Not started\n**Total Plans in Phase:** 5\n",
        "**Current Plan:** 2\n",
        "**Current Plan:** 2\n**Total Plans in Phase:** many\n",
        "**Current Plan:**\n**Total Plans in Phase:** 5\n",
        "Plan: —\n",
        "Plan: 2 of five\n",
        "**Current Plan:** 99999999999\n**Total Plans in Phase:** 5\n",
        "**Current Plan:** 1\n**Total Plans in Phase:** 99999999999\n",
    ] {
        assert_eq!(advance_plan(text.as_bytes(), "TODAY"), None, "{text:?}");
    }
    let huge = "**Current Plan:** 4294967295\n**Total Plans in Phase:** 4294967295\n";
    let last = Advance::Last { current: u32::MAX, total: u32::MAX };
    check(huge, last, huge);
}

#[test]
fn bars_are_rounded_and_capped() {
    let bar = |completed, total| PlanCompletion { completed, total }.bar();
    assert_eq!(bar(0, 0), "[░░░░░░░░░░] 0%");
    assert_eq!(bar(3, 0), "[░░░░░░░░░░] 0%");
    assert_eq!(bar(1, 3), "[███░░░░░░░] 33%");
    assert_eq!(bar(2, 3), "[███████░░░] 67%");
    assert_eq!(bar(9, 20), "[█████░░░░░] 45%");
    assert_eq!(bar(1, 8), "[█░░░░░░░░░] 13%");
    assert_eq!(bar(4, 3), "[██████████] 100%");
}

#[test]
fn progress_goes_to_its_field_and_keys() {
    let before = "---\nprogress:\n  total_plans: 1\n  completed_plans: 1\n  percent: 100\n---\n\
                  ## Current Position\n\nProgress: [██████████] 100% (old)\n";
    let after = "---\nprogress:\n  total_plans: 2\n  completed_plans: 1\n  percent: 50\n---\n\
                 ## Current Position\n\nProgress: [█████░░░░░] 50%\n";
    let progress = PlanCompletion { completed: 1, total: 2 };
    let result = set_progress(before.as_bytes(), progress).unwrap();
    assert_eq!(String::from_utf8(result).unwrap(), after);
    assert_eq!(set_progress(b"# State\n\n## Progress\n\nx\n", progress), None);
}
