//! Draws banners and progress bars as text.
//!
//! At [`ColorLevel::None`] the text never has an escape sequence.

#[cfg(test)]
mod tests;

use crate::color::{
    self, BOLD, BOLD_END, ColorLevel, ColorPair, INVERSE, RESET, background, foreground,
};
use crate::text_width;

/// The colours of the orchestrator's banner; no phase uses red.
pub const ORCHESTRATOR: ColorPair = ColorPair { fill: 196, text: 231 };
/// The default text of the orchestrator's banner.
pub const ORCHESTRATOR_TEXT: &str = "MOW ORCHESTRATOR";

/// Draws a text on a coloured line that is at least `width` columns wide.
pub fn banner(text: &str, pair: ColorPair, width: usize, level: ColorLevel) -> String {
    let line = text_width::pad(&format!(" {} ", text_width::one_line(text)), width);
    let ColorPair { fill, text } = pair;
    match level {
        ColorLevel::None => line,
        ColorLevel::Sixteen => format!("{BOLD}{INVERSE}{line}{RESET}"),
        ColorLevel::Full => format!("{}{}{BOLD}{line}{RESET}", background(fill), foreground(text)),
    }
}

/// Draws an error text between black and yellow stripes.
pub fn error_banner(text: &str, width: usize, level: ColorLevel) -> String {
    let text = text_width::one_line(text);
    // Black on yellow and yellow on black.
    let (yellow, black) = match level {
        ColorLevel::None => return text_width::pad(&format!(" ⚠ {text} ⚠ "), width),
        ColorLevel::Sixteen => ("\x1b[43m\x1b[30m".to_owned(), "\x1b[40m\x1b[33m".to_owned()),
        ColorLevel::Full => (background(226) + &foreground(0), background(0) + &foreground(226)),
    };
    let text = format!(" ⚠  {text}  ⚠ ");
    let room = width.saturating_sub(text_width::width(&text));
    let stripes = |count: usize, first: &str, second: &str| -> String {
        (0..count).map(|i| format!("{} ", if i % 2 == 0 { first } else { second })).collect()
    };
    let left = stripes(room / 2, &yellow, &black);
    let right = stripes(room - room / 2, &black, &yellow);
    format!("{left}{yellow}{BOLD}{text}{BOLD_END}{right}{RESET}")
}

/// A progress bar.
#[derive(Clone, Copy, Debug)]
pub struct ProgressBar {
    /// The progress from 0 to 100; other values are clamped.
    pub percent: f64,
    /// The number of cells between the brackets.
    pub cells: usize,
    /// Whether the work is blocked; the filled part is then drawn hatched.
    pub blocked: bool,
    /// The colour of the filled part; `None` for the default colour.
    pub color: Option<u8>,
}

impl ProgressBar {
    /// Draws the bar with brackets: `[██░░]`.
    pub fn draw(&self, level: ColorLevel) -> String {
        let share = self.percent.clamp(0.0, 100.0) / 100.0;
        // NaN gives an empty bar, because a cast from NaN to an integer is zero.
        let filled = ((share * self.cells as f64).round() as usize).min(self.cells);
        let fill = if self.blocked { "▒" } else { "█" }.repeat(filled);
        let fill = match self.color {
            Some(color) if filled > 0 => color::paint(&fill, color, level),
            _ => fill,
        };
        let mut bar = String::with_capacity(fill.len() + 3 * self.cells + 2);
        bar.push('[');
        bar.push_str(&fill);
        bar.extend(std::iter::repeat_n('░', self.cells - filled));
        bar.push(']');
        bar
    }
}
