//! Rules about one Rust file: its opening, its length, words that must not stay in it.
//!
//! The length of functions is clippy's business (`too-many-lines-threshold`).

use super::SourceFile;
use failpoint::source::Failpoint;

const LINES_MAX: usize = 500;
const TEST_LINES_MAX: usize = 700;

/// What must not stay in the source, and what to do instead. Pieced together, so that this file
/// passes its own rule.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("to", "do!("), "finish it, or leave it out"),
    (concat!("unimple", "mented!("), "finish it, or leave it out"),
    (concat!("db", "g!("), "remove the debugging print"),
    (concat!("#[", "ignore"), "a test that is not run is not a test"),
    (concat!("#[should_", "panic"), "test the error value instead"),
    (concat!("#[", "allow("), "use #[expect(lint, reason = \"…\")]"),
    (concat!("#![", "allow("), "use #![expect(lint, reason = \"…\")]"),
];

/// Finds failpoints that share a name: an order to die there would mean any of them.
pub(super) fn repeated_points(files: &[SourceFile]) -> Vec<String> {
    let sources = files.iter().filter(|file| file.is_rust() && !file.is_of_tests());
    let mut points: Vec<_> =
        sources.flat_map(|file| failpoint::source::points_in(&file.path, &file.text)).collect();
    points.sort_unstable();
    let pairs = points.windows(2).filter(|pair| pair[0].name == pair[1].name);
    pairs
        .map(|pair| {
            let [first, Failpoint { name, file, line }] = pair else {
                unreachable!("two at a time")
            };
            format!("{file}:{line}: failpoint `{name}` is also in {}:{}", first.file, first.line)
        })
        .collect()
}

pub(super) fn check(file: &SourceFile) -> Vec<String> {
    let mut findings = Vec::new();
    if !file.is_rust() {
        return findings;
    }
    let path = &file.path;
    if !file.text.starts_with("//!") {
        findings.push(format!("{path}: must open with `//!` that says what the file is for"));
    }
    let lines = file.text.lines().count();
    let lines_max = if file.is_of_tests() { TEST_LINES_MAX } else { LINES_MAX };
    if lines > lines_max {
        findings.push(format!("{path}: {lines} lines, at most {lines_max}; split it"));
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        for (word, advice) in FORBIDDEN {
            if line.contains(word) {
                findings.push(format!("{path}:{number}: `{word}`: {advice}"));
            }
        }
    }
    findings
}
