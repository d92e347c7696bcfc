//! The loops of lead and worker: inputs in, decisions written down, effects released.
//!
//! What is decided is decided in `mow-core`; what is done is done in `mow-host`; what is remembered
//! is in `mow-store`. This crate brings them together, and it alone knows the clock, threads and
//! signals. Start with [`drive`], then [`lead`] and [`worker`].

pub mod cast;
pub mod clock;
mod custody;
pub mod drive;
mod error;
mod job;
pub mod lead;
mod marks;
pub mod peer;
mod permission;
pub mod site;
pub mod tools;
pub mod watch;
pub mod worker;

pub use error::EngineError;
