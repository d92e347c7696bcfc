//! The JSON that commands of the product print: documented types with a version.
//!
//! They are made from the views of `mow_core::view` and are independent of journals and of the types
//! inside the program. Keys are only added. Removing a key or changing its meaning increments
//! [`VERSION`]. `tests.rs` compares the schemas with snapshots and with `docs/reference/json.md`.

pub(crate) mod cost;
pub(crate) mod dashboard;
pub(crate) mod event;
pub(crate) mod inbox;
pub(crate) mod log;
pub(crate) mod overview;
pub(crate) mod ps;
pub(crate) mod receipt;
#[cfg(test)]
mod tests;

/// The version of all types here; the first key of each output.
pub(crate) const VERSION: u32 = 1;
