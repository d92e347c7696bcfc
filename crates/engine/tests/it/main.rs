//! Integration tests of the engine: a simulation of whole runs, and the inbox under kills.
#![expect(clippy::unwrap_used, reason = "a test says by a panic that it is wrong")]

mod inbox;
mod sim;
