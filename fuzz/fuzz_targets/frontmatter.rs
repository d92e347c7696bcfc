//! Fuzzes YAML blocks and their edits.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mow_testkit::checks::frontmatter(bytes));
