//! The colours of team members: the lead is red, workers take the other colours in order.

/// The colour of the lead; no worker has it.
pub const LEAD_COLOR: &str = "red";

/// The colours of workers, in the order of assignment.
const WORKER_COLORS: [&str; 6] = ["green", "yellow", "blue", "magenta", "cyan", "white"];

/// Returns the colour of the n-th worker, counted from 1; `None` for 0.
///
/// After the last colour, the first one is used again.
pub fn worker_color(n: usize) -> Option<&'static str> {
    Some(WORKER_COLORS[n.checked_sub(1)? % WORKER_COLORS.len()])
}

#[cfg(test)]
mod tests;
