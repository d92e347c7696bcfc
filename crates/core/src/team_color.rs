//! Which colour belongs to whom: the lead is red, workers take the others in order.

/// The colour of the lead; no worker has it.
pub const LEAD: &str = "red";

/// The colours of workers, in the order they are given out.
const WORKERS: [&str; 6] = ["green", "yellow", "blue", "magenta", "cyan", "white"];

/// Returns the colour of the n-th worker, counted from 1; `None` for 0.
///
/// After the last colour the first comes again.
pub fn worker(n: usize) -> Option<&'static str> {
    Some(WORKERS[n.checked_sub(1)? % WORKERS.len()])
}

#[cfg(test)]
mod tests;
