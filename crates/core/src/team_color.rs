//! The colours of team members: the lead is red, workers take the other colours in order.

/// A colour of a team member, with the codes that make a terminal show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeamColor {
    /// The name, as in the team table of STATE.md.
    pub name: &'static str,
    /// The code that sets the background.
    pub background: &'static str,
    /// The code that sets the text colour.
    pub foreground: &'static str,
}

impl TeamColor {
    /// The code that ends a colour.
    pub const RESET: &'static str = "\x1b[0m";

    const fn new(name: &'static str, background: &'static str, foreground: &'static str) -> Self {
        Self { name, background, foreground }
    }
}

/// The colour of the lead; no worker has it.
pub const LEAD_COLOR: TeamColor = TeamColor::new("red", "\x1b[41m", "\x1b[31m");

/// The colours of workers, in the order of assignment.
const WORKER_COLORS: [TeamColor; 6] = [
    TeamColor::new("green", "\x1b[42m", "\x1b[32m"),
    TeamColor::new("yellow", "\x1b[43m", "\x1b[33m"),
    TeamColor::new("blue", "\x1b[44m", "\x1b[34m"),
    TeamColor::new("magenta", "\x1b[45m", "\x1b[35m"),
    TeamColor::new("cyan", "\x1b[46m", "\x1b[36m"),
    TeamColor::new("white", "\x1b[47m", "\x1b[97m"),
];

/// Returns the colour of the n-th worker, counted from 1; `None` for 0.
///
/// After the last colour, the first one is used again.
pub fn worker_color(n: usize) -> Option<TeamColor> {
    Some(WORKER_COLORS[n.checked_sub(1)? % WORKER_COLORS.len()])
}

#[cfg(test)]
mod tests;
