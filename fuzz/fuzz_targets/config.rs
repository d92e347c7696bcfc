//! Fuzzes settings and edits of JSON.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::config(bytes));
