//! Fuzzes phase numbers.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::phase_number(bytes));
