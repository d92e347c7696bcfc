//! Choosing the colour level and the colours of phases.

use super::*;

#[test]
fn no_color_wins_over_force_color_over_the_terminal() {
    let level = |no_color, force_color, is_terminal, term| {
        ColorLevel::detect(ColorEnvironment { no_color, force_color, is_terminal, term })
    };
    assert_eq!(level(true, true, true, "xterm-256color"), ColorLevel::None);
    assert_eq!(level(false, true, false, ""), ColorLevel::Full);
    assert_eq!(level(false, false, false, "xterm-256color"), ColorLevel::None);
    assert_eq!(level(false, false, true, "xterm-256color"), ColorLevel::Full);
    assert_eq!(level(false, false, true, "foot-truecolor"), ColorLevel::Full);
    assert_eq!(level(false, false, true, "vt100"), ColorLevel::Sixteen);
}

#[test]
fn the_first_integer_of_a_phase_number_chooses_its_colour() {
    let fill = |phase: &str| phase_colors(&PhaseNumber::parse(phase).unwrap()).fill;
    assert_eq!(
        [fill("0"), fill("3"), fill("03.1"), fill("11"), fill("12")],
        [33, 142, 142, 39, 33]
    );
    assert_eq!(phase_colors(&PhaseNumber::whole(8)), ColorPair { fill: 63, text: 231 });
    assert_eq!(fill("999999999"), 142);
}

#[test]
fn text_is_unchanged_without_colours() {
    assert_eq!(paint("x", 7, ColorLevel::Full), "\x1b[38;5;7mx\x1b[39m");
    assert_eq!(paint("x", 7, ColorLevel::Sixteen), "x");
    assert_eq!(bold("x", ColorLevel::Sixteen), "\x1b[1mx\x1b[22m");
    assert_eq!(bold("x", ColorLevel::None), "x");
}
