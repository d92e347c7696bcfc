//! Fuzzes graphs of phases, of any shape.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::graph(bytes));
