//! Fuzzes SUMMARY.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::summary(bytes));
