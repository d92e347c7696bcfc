//! Tests that there is one row per phase and tier.

use super::{VerificationResult, record};

const STATE: &str = "# State\n\n## Session Continuity\n\nx\n";

fn outcome<'a>(phase: &'a str, tier: &'a str, result: &'a str) -> VerificationResult<'a> {
    VerificationResult { phase, tier, result, date: "2026-01-01", blockers: "none" }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn d7_results_stand_below_the_worktrees_and_not_at_the_end() {
    let once = text(record(STATE.as_bytes(), &outcome("3", "1", "pass")));
    let twice = text(record(once.as_bytes(), &outcome("3", "2", "fail")));
    let expected = "|-------|\n\n### Verification Results\n\n\
        | Phase | Tier | Result | Date | Blockers |\n\
        |-------|------|--------|------|----------|\n\
        | 3 | 1 | pass | 2026-01-01 | none |\n\
        | 3 | 2 | fail | 2026-01-01 | none |\n\n## Session Continuity\n\nx\n";
    assert!(twice.ends_with(expected), "{twice}");
}

#[test]
fn a_result_replaces_all_rows_of_its_phase_and_tier() {
    let once = text(record(STATE.as_bytes(), &outcome("3", "goal", "pass")));
    let row = "| 3 | goal | pass | 2026-01-01 | none |\n";
    let doubled = once.replace(row, &format!("{row}| 03 | Goal | fail | x | y |\n"));
    let again = text(record(doubled.as_bytes(), &outcome("03", "goal", "fail")));
    assert_eq!(again, once.replace("pass", "fail"));
}
