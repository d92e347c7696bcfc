//! Tests of the notations of a phase line.

use super::PhaseLine;

fn check(value: &str, expected: &str) {
    let shown = PhaseLine::parse(value).map_or("none".to_owned(), |line| {
        let total = line.total.map_or(String::new(), |total| format!(" of {total}"));
        format!(
            "{}{total} | {} | {}",
            line.number,
            line.name.unwrap_or_default(),
            line.status.unwrap_or_default()
        )
    });
    assert_eq!(shown, expected, "{value:?}");
}

#[test]
fn phase_lines_are_parsed_in_all_notations() {
    check("3 of 7 (Name)", "3 of 7 | Name | ");
    check("3", "3 |  | ");
    check("08", "08 |  | ");
    check("3 (name) — EXECUTING", "3 | name | EXECUTING");
    check("3 of 7 (Name) — COMPLETE", "3 of 7 | Name | COMPLETE");
    check("101 of 101 (milestone v1.2.3 complete)", "101 of 101 |  | milestone v1.2.3 complete");
    check("15 of 15 (COMPLETE)", "15 of 15 |  | COMPLETE");
    check("27 — Settings & Labels", "27 | Settings & Labels | ");
    check("92 Linked publish — in progress", "92 | Linked publish | in progress");
    check("Phase 07 — History (done)", "07 | History (done) | ");
    check("3.1c.3 — Bootstrap", "3.1c.3 | Bootstrap | ");
    check("4/9: Search", "4 of 9 | Search | ");
}

#[test]
fn lines_without_a_phase_are_rejected() {
    for value in [
        "—",
        "None",
        "Milestone v1.2 complete",
        "Not started (first phase)",
        "v1.3 complete",
        "all of 1-4 complete",
        "(none — milestone complete)",
        "",
    ] {
        check(value, "none");
    }
}
