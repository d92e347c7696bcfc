//! Detects what the terminal supports (width, colours, UTF-8) and fits text to it.
//!
//! This module never prints; [`crate::output`] does.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style};
use mow_core::color::{ColorEnvironment, ColorLevel};
use mow_core::view::Tone;
use mow_host::shell_words;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width when there is no terminal and `COLUMNS` is not set.
const COLUMNS_DEFAULT: usize = 80;

/// Headings and emphasis.
pub(crate) const BOLD: Style = Style::new().effects(Effects::BOLD);
/// Less important text.
pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);
/// Done or correct.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// Ready, or needs attention.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Failed or wrong.
pub(crate) const RED: Style = AnsiColor::Red.on_default();
/// A command to paste.
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// The width and character set that output is written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) width: usize,
    /// Whether the locale supports more than ASCII.
    pub(crate) utf8: bool,
}

impl Screen {
    /// Detects the screen of this process.
    pub(crate) fn current() -> Self {
        Self { width: width(), utf8: supports_utf8() }
    }

    /// Returns the full and the empty cell of a progress bar.
    pub(crate) fn bar(&self) -> (&'static str, &'static str) {
        if self.utf8 { ("█", "░") } else { ("#", ".") }
    }
}

/// Wraps a text in the escape codes of a style.
pub(crate) fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Wraps a text in the escape codes of a tone.
pub(crate) fn toned(tone: Tone, text: &str) -> String {
    match tone {
        Tone::Plain => text.to_owned(),
        Tone::Good => styled(GREEN, text),
        Tone::Bad => styled(RED, text),
        Tone::Attention => styled(YELLOW, text),
        Tone::Active => styled(CYAN, text),
        Tone::Quiet => styled(DIM, text),
    }
}

/// Returns the width of text output: `COLUMNS`, the terminal's width, or 80; between 40 and 400.
pub(crate) fn width() -> usize {
    let from_env = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    from_env.or_else(terminal_columns).unwrap_or(COLUMNS_DEFAULT).clamp(40, 400)
}

/// Returns the width of a contract command's drawing: as requested, the terminal's width, or 80.
pub(crate) fn drawing_width(requested: Option<u16>) -> usize {
    requested.map(usize::from).or_else(terminal_columns).unwrap_or(COLUMNS_DEFAULT)
}

fn terminal_columns() -> Option<usize> {
    let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size)?;
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// Returns how many colours standard output supports.
pub(crate) fn color_level() -> ColorLevel {
    color_level_of(&std::io::stdout())
}

/// Returns how many colours a stream supports; all printing uses this rule.
fn color_level_of(stream: &impl IsTerminal) -> ColorLevel {
    let term = std::env::var("TERM").unwrap_or_default();
    let is_forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    ColorLevel::detect(ColorEnvironment {
        no_color: std::env::var_os("NO_COLOR").is_some(),
        force_color: is_forced || std::env::var_os("FORCE_COLOR").is_some(),
        is_terminal: stream.is_terminal(),
        term: &term,
    })
}

/// Removes colours from a text unless the stream shows them.
pub(crate) fn strip_unwanted_colors<'a>(text: &'a str, stream: &impl IsTerminal) -> Cow<'a, str> {
    if !text.contains('\x1b') || color_level_of(stream) != ColorLevel::None {
        return Cow::Borrowed(text);
    }
    Cow::Owned(anstream::adapter::strip_str(text).to_string())
}

/// Returns whether the locale supports more than ASCII.
pub(crate) fn supports_utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_none_or(|locale| !matches!(locale.as_str(), "C" | "POSIX"))
}

/// Returns a text as one line without control characters, truncated to a number of columns.
pub(crate) fn fit_line(text: &str, columns: usize) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if line.width() <= columns {
        return line;
    }
    let mut cut = String::new();
    let mut used = 3;
    for c in line.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        cut.push(c);
    }
    cut.truncate(cut.trim_end().len());
    cut + "..."
}

/// Breaks a text between words into lines of at most the given columns.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty())
    {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit_line(word, columns)),
        }
    }
    lines
}

/// Quotes a name for a shell if necessary; drops control characters.
pub(crate) fn shell_quote(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    shell_words::quote(&name)
}
