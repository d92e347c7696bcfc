//! Named points at which a process can be made to die, so that tests can cut it off at every durable
//! step.
//!
//! A point is one line, `failpoint::reach("merge.ref.moved");`, right behind the step it names. In
//! a release build it is nothing at all. Otherwise the environment says what happens:
//!
//! | variable | meaning |
//! |---|---|
//! | `MOW_FAILPOINT` | who dies where, such as `merge.ref.moved@lead#2`; see [`Blow`]. Of several words each counts once the one before has come true |
//! | `MOW_FAILPOINT_MARK` | a path; whoever dies makes `<path>-<word>-<role>`, so that it happens once |
//! | `MOW_FAILPOINT_TRACE` | a file that gets `<role> <point>` for each point that is passed |
//!
//! Dying is a SIGKILL to oneself: no destructor runs, nothing is flushed, no signal is handled.
//! Nothing here may be needed for a program to work. `cargo xtask failpoints` lists all points.

pub mod source;

#[cfg(debug_assertions)]
mod armed;
mod blow;
#[cfg(test)]
mod tests;

use std::process::Command;

pub use blow::{Blow, Role};

/// Says what this process is from now on; until then it carries out the command of a person.
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "nobody asks in a release"))]
pub fn enter(role: Role) {
    #[cfg(debug_assertions)]
    armed::enter(role);
}

/// Passes a point, or dies there.
#[inline]
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "nobody dies in a release"))]
pub fn reach(point: &str) {
    #[cfg(debug_assertions)]
    armed::reach(point, || ());
}

/// Passes a point, or does half of the step that follows and dies: a torn write.
#[inline]
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "nobody dies in a release"))]
pub fn reach_torn(point: &str, half: impl FnOnce()) {
    #[cfg(debug_assertions)]
    armed::reach(point, half);
}

/// Keeps a program that is not ours from being told of points.
#[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "there is nothing to hide"))]
pub fn hide(command: &mut Command) {
    #[cfg(debug_assertions)]
    for variable in armed::VARIABLES {
        command.env_remove(variable);
    }
}
