//! Banners and bars, sequence by sequence.

use proptest::prelude::*;

use super::*;

#[test]
fn a_banner_fills_its_line() {
    assert_eq!(banner("HI", ORCHESTRATOR, 8, Level::None), " HI     ");
    assert_eq!(banner("HI", ORCHESTRATOR, 8, Level::Sixteen), "\x1b[1m\x1b[7m HI     \x1b[0m");
    assert_eq!(
        banner("HI", ORCHESTRATOR, 8, Level::Full),
        "\x1b[48;5;196m\x1b[38;5;231m\x1b[1m HI     \x1b[0m"
    );
}

#[test]
fn caution_stripes_alternate_from_yellow_left_and_black_right() {
    assert_eq!(error_banner("x", 10, Level::None), " ⚠ x ⚠    ");
    let (yellow, black) = ("\x1b[48;5;226m\x1b[38;5;0m", "\x1b[48;5;0m\x1b[38;5;226m");
    assert_eq!(
        error_banner("x", 14, Level::Full),
        format!(
            "{yellow} {black} {yellow}\x1b[1m ⚠  x  ⚠ \x1b[22m{black} {yellow} {black} \x1b[0m"
        )
    );
}

#[test]
fn bars_round_and_stay_within_their_cells() {
    let bar = |percent, blocked| Bar { percent, cells: 10, blocked, color: None }.draw(Level::Full);
    assert_eq!(bar(45.0, false), "[█████░░░░░]");
    assert_eq!(bar(44.9, true), "[▒▒▒▒░░░░░░]");
    assert_eq!(bar(-3.0, false), "[░░░░░░░░░░]");
    assert_eq!(bar(1e9, false), "[██████████]");
    assert_eq!(bar(f64::NAN, false), "[░░░░░░░░░░]");
    let colored = Bar { percent: 50.0, cells: 2, blocked: false, color: Some(9) };
    assert_eq!(colored.draw(Level::Full), "[\x1b[38;5;9m█\x1b[39m░]");
    assert_eq!(colored.draw(Level::Sixteen), "[█░]");
}

proptest! {
    #[test]
    fn nothing_is_coloured_without_colours(text in ".{0,30}", width in 1_usize..60) {
        for line in [
            banner(&text, ORCHESTRATOR, width, Level::None),
            error_banner(&text, width, Level::None),
        ] {
            prop_assert!(!line.contains(char::is_control), "{line:?}");
            prop_assert!(fit::width(&line) >= width);
        }
    }
}
