//! Fuzzes NN-STATUS.md.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::status(bytes));
