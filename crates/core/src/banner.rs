//! Banners and bars: lines drawn as pure functions of a text, a width and a colour level.
//!
//! Without colours no escape sequence is ever in them.

#[cfg(test)]
mod tests;

use crate::color::{self, BOLD, BOLD_END, INVERSE, Level, Pair, RESET, background, foreground};
use crate::fit;

/// The colours of the orchestrator's banner: red is nobody else's.
pub const ORCHESTRATOR: Pair = Pair { fill: 196, text: 231 };
/// What the orchestrator's banner says by default.
pub const ORCHESTRATOR_TEXT: &str = "MOW ORCHESTRATOR";

/// Draws a text on a coloured line.
pub fn banner(text: &str, pair: Pair, width: usize, level: Level) -> String {
    let line = fit::pad(&format!(" {} ", fit::one_line(text)), width);
    let Pair { fill, text } = pair;
    match level {
        Level::None => line,
        Level::Sixteen => format!("{BOLD}{INVERSE}{line}{RESET}"),
        Level::Full => format!("{}{}{BOLD}{line}{RESET}", background(fill), foreground(text)),
    }
}

/// Draws a text between caution stripes.
pub fn error_banner(text: &str, width: usize, level: Level) -> String {
    let text = fit::one_line(text);
    // Black on yellow and yellow on black.
    let (yellow, black) = match level {
        Level::None => return fit::pad(&format!(" ⚠ {text} ⚠ "), width),
        Level::Sixteen => ("\x1b[43m\x1b[30m".to_owned(), "\x1b[40m\x1b[33m".to_owned()),
        Level::Full => (background(226) + &foreground(0), background(0) + &foreground(226)),
    };
    let text = format!(" ⚠  {text}  ⚠ ");
    let room = width.saturating_sub(fit::width(&text));
    let stripes = |count: usize, first: &str, second: &str| -> String {
        (0..count).map(|i| format!("{} ", if i % 2 == 0 { first } else { second })).collect()
    };
    let left = stripes(room / 2, &yellow, &black);
    let right = stripes(room - room / 2, &black, &yellow);
    format!("{left}{yellow}{BOLD}{text}{BOLD_END}{right}{RESET}")
}

/// A bar that shows how far something is.
#[derive(Clone, Copy, Debug)]
pub struct Bar {
    /// From 0 to 100; what lies outside counts as the nearer end.
    pub percent: f64,
    /// The cells between the brackets.
    pub cells: usize,
    /// Whether it stands still.
    pub blocked: bool,
    /// The colour of the filled part.
    pub color: Option<u8>,
}

impl Bar {
    /// Draws the bar.
    pub fn draw(&self, level: Level) -> String {
        let share = self.percent.clamp(0.0, 100.0) / 100.0;
        // A number that is none makes an empty bar: such a cast saturates at zero.
        let filled = ((share * self.cells as f64).round() as usize).min(self.cells);
        let fill = if self.blocked { "▒" } else { "█" }.repeat(filled);
        let fill = match self.color {
            Some(color) if filled > 0 => color::painted(&fill, color, level),
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
