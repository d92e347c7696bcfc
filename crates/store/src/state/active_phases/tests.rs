//! Tests that an update changes one row and the next-unblockable line, and nothing else.

use super::{
    ActivePhase, ActivePhaseChange, ActivePhaseError, ensure, next_unblockable, parse, set_rows,
    update_row,
};
use mow_core::phase::PhaseNumber;

const STATE: &str = "# State

## Active Phases

| Phase | Name | Status | Worker | Plans | Last Update |
|-------|------|--------|--------|-------|-------------|
| 7 | Feature \\| X | executing | w1 | 1/3 |  |
| 10 | Late | blocked (7, 8) | -- | 0/2 | then |

**Next unblockable:** --

## Performance Metrics
";

fn update(before: &str, phase: &str, change: ActivePhaseChange<'_>) -> String {
    let (bytes, _) = update_row(before.as_bytes(), phase, change).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn cells_are_read_by_name_with_empty_and_escaped_ones() {
    let rows = parse(STATE.as_bytes()).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].name.as_str(), rows[0].last_update.as_str()), ("Feature | X", ""));
    assert_eq!(parse(b"# State\n"), None);
}

#[test]
fn an_update_sets_its_cells_and_the_next_line() {
    let change = ActivePhaseChange {
        status: Some("complete"),
        last_update: "now",
        ..ActivePhaseChange::default()
    };
    let expected = STATE
        .replace(
            "| 7 | Feature \\| X | executing | w1 | 1/3 |  |",
            "| 7 | Feature \\| X | complete | w1 | 1/3 | now |",
        )
        .replace(
            "**Next unblockable:** --",
            "**Next unblockable:** Phase 10 (Late) -- 1 dep(s) remaining",
        );
    assert_eq!(update(STATE, "07", change), expected);
}

#[test]
fn a_new_row_stands_where_its_number_belongs() {
    let change = ActivePhaseChange {
        status: Some("executing"),
        name: Some("Mid $1 | x"),
        last_update: "now",
        ..ActivePhaseChange::default()
    };
    let result = update(STATE, "8", change);
    let lines: Vec<_> = result.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(lines[2], "| 8 | Mid $1 \\| x | executing | -- | 0/0 | now |");
    assert_eq!(lines.len(), 4);
    assert!(result.contains("\n\n## Performance Metrics\n"), "the blank line stays");
    let incomplete = update_row(STATE.as_bytes(), "9", ActivePhaseChange::default());
    assert_eq!(incomplete, Err(ActivePhaseError::NewRowIncomplete("9".to_owned())));
}

#[test]
fn rows_out_of_order_are_sorted_with_their_bytes() {
    let before = "## Active Phases\n\n| Phase | Name | Status | Worker | Plans | Last Update |\n|--|--|--|--|--|--|\n| 6.10 | b |s| -- | 0/0 |x|\n| 6.2 | a | s | -- | 0/0 | x |\n";
    let change = ActivePhaseChange {
        status: Some("s"),
        name: Some("c"),
        last_update: "x",
        ..ActivePhaseChange::default()
    };
    let after = update(before, "6.3", change);
    let order: Vec<_> =
        after.lines().skip(4).take(3).map(|line| line.split('|').nth(1).unwrap().trim()).collect();
    assert_eq!(order, ["6.2", "6.3", "6.10"]);
    assert!(after.contains("| 6.10 | b |s| -- | 0/0 |x|\n"));
}

#[test]
fn older_tables_are_addressed_by_their_headers() {
    let before = "## Active Phases\r\n| Phase | Status | Worktree | Plan Progress |\r\n|---|---|---|---|\r\n| 7. Feature X | executing | p07 | 1/3 |\r\n";
    let rows = parse(before.as_bytes()).unwrap();
    assert_eq!(
        (
            rows[0].phase.as_str(),
            rows[0].name.as_str(),
            rows[0].worker.as_str(),
            rows[0].plans.as_str()
        ),
        ("7", "Feature X", "p07", "1/3")
    );
    let change = ActivePhaseChange {
        plans: Some("2/3"),
        last_update: "now",
        ..ActivePhaseChange::default()
    };
    let after = update(before, "7", change);
    assert!(after.starts_with(&before.replace("1/3", "2/3")), "{after}");
    assert!(after.ends_with("\r\n\r\n**Next unblockable:** --\r\n"), "{after:?}");
}

#[test]
fn the_next_phase_has_the_fewest_open_dependencies() {
    let row = |phase: &str, status: &str| ActivePhase {
        phase: phase.into(),
        name: format!("N{phase}"),
        status: status.into(),
        ..ActivePhase::default()
    };
    assert_eq!(
        next_unblockable(&[row("1", "complete"), row("2", "blocked (1)")]),
        "Phase 2 (N2) -- ready to unblock"
    );
    assert_eq!(
        next_unblockable(&[row("2", "blocked (7-10)"), row("3", "blocked (7, 8)")]),
        "Phase 3 (N3) -- 2 dep(s) remaining"
    );
    assert_eq!(next_unblockable(&[]), "--");
}

#[test]
fn rows_that_are_sorted_anew_keep_their_bytes() {
    let file = b"## Active Phases\n| Phase | Name |\n|--|--|\n| 9 | \xff |\n| 2 | b |\n";
    let change = ActivePhaseChange {
        name: Some("c"),
        status: Some("ready"),
        ..ActivePhaseChange::default()
    };
    let (new, _) = update_row(file, "5", change).expect("the section is there");
    let rows = b"| 2 | b |\n| 5 | c |\n| 9 | \xff |\n";
    assert!(new.windows(rows.len()).any(|window| window == rows));
}

#[test]
fn a_new_table_takes_no_rows_from_the_lines_below() {
    let change = ActivePhaseChange {
        name: Some("c"),
        status: Some("ready"),
        ..ActivePhaseChange::default()
    };
    let (new, _) = update_row(b"## Active Phases\na | b\n", "5", change).expect("a section");
    assert_eq!(parse(&new).expect("the section is there").len(), 1);
}

/// Sets the rows of phases to a status, all at once.
fn set_all(before: &str, rows: &[(u32, &'static str)]) -> String {
    let change = |status: &'static str| ActivePhaseChange {
        name: Some("N"),
        status: Some(status),
        last_update: "now",
        ..ActivePhaseChange::default()
    };
    let rows = rows.iter().map(|(phase, status)| (PhaseNumber::whole(*phase), change(status)));
    let bytes = set_rows(&ensure(before.as_bytes()), &rows.collect::<Vec<_>>()).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn many_rows_are_written_at_once() {
    let rows = [(11, "blocked (8,10)"), (8, "executing"), (9, "blocked (8)"), (10, "complete")];
    let text = set_all(STATE, &rows);
    let one_by_one = rows.iter().fold(STATE.to_owned(), |text, row| set_all(&text, &[*row]));
    assert_eq!(text, one_by_one);
    let shown: Vec<_> = parse(text.as_bytes()).unwrap().into_iter().map(|row| row.phase).collect();
    assert_eq!(shown, ["7", "8", "9", "10", "11"]);
    assert!(text.contains("| 7 | Feature \\| X | executing | w1 | 1/3 |  |\n"), "{text}");
    assert!(text.contains("**Next unblockable:** Phase 9 (N) -- 1 dep(s) remaining\n"), "{text}");
}

#[test]
fn a_missing_table_is_made_before_the_metrics() {
    let table = "## Active Phases\n\n| Phase | Name | Status | Worker | Plans | Last Update |\n\
                 |-------|------|--------|--------|-------|-------------|\n";
    let row = "| 2 | N | not started | -- | 0/0 | now |\n\n**Next unblockable:** --\n";
    let text = set_all("# S\n\n## Performance Metrics\n\nx\n", &[(2, "not started")]);
    assert_eq!(text, format!("# S\n\n{table}{row}\n## Performance Metrics\n\nx\n"));
    assert_eq!(set_all("# S\n", &[(2, "not started")]), format!("# S\n\n{table}{row}"));
}
