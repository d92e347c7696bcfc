//! Failpoints: named points at which tests can kill a process, to test recovery after every durable
//! step.
//!
//! A point is one line, `failpoint::reach("merge.ref.moved");`, right after the step that it names.
//! In a release build it does nothing. In a debug build the environment configures it:
//!
//! | variable | meaning |
//! |---|---|
//! | `MOW_FAILPOINT` | kill points, such as `merge.ref.moved@lead#2`; see [`KillPoint`]. Of several, separated by spaces, each becomes active after the one before is used up |
//! | `MOW_FAILPOINT_MARK` | a path; a process creates `<path>-<position>-<role>` before it dies, so that each kill happens once |
//! | `MOW_FAILPOINT_TRACE` | a file that gets a line `<role> <point>` for each point that a process passes |
//!
//! A process dies by sending itself SIGKILL: no destructor runs, nothing is flushed, no signal
//! handler is called. No program may depend on this crate to work. `cargo xtask failpoints` lists
//! all points.

pub mod source;

#[cfg(debug_assertions)]
mod armed;
mod kill_point;
#[cfg(test)]
mod tests;

use std::process::Command;

pub use kill_point::{KillPoint, ProcessRole};

/// Sets the role of this process; the default is [`ProcessRole::Person`]. Only the first call
/// counts.
#[cfg_attr(
    not(debug_assertions),
    expect(unused_variables, reason = "failpoints are off in release builds")
)]
pub fn set_role(role: ProcessRole) {
    #[cfg(debug_assertions)]
    armed::set_role(role);
}

/// Passes a point, or dies there if it is configured as a kill point.
#[inline]
#[cfg_attr(
    not(debug_assertions),
    expect(unused_variables, reason = "failpoints are off in release builds")
)]
pub fn reach(point: &str) {
    #[cfg(debug_assertions)]
    armed::reach(point, || ());
}

/// Passes a point, or runs `half` of the next step and dies, which simulates a torn write.
#[inline]
#[cfg_attr(
    not(debug_assertions),
    expect(unused_variables, reason = "failpoints are off in release builds")
)]
pub fn reach_torn(point: &str, half: impl FnOnce()) {
    #[cfg(debug_assertions)]
    armed::reach(point, half);
}

/// Removes the failpoint variables from the environment of a program that is not part of mow.
#[cfg_attr(
    not(debug_assertions),
    expect(unused_variables, reason = "failpoints are off in release builds")
)]
pub fn clear_env(command: &mut Command) {
    #[cfg(debug_assertions)]
    for variable in armed::VARIABLES {
        command.env_remove(variable);
    }
}
