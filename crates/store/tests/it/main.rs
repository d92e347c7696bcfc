//! Tests the content of files after a crash, on a full disk and on a failing disk.
#![cfg(debug_assertions)]
#![expect(clippy::unwrap_used, reason = "a failing test panics")]
#![expect(clippy::disallowed_methods, reason = "tests create their own files")]

mod power_failure;
