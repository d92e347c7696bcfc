//! Exact lines of the dashboard.

use proptest::prelude::*;

use super::*;

fn row(phase: &str, plans: (usize, usize)) -> DashboardRow {
    let [name, elapsed] = ["Sign in", "5m"].map(str::to_owned);
    let activity = "writes tests".to_owned();
    DashboardRow {
        phase: phase.to_owned(),
        name,
        plans,
        activity,
        elapsed,
        ..DashboardRow::default()
    }
}

fn event(kind: &str, phase: Option<&str>, detail: &str) -> EventRow {
    let time = "10:05".to_owned();
    let phase = phase.map(str::to_owned);
    EventRow { kind: kind.to_owned(), phase, detail: detail.to_owned(), time }
}

fn pin(is_error: bool, phase: Option<&str>, subject: &str) -> PinRow {
    PinRow { is_error, phase: phase.map(str::to_owned), subject: subject.to_owned() }
}

#[test]
fn rows_have_fixed_columns() {
    let name = "A name that is much too long".to_owned();
    let activity = "does something that takes words".to_owned();
    let rows = vec![
        row("3", (1, 3)),
        DashboardRow { blocked: true, waiting: true, name, activity, ..row("3.1", (2, 2)) },
        DashboardRow { complete: true, ..row("4", (0, 0)) },
    ];
    let lines = DashboardView { rows, ..DashboardView::default() }.lines(20, ColorLevel::None);
    assert_eq!(
        lines,
        [
            "Phase 3: Sign in          [███░░░░░░░]  33%  writes tests             5m",
            "Phase 3.1: A name that... [▒▒▒▒▒▒▒▒▒▒] 100%  Awaiting input           5m",
            "✓ Phase 4 (5m)",
            "────────────────────",
        ]
    );
    let long =
        DashboardRow { activity: "does something that takes words".to_owned(), ..row("3", (0, 1)) };
    assert!(long.line(ColorLevel::None).contains("  does something that...   5m"));
}

#[test]
fn events_and_pins_show_phase_and_subject() {
    let dashboard = DashboardView {
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
        ..DashboardView::default()
    };
    assert_eq!(
        dashboard.lines(60, ColorLevel::None),
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
    assert_eq!(DashboardView::default().lines(60, ColorLevel::Full), ["No active phases"]);
}

#[test]
fn phases_keep_their_colour() {
    let full = ColorLevel::Full;
    assert!(row("3", (0, 1)).line(full).starts_with("\x1b[38;5;142mPhase 3"));
    assert_eq!(
        event("stage_transition", Some("03"), "x").line(80, full),
        "\x1b[38;5;142m\x1b[1m10:05 [Phase 03] → x\x1b[22m\x1b[39m"
    );
    assert_eq!(event("x", None, "y").line(80, full), "\x1b[38;5;250m10:05 [--] y\x1b[39m");
    assert_eq!(pin(true, None, "y").line(80, full), "\x1b[38;5;226m✗ [--] ERROR: y\x1b[39m");
    let bold = event("phase_complete", Some("3"), "").line(80, ColorLevel::Sixteen);
    assert_eq!(bold, "\x1b[1m━━━ Phase 3: Complete ━━━\x1b[22m");
}

#[test]
fn auto_advance_shows_positions_not_phase_numbers() {
    let auto = AutoAdvance { phase: "7".to_owned(), position: 2, total: 3, done: 1 };
    let text = "AUTO-ADVANCE  Phase 2/3  Milestone: 33%  1/3 done";
    assert_eq!(auto.line(50, ColorLevel::None), text);
    assert_eq!(auto.line(50, ColorLevel::Sixteen), text);
    assert_eq!(
        auto.line(50, ColorLevel::Full),
        format!("\x1b[48;5;27m\x1b[38;5;231m{text} \x1b[0m")
    );
}

#[test]
fn percentages_are_rounded_and_durations_use_one_unit() {
    assert_eq!([percent(1, 3), percent(2, 3), percent(1, 8), percent(5, 3)], [33, 67, 13, 100]);
    assert_eq!([percent(0, 0), percent(3, 0), percent(usize::MAX, usize::MAX)], [0, 0, 100]);
    let seconds = [-5, 0, 59, 60, 3599, 3600, 86_399, 86_400, 864_000];
    let expected = ["0s", "0s", "59s", "1m", "59m", "1h", "23h", "1d", "10d"];
    assert_eq!(seconds.map(format_elapsed), expected);
}

proptest! {
    #[test]
    fn no_text_adds_escape_sequences(text in "[\\x00-\\x7f\u{80}-\u{9f}é]{0,40}", width in 1_usize..50) {
        let dashboard = DashboardView {
            rows: vec![DashboardRow { name: text.clone(), elapsed: text.clone(), ..row(&text, (1, 2)) }],
            events: vec![event(&text, Some(&text), &text), event("phase_complete", None, &text)],
            pins: vec![pin(true, Some(&text), &text), pin(false, None, &text)],
            auto: None,
        };
        for line in dashboard.lines(width, ColorLevel::None) {
            prop_assert!(!line.contains(char::is_control), "{line:?}");
        }
    }
}
