//! The dashboard, line by line.

use proptest::prelude::*;

use super::*;

fn row(phase: &str, plans: (usize, usize)) -> Row {
    let [name, elapsed] = ["Sign in", "5m"].map(str::to_owned);
    let activity = "writes tests".to_owned();
    Row { phase: phase.to_owned(), name, plans, activity, elapsed, ..Row::default() }
}

fn event(kind: &str, phase: Option<&str>, detail: &str) -> Event {
    let time = "10:05".to_owned();
    let phase = phase.map(str::to_owned);
    Event { kind: kind.to_owned(), phase, detail: detail.to_owned(), time }
}

fn pin(is_error: bool, phase: Option<&str>, what: &str) -> Pin {
    Pin { is_error, phase: phase.map(str::to_owned), what: what.to_owned() }
}

#[test]
fn rows_have_fixed_columns() {
    let name = "A name that is much too long".to_owned();
    let activity = "does something that takes words".to_owned();
    let rows = vec![
        row("3", (1, 3)),
        Row { blocked: true, waiting: true, name, activity, ..row("3.1", (2, 2)) },
        Row { complete: true, ..row("4", (0, 0)) },
    ];
    let lines = Dashboard { rows, ..Dashboard::default() }.lines(20, Level::None);
    assert_eq!(
        lines,
        [
            "Phase 3: Sign in          [███░░░░░░░]  33%  writes tests             5m",
            "Phase 3.1: A name that... [▒▒▒▒▒▒▒▒▒▒] 100%  Awaiting input           5m",
            "✓ Phase 4 (5m)",
            "────────────────────",
        ]
    );
    let long = Row { activity: "does something that takes words".to_owned(), ..row("3", (0, 1)) };
    assert!(long.line(Level::None).contains("  does something that...   5m"));
}

#[test]
fn events_and_pins_say_where_and_what() {
    let dashboard = Dashboard {
        events: vec![
            event("plan_started", Some("3"), "plan 03-01"),
            event("plan_complete", Some("3"), "plan 03-01"),
            event("stage_transition", Some("3"), "executing"),
            event("error", None, "lost"),
            event("input_needed", Some("3"), ""),
            event("phase_complete", Some("3"), "2 plans"),
            event("ack", None, ""),
        ],
        pins: vec![pin(true, None, "lost"), pin(false, Some("3"), "stage_gate")],
        ..Dashboard::default()
    };
    assert_eq!(
        dashboard.lines(60, Level::None),
        [
            "No active phases",
            "────────────────────────────────────────────────────────────",
            "10:05 [Phase 3] plan 03-01",
            "10:05 [Phase 3] ✓ plan 03-01",
            "10:05 [Phase 3] → executing",
            "10:05 [--] ✗ lost",
            "10:05 [Phase 3] ⚠ INPUT NEEDED: unknown -- Switch to Phas...",
            "━━━ Phase 3: Complete (2 plans) ━━━",
            "10:05 [--] ack",
            "",
            "✗ [--] ERROR: lost",
            "⚠ [Phase 3] INPUT NEEDED: stage_gate -- Switch to Phase 3...",
        ]
    );
    assert_eq!(Dashboard::default().lines(60, Level::Full), ["No active phases"]);
}

#[test]
fn phases_keep_their_colour() {
    let full = Level::Full;
    assert!(row("3", (0, 1)).line(full).starts_with("\x1b[38;5;142mPhase 3"));
    assert_eq!(
        event("stage_transition", Some("03"), "x").line(80, full),
        "\x1b[38;5;142m\x1b[1m10:05 [Phase 03] → x\x1b[22m\x1b[39m"
    );
    assert_eq!(event("x", None, "y").line(80, full), "\x1b[38;5;250m10:05 [--] y\x1b[39m");
    assert_eq!(pin(true, None, "y").line(80, full), "\x1b[38;5;226m✗ [--] ERROR: y\x1b[39m");
    let bold = event("phase_complete", Some("3"), "").line(80, Level::Sixteen);
    assert_eq!(bold, "\x1b[1m━━━ Phase 3: Complete ━━━\x1b[22m");
}

#[test]
fn a_run_through_a_milestone_counts_places_not_numbers() {
    let auto = AutoAdvance { phase: "7".to_owned(), place: 2, total: 3, done: 1 };
    let text = "AUTO-ADVANCE  Phase 2/3  Milestone: 33%  1/3 done";
    assert_eq!(auto.line(50, Level::None), text);
    assert_eq!(auto.line(50, Level::Sixteen), text);
    assert_eq!(auto.line(50, Level::Full), format!("\x1b[48;5;27m\x1b[38;5;231m{text} \x1b[0m"));
}

#[test]
fn numbers_are_rounded_and_never_break() {
    assert_eq!([percent(1, 3), percent(2, 3), percent(1, 8), percent(5, 3)], [33, 67, 13, 100]);
    assert_eq!([percent(0, 0), percent(3, 0), percent(usize::MAX, usize::MAX)], [0, 0, 100]);
    let seconds = [-5, 0, 59, 60, 3599, 3600, 86_399, 86_400, 864_000];
    let expected = ["0s", "0s", "59s", "1m", "59m", "1h", "23h", "1d", "10d"];
    assert_eq!(seconds.map(elapsed), expected);
}

proptest! {
    #[test]
    fn no_text_brings_sequences_in(text in "[\\x00-\\x7f\u{80}-\u{9f}é]{0,40}", width in 1_usize..50) {
        let dashboard = Dashboard {
            rows: vec![Row { name: text.clone(), elapsed: text.clone(), ..row(&text, (1, 2)) }],
            events: vec![event(&text, Some(&text), &text), event("phase_complete", None, &text)],
            pins: vec![pin(true, Some(&text), &text), pin(false, None, &text)],
            auto: None,
        };
        for line in dashboard.lines(width, Level::None) {
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
