//! Fuzzes the text layer under all documents.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::text(bytes));
