//! Fuzzes CONTEXT, VERIFICATION, UAT and CHECKPOINT.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::phase_files(bytes));
