//! Exact escape sequences of banners and bars.

use proptest::prelude::*;

use super::*;

#[test]
fn a_banner_fills_its_line() {
    assert_eq!(banner("HI", ORCHESTRATOR, 8, ColorLevel::None), " HI     ");
    assert_eq!(banner("HI", ORCHESTRATOR, 8, ColorLevel::Sixteen), "\x1b[1m\x1b[7m HI     \x1b[0m");
    assert_eq!(
        banner("HI", ORCHESTRATOR, 8, ColorLevel::Full),
        "\x1b[48;5;196m\x1b[38;5;231m\x1b[1m HI     \x1b[0m"
    );
}

#[test]
fn caution_stripes_alternate_from_yellow_left_and_black_right() {
    assert_eq!(error_banner("x", 10, ColorLevel::None), " ⚠ x ⚠    ");
    let (yellow, black) = ("\x1b[48;5;226m\x1b[38;5;0m", "\x1b[48;5;0m\x1b[38;5;226m");
    assert_eq!(
        error_banner("x", 14, ColorLevel::Full),
        format!(
            "{yellow} {black} {yellow}\x1b[1m ⚠  x  ⚠ \x1b[22m{black} {yellow} {black} \x1b[0m"
        )
    );
}

#[test]
fn bars_round_and_stay_within_their_cells() {
    let bar = |percent, blocked| {
        ProgressBar { percent, cells: 10, blocked, color: None }.draw(ColorLevel::Full)
    };
    assert_eq!(bar(45.0, false), "[█████░░░░░]");
    assert_eq!(bar(44.9, true), "[▒▒▒▒░░░░░░]");
    assert_eq!(bar(-3.0, false), "[░░░░░░░░░░]");
    assert_eq!(bar(1e9, false), "[██████████]");
    assert_eq!(bar(f64::NAN, false), "[░░░░░░░░░░]");
    let colored = ProgressBar { percent: 50.0, cells: 2, blocked: false, color: Some(9) };
    assert_eq!(colored.draw(ColorLevel::Full), "[\x1b[38;5;9m█\x1b[39m░]");
    assert_eq!(colored.draw(ColorLevel::Sixteen), "[█░]");
}

proptest! {
    #[test]
    fn no_escape_sequences_without_colours(text in ".{0,30}", width in 1_usize..60) {
        for line in [
            banner(&text, ORCHESTRATOR, width, ColorLevel::None),
            error_banner(&text, width, ColorLevel::None),
        ] {
            prop_assert!(!line.contains(char::is_control), "{line:?}");
            prop_assert!(text_width::width(&line) >= width);
        }
    }
}
