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

/// What the sources of the product must not contain, what to do instead, and the files that may.
const FORBIDDEN_IN_PRODUCT: &[(&str, &str, &[&str])] = &[
    (
        "Command::new(",
        "describe the program by a host::launch::Launch, so that it gets its marks",
        &["crates/host/src/launch.rs", "crates/host/src/test_repository.rs"],
    ),
    ("mpsc::channel()", "use sync_channel: every queue has a bound", &[]),
];

/// The crates whose code is in the released program.
const PRODUCT: &[&str] = &["core", "engine", "host", "mow", "prompts", "store"];

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
    let of_product = FORBIDDEN_IN_PRODUCT
        .iter()
        .filter(|(_, _, exceptions)| is_of_product(file) && !exceptions.contains(&&**path))
        .map(|(word, advice, _)| (word, advice));
    let forbidden: Vec<_> =
        FORBIDDEN.iter().map(|(word, advice)| (word, advice)).chain(of_product).collect();
    for (number, line) in (1..).zip(file.text.lines()) {
        for (word, advice) in &forbidden {
            if line.contains(**word) {
                findings.push(format!("{path}:{number}: `{word}`: {advice}"));
            }
        }
    }
    findings
}

fn is_of_product(file: &SourceFile) -> bool {
    let mut parts = file.path.splitn(4, '/');
    let dirs = [parts.next(), parts.next(), parts.next()];
    let is_source =
        matches!(dirs, [Some("crates"), Some(name), Some("src")] if PRODUCT.contains(&name));
    is_source && !file.is_of_tests()
}
