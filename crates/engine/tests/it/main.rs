//! Tests of the engine as a whole. Nothing here ships.
#![expect(clippy::unwrap_used, reason = "a test says by a panic that it is wrong")]

mod inbox;
mod sim;
