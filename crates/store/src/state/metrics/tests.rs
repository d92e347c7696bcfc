//! Tests that rows go to the table of plans and to no other table.

use mow_core::phase::PhaseNumber;

use super::{Metric, PlanMeasure, record, record_phase};

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

/// Records plans of phase 3, twice.
fn check_run(body: &str, plans: &[(&str, u64)], wanted: &str) {
    let file = |body: &str| format!("# S\n\n## Performance Metrics\n\n{body}\n## Next\n");
    let plans: Vec<_> = plans
        .iter()
        .map(|(plan, seconds)| PlanMeasure { plan, seconds: *seconds, tasks: 2 })
        .collect();
    let phase = PhaseNumber::whole(3);
    let once = record_phase(file(body).as_bytes(), &phase, &plans);
    assert_eq!(String::from_utf8(once.clone()).unwrap(), file(wanted));
    assert_eq!(record_phase(&once, &phase, &plans), once, "a second write changes nothing");
}

#[test]
fn a_run_adds_each_plan_once() {
    let rows = "| Phase 03 P01 | 9min | 1 tasks | 4 files |\n";
    check_run(
        &format!("{HEAD}{rows}"),
        &[("01", 5), ("02", 300)],
        &format!("{HEAD}{rows}| Phase 3 P02 | 5min | 2 tasks | - files |\n"),
    );
    let columns = "| Phase | Plan | Duration |\n|---|---|---|\n| 3 | 01 | 9min |\n";
    check_run(columns, &[("01", 5)], columns);
    check_run("Prose about speed.\n", &[("01", 5)], "Prose about speed.\n");
}

#[test]
fn a_run_updates_the_velocity_and_the_row_of_its_phase() {
    let head = "| Phase | Plans | Total | Avg/Plan |\n|-------|-------|-------|----------|\n";
    let file = |velocity: [&str; 3], rows: &str| {
        let [plans, average, total] = velocity;
        format!(
            "**Velocity:**\n- Total plans completed: {plans}\n- Average duration: {average}\n\
             - Total execution time: {total}\n\n**By Phase:**\n\n{head}{rows}\n\
             **Recent Trend:**\n- up\n"
        )
    };
    check_run(
        &file(["0", "-", "0 hours"], "| - | - | - | - |\n"),
        &[("01", 120), ("02", 240)],
        &file(["2", "3min", "6min"], "| 3 | 2 | 6min | 3min |\n"),
    );
    let before = "| 1. Base | 4 | 20min | 5min |\n| 3. Next | 1 | 2min | 2min |\n";
    let after = "| 1. Base | 4 | 20min | 5min |\n| 3. Next | 2 | 6min | 3min |\n";
    check_run(
        &file(["5", "4min", "22 min"], before),
        &[("01", 120), ("02", 240)],
        &file(["6", "4min 20s", "26min"], after),
    );
    let counted = file(["unknown", "x", "long"], after);
    check_run(&counted, &[("01", 120)], &counted);
}
