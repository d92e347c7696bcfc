//! Fuzzes event logs, chat logs and the state of the dashboard.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::dashboard(bytes));
