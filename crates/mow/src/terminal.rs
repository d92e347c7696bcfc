//! What the terminal can show: its width, its colours, its signs, and texts made to fit.
//!
//! Only asks; [`crate::output`] prints, and takes colours off where they are not wanted.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::IsTerminal;

use anstyle::{AnsiColor, Effects, Style};
use mow_core::color::{Level, Surroundings};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How wide a text is when nobody says.
const COLUMNS_DEFAULT: usize = 80;

/// Headings and what stands out.
pub(crate) const BOLD: Style = Style::new().effects(Effects::BOLD);
/// What matters less.
pub(crate) const DIM: Style = Style::new().effects(Effects::DIMMED);
/// Done, or in order.
pub(crate) const GREEN: Style = AnsiColor::Green.on_default();
/// Ready, or to be looked at.
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default();
/// Wrong.
pub(crate) const RED: Style = AnsiColor::Red.on_default();
/// A command to paste.
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();

/// What is written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    pub(crate) width: usize,
    /// Whether it can show more than ASCII.
    pub(crate) utf8: bool,
}

impl Screen {
    /// Returns the one this process prints on.
    pub(crate) fn here() -> Self {
        Self { width: width(), utf8: speaks_utf8() }
    }

    /// Returns the full and the empty cell of a progress bar.
    pub(crate) fn bar(&self) -> (&'static str, &'static str) {
        if self.utf8 { ("█", "░") } else { ("#", ".") }
    }
}

/// Returns a text in a style.
pub(crate) fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns the columns to write for: those of the terminal, `COLUMNS`, or eighty.
pub(crate) fn width() -> usize {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    stated.or_else(terminal_columns).unwrap_or(COLUMNS_DEFAULT).clamp(40, 400)
}

/// Returns how wide a drawing of the contract is: as asked for, else as wide as the terminal.
pub(crate) fn columns(asked: Option<u16>) -> usize {
    asked.map(usize::from).or_else(terminal_columns).unwrap_or(COLUMNS_DEFAULT)
}

fn terminal_columns() -> Option<usize> {
    let size = std::io::stdout().is_terminal().then(terminal_size::terminal_size)?;
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// Returns how many colours a drawing of the contract may have.
pub(crate) fn level() -> Level {
    level_on(&std::io::stdout())
}

/// Decides about colours, for everything that is printed.
fn level_on(stream: &impl IsTerminal) -> Level {
    let term = std::env::var("TERM").unwrap_or_default();
    let demand = std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    Level::of(Surroundings {
        no_color: std::env::var_os("NO_COLOR").is_some(),
        force_color: demand || std::env::var_os("FORCE_COLOR").is_some(),
        is_terminal: stream.is_terminal(),
        term: &term,
    })
}

/// Returns a text as a stream can show it: without colours where they are not wanted.
pub(crate) fn suited<'a>(text: &'a str, stream: &impl IsTerminal) -> Cow<'a, str> {
    if !text.contains('\x1b') || level_on(stream) != Level::None {
        return Cow::Borrowed(text);
    }
    Cow::Owned(anstream::adapter::strip_str(text).to_string())
}

/// Returns whether the locale can show more than ASCII.
pub(crate) fn speaks_utf8() -> bool {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG"));
    locale.is_none_or(|locale| !matches!(locale.as_str(), "C" | "POSIX"))
}

/// Returns a text from a file as one line without control characters, cut to some columns.
pub(crate) fn fit(text: &str, columns: usize) -> String {
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

/// Returns a text broken between words into lines of at most some columns.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty())
    {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(fit(word, columns)),
        }
    }
    lines
}

/// Quotes a name for a shell, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    format!("'{}'", name.replace('\'', r"'\''"))
}
