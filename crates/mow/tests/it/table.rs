//! Runs table tests: files before, a call, its answer, files after.
//!
//! Every case runs twice, the second time with Windows line endings: a file keeps its line endings,
//! and no answer shows them.

use std::collections::BTreeMap;

use mow_testkit::sandbox::Sandbox;
use serde_json::Value;

use crate::sandbox;

/// Files by path.
pub(crate) type Files<'a> = &'a [(&'a str, &'a str)];

/// The expected answer of a call.
pub(crate) enum Answer<'a> {
    /// JSON, byte for byte: keys in this order, two blanks of indent, no final newline.
    Json(Value),
    /// Any other text, byte for byte.
    Text(&'a str),
    /// A refusal whose message contains this.
    Refused(&'a str),
}

/// A call with its files and expected answer.
pub(crate) struct Case<'a> {
    /// The behaviour under test, shown when the case fails.
    pub(crate) about: &'a str,
    /// The files before the call.
    pub(crate) files: Files<'a>,
    /// The arguments of `mow`.
    pub(crate) call: &'a [&'a str],
    /// The expected answer.
    pub(crate) answer: Answer<'a>,
    /// The files that differ afterwards. All others must be unchanged, byte for byte.
    pub(crate) after: Files<'a>,
}

impl Case<'_> {
    fn check(&self, ending: &str) {
        let with_ending = |text: &str| text.replace('\n', ending).into_bytes();
        let mut project = sandbox();
        for (path, text) in self.files {
            project = project.file(path, with_ending(text));
        }
        let mut expected = project.files();
        let is_old = |path: &str| self.files.iter().any(|(old, _)| *old == path);
        for (path, text) in self.after {
            let text = if is_old(path) { with_ending(text) } else { text.as_bytes().to_vec() };
            expected.insert((*path).to_owned(), text);
        }
        let ran = project.call(self.call).run();
        let ran = ran.about(&format!("{}, line ending {ending:?}", self.about));
        match &self.answer {
            Answer::Json(value) => ran.prints_json(value),
            Answer::Text(text) => ran.prints(text),
            Answer::Refused(message) => ran.refuses(message),
        }
        assert_eq!(readable(&masked_files(&project)), readable(&expected), "{}", self.about);
    }
}

/// Runs every case with both line endings.
pub(crate) fn check(cases: &[Case<'_>]) {
    for case in cases {
        case.check("\n");
        case.check("\r\n");
    }
}

/// Runs every case with `\n` only, for calls that write a new file.
pub(crate) fn check_as_written(cases: &[Case<'_>]) {
    for case in cases {
        case.check("\n");
    }
}

fn readable(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<&str, String> {
    let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).replace('\r', "␍");
    files.iter().map(|(path, bytes)| (path.as_str(), text(bytes))).collect()
}

fn masked_files(project: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let files = project.files().into_iter();
    files
        .map(|(path, bytes)| match String::from_utf8(bytes) {
            Ok(text) => (path, mask_now(&text).into_bytes()),
            Err(error) => (path, error.into_bytes()),
        })
        .collect()
}

/// Replaces every time of the form `2026-01-02T03:04:05.678Z` by `NOW`.
pub(crate) fn mask_now(text: &str) -> String {
    const SHAPE: &[u8] = b"0000-00-00T00:00:00.000Z";
    let is_time = |window: &[u8]| {
        window.iter().zip(SHAPE).all(|(byte, shape)| match shape {
            b'0' => byte.is_ascii_digit(),
            shape => byte == shape,
        })
    };
    let mut masked = text.to_owned();
    while let Some(at) = masked.as_bytes().windows(SHAPE.len()).position(is_time) {
        masked.replace_range(at..at + SHAPE.len(), "NOW");
    }
    masked
}
