//! What is known of the screen that the answer goes to: its colours and its columns.

use std::env;
use std::io::{self, IsTerminal};

use mow_core::color::{Level, Surroundings};

/// How wide a drawing is when nobody says.
const COLUMNS_DEFAULT: usize = 80;

/// Returns how many colours the answer may have.
pub(crate) fn level() -> Level {
    let term = env::var("TERM").unwrap_or_default();
    Level::of(Surroundings {
        no_color: env::var_os("NO_COLOR").is_some(),
        force_color: env::var_os("FORCE_COLOR").is_some(),
        is_terminal: io::stdout().is_terminal(),
        term: &term,
    })
}

/// Returns how wide a drawing is: as asked for, else as wide as the terminal.
pub(crate) fn columns(asked: Option<u16>) -> usize {
    let terminal = || {
        let size = io::stdout().is_terminal().then(terminal_size::terminal_size)?;
        size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
    };
    asked.map(usize::from).or_else(terminal).unwrap_or(COLUMNS_DEFAULT)
}
