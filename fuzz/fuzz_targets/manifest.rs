//! Fuzzes the list of worktrees.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::manifest(bytes));
