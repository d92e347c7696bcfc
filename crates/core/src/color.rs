//! Colours as values: how many a terminal has, and which one belongs to a phase.
//!
//! Nothing here asks the environment or prints; the sequences are text that the caller may write.
//! Start with [`Level::of`] and [`of_phase`].

#[cfg(test)]
mod tests;

use crate::phase::PhaseNumber;

/// How many colours may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// None at all, and no other sequences either.
    None,
    /// The basic ones: bold, inverse and eight colours.
    Sixteen,
    /// The palette of 256.
    Full,
}

/// What the world says about colours.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// Whether `NO_COLOR` is set, to whatever value.
    pub no_color: bool,
    /// Whether `FORCE_COLOR` is set, to whatever value.
    pub force_color: bool,
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// The value of `TERM`.
    pub term: &'a str,
}

impl Level {
    /// Decides how many colours may be used: a refusal wins, then a demand, then the terminal.
    pub fn of(around: Surroundings<'_>) -> Self {
        let is_rich = around.term.contains("256color") || around.term.contains("truecolor");
        match around {
            Surroundings { no_color: true, .. } => Self::None,
            Surroundings { force_color: true, .. } => Self::Full,
            Surroundings { is_terminal: false, .. } => Self::None,
            _ if is_rich => Self::Full,
            _ => Self::Sixteen,
        }
    }
}

/// A colour to fill with and one to write on it, by their numbers in the palette of 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The colour of the phase.
    pub fill: u8,
    /// The colour of text on it.
    pub text: u8,
}

/// What events without a phase are written in.
pub const NO_PHASE: u8 = 250;
/// What pins without a phase are written in.
pub const NO_PHASE_PIN: u8 = 226;

const PALETTE: [(u8, u8); 12] = [
    (33, 231),
    (37, 231),
    (71, 16),
    (142, 16),
    (166, 16),
    (133, 231),
    (44, 16),
    (172, 16),
    (63, 231),
    (108, 16),
    (175, 16),
    (39, 16),
];

/// Returns the colours of a phase, told by the integer in front of its number.
pub fn of_phase(number: &PhaseNumber) -> Pair {
    let (fill, text) = PALETTE[number.major() as usize % PALETTE.len()];
    Pair { fill, text }
}

/// Makes what follows bold.
pub const BOLD: &str = "\x1b[1m";
/// Ends [`BOLD`].
pub const BOLD_END: &str = "\x1b[22m";
/// Swaps the colours of what follows.
pub const INVERSE: &str = "\x1b[7m";
/// Ends a foreground colour.
pub const FOREGROUND_END: &str = "\x1b[39m";
/// Ends everything.
pub const RESET: &str = "\x1b[0m";

/// Returns the sequence that sets the colour of text.
pub fn foreground(color: u8) -> String {
    format!("\x1b[38;5;{color}m")
}

/// Returns the sequence that sets the colour behind text.
pub fn background(color: u8) -> String {
    format!("\x1b[48;5;{color}m")
}

/// Returns a text in a colour of the full palette; unchanged where there is none.
pub fn painted(text: &str, color: u8, level: Level) -> String {
    match level {
        Level::Full => format!("{}{text}{FOREGROUND_END}", foreground(color)),
        Level::None | Level::Sixteen => text.to_owned(),
    }
}

/// Returns a text in bold; unchanged where there are no sequences.
pub fn bold(text: &str, level: Level) -> String {
    match level {
        Level::None => text.to_owned(),
        Level::Sixteen | Level::Full => format!("{BOLD}{text}{BOLD_END}"),
    }
}
