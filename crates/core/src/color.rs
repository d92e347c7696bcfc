//! Chooses how many colours a terminal gets and which colours belong to a phase.
//!
//! Nothing here reads the environment or prints. Escape sequences are returned as text.
//! Start with [`ColorLevel::detect`] and [`phase_colors`].

#[cfg(test)]
mod tests;

use crate::phase::PhaseNumber;

/// Which escape sequences may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorLevel {
    /// No colours and no other escape sequences.
    None,
    /// Bold, inverse and eight basic colours.
    Sixteen,
    /// The palette of 256 colours.
    Full,
}

/// The settings of the environment that decide about colours.
#[derive(Clone, Copy, Debug, Default)]
pub struct ColorEnvironment<'a> {
    /// Whether `NO_COLOR` is set, to any value.
    pub no_color: bool,
    /// Whether `FORCE_COLOR` is set, to any value.
    pub force_color: bool,
    /// Whether standard output is a terminal.
    pub is_terminal: bool,
    /// The value of `TERM`.
    pub term: &'a str,
}

impl ColorLevel {
    /// Chooses the level: `NO_COLOR` wins over `FORCE_COLOR`, which wins over the terminal.
    pub fn detect(environment: ColorEnvironment<'_>) -> Self {
        let has_256_colors =
            environment.term.contains("256color") || environment.term.contains("truecolor");
        match environment {
            ColorEnvironment { no_color: true, .. } => Self::None,
            ColorEnvironment { force_color: true, .. } => Self::Full,
            ColorEnvironment { is_terminal: false, .. } => Self::None,
            _ if has_256_colors => Self::Full,
            _ => Self::Sixteen,
        }
    }
}

/// A background colour and a text colour, as indices into the palette of 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColorPair {
    /// The background colour.
    pub fill: u8,
    /// A text colour that is readable on `fill`.
    pub text: u8,
}

/// The text colour of events without a phase.
pub const NO_PHASE_COLOR: u8 = 250;
/// The text colour of pins without a phase.
pub const NO_PHASE_PIN_COLOR: u8 = 226;

/// The (fill, text) colours that phases take in turn.
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

/// Returns the colours of a phase; they depend only on the first integer of its number.
pub fn phase_colors(number: &PhaseNumber) -> ColorPair {
    let (fill, text) = PALETTE[number.major() as usize % PALETTE.len()];
    ColorPair { fill, text }
}

/// Starts bold text.
pub const BOLD: &str = "\x1b[1m";
/// Ends [`BOLD`].
pub const BOLD_END: &str = "\x1b[22m";
/// Swaps foreground and background of the text that follows.
pub const INVERSE: &str = "\x1b[7m";
/// Ends a foreground colour.
pub const FOREGROUND_END: &str = "\x1b[39m";
/// Ends all colours and styles.
pub const RESET: &str = "\x1b[0m";

/// Returns the escape sequence that sets the text colour.
pub fn foreground(color: u8) -> String {
    format!("\x1b[38;5;{color}m")
}

/// Returns the escape sequence that sets the background colour.
pub fn background(color: u8) -> String {
    format!("\x1b[48;5;{color}m")
}

/// Colours a text with the full palette; returns it unchanged at lower levels.
pub fn paint(text: &str, color: u8, level: ColorLevel) -> String {
    match level {
        ColorLevel::Full => format!("{}{text}{FOREGROUND_END}", foreground(color)),
        ColorLevel::None | ColorLevel::Sixteen => text.to_owned(),
    }
}

/// Makes a text bold; returns it unchanged at [`ColorLevel::None`].
pub fn bold(text: &str, level: ColorLevel) -> String {
    match level {
        ColorLevel::None => text.to_owned(),
        ColorLevel::Sixteen | ColorLevel::Full => format!("{BOLD}{text}{BOLD_END}"),
    }
}
