//! Fuzzes the journals of a run.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::journal(bytes));
