//! What is left of the files after a power failure, a kill, a full disk or a broken one.
#![cfg(debug_assertions)]
#![expect(clippy::unwrap_used, reason = "a test says by a panic that it is wrong")]
#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

mod power;
