//! Tests that rows go to the table of plans and to no other table.

use super::{Metric, record};

const METRIC: Metric<'_> =
    Metric { phase: "3", plan: "01", duration: "5min", tasks: Some("2"), files: None };
const ROW: &str = "| Phase 3 P01 | 5min | 2 tasks | - files |\n";
const HEAD: &str = "| Plan | Duration | Tasks | Files |\n|------|----------|-------|-------|\n";

fn check(body: &str, wanted: &str) {
    let file = |body: &str| format!("# S\n\n## Performance Metrics\n\n{body}\n## Next\n\n| a |\n");
    for ending in ["\n", "\r\n"] {
        let before = file(body).replace('\n', ending);
        let result = record(before.as_bytes(), METRIC).expect(body);
        let wanted = file(wanted).replace('\n', ending);
        assert_eq!(String::from_utf8(result).unwrap(), wanted);
    }
}

#[test]
fn a_row_joins_the_table_of_plans() {
    check(
        &format!("{HEAD}| x | y | z | w |\n\n**Trend:** up\n"),
        &format!("{HEAD}| x | y | z | w |\n{ROW}\n**Trend:** up\n"),
    );
    check(HEAD, &format!("{HEAD}{ROW}"));
    check(&format!("{HEAD}None yet\n"), &format!("{HEAD}{ROW}"));
    check(&format!("{HEAD}\nNone yet.\n"), &format!("{HEAD}{ROW}"));
    check(&format!("{HEAD}| None yet | - | - | - |\n"), &format!("{HEAD}{ROW}"));
    check("None yet\n", &format!("{HEAD}{ROW}"));
}

#[test]
fn the_table_by_phase_is_left_alone() {
    let phases = "**By Phase:**\n\n| Phase | Plans | Total | Avg/Plan |\n|-|-|-|-|\n| 1 | 2 | 3m | 1m |\n\n**Recent Trend:**\n- up\n";
    check(phases, &format!("{phases}\n**By Plan:**\n\n{HEAD}{ROW}"));
    let both = format!("{phases}\n{HEAD}");
    check(&both, &format!("{both}{ROW}"));
}

#[test]
fn columns_are_found_by_name() {
    let head = "| Phase | Plan | Duration | Tasks | Files | Completed |\n|-|-|-|-|-|-|\n";
    check(head, &format!("{head}| 3 | 01 | 5min | 2 | - | - |\n"));
}

#[test]
fn prose_is_no_place_for_a_row() {
    assert_eq!(record(b"## Performance Metrics\n\nFast.\n", METRIC), None);
    assert_eq!(record(b"# S\n\n| Plan | Duration |\n|-|-|\n", METRIC), None);
    assert_eq!(record(b"", METRIC), None);
}

#[test]
fn values_are_taken_literally() {
    let metric = Metric { duration: "$1 | `x` \\", ..METRIC };
    let result = record(format!("## Performance Metrics\n{HEAD}").as_bytes(), metric).unwrap();
    assert!(String::from_utf8(result).unwrap().contains("| $1 \\| `x` \\ | 2 tasks |"));
}
