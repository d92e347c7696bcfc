//! Who decides about colours, and which phase has which.

use super::*;

#[test]
fn a_refusal_wins_then_a_demand_then_the_terminal() {
    let level = |no_color, force_color, is_terminal, term| {
        Level::of(Surroundings { no_color, force_color, is_terminal, term })
    };
    assert_eq!(level(true, true, true, "xterm-256color"), Level::None);
    assert_eq!(level(false, true, false, ""), Level::Full);
    assert_eq!(level(false, false, false, "xterm-256color"), Level::None);
    assert_eq!(level(false, false, true, "xterm-256color"), Level::Full);
    assert_eq!(level(false, false, true, "foot-truecolor"), Level::Full);
    assert_eq!(level(false, false, true, "vt100"), Level::Sixteen);
}

#[test]
fn the_integer_of_a_phase_chooses_its_colour() {
    let fill = |phase: &str| of_phase(&PhaseNumber::parse(phase).unwrap()).fill;
    assert_eq!(
        [fill("0"), fill("3"), fill("03.1"), fill("11"), fill("12")],
        [33, 142, 142, 39, 33]
    );
    assert_eq!(of_phase(&PhaseNumber::whole(8)), Pair { fill: 63, text: 231 });
    assert_eq!(fill("999999999"), 142);
}

#[test]
fn text_stays_as_it_is_without_colours() {
    assert_eq!(painted("x", 7, Level::Full), "\x1b[38;5;7mx\x1b[39m");
    assert_eq!(painted("x", 7, Level::Sixteen), "x");
    assert_eq!(bold("x", Level::Sixteen), "\x1b[1mx\x1b[22m");
    assert_eq!(bold("x", Level::None), "x");
}
