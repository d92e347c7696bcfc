//! Planning files for tests: all files under `$MOW_CORPUS`, or one sample without that variable.

use std::io::Write;
use std::path::Path;

/// Returns the paths and bytes of all files whose names `accepts` accepts.
pub(crate) fn files(accepts: impl Fn(&str) -> bool, sample: &str) -> Vec<(String, Vec<u8>)> {
    let Some(root) = std::env::var_os("MOW_CORPUS") else {
        return vec![("sample".to_owned(), sample.as_bytes().to_vec())];
    };
    let mut found = Vec::new();
    let mut folders = vec![Path::new(&root).to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the corpus can be listed") {
            let path = entry.expect("the corpus can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().and_then(|name| name.to_str()).is_some_and(&accepts) {
                let bytes = std::fs::read(&path).expect("the corpus can be read");
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "the corpus has files with such names");
    found
}

/// Prints a line with the counts of a corpus test.
pub(crate) fn print_line(text: &str) {
    writeln!(std::io::stdout(), "{text}").expect("stdout is open");
}
