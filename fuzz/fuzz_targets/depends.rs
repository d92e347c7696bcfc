//! Fuzzes the prose of dependency fields.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::depends(bytes));
