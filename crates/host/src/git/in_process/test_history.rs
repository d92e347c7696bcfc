//! Builds synthetic histories for tests: many commits with one call of `git fast-import`.

use std::fs;

use crate::git::Git;
use crate::test_repository::Repository;

/// A deterministic random number generator (xorshift).
pub(super) struct TestRandom(pub(super) u64);

impl TestRandom {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(super) fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// A change that a commit makes to one file.
#[derive(Clone, Debug)]
pub(super) enum FileEdit {
    /// Sets path, mode and text of a file; for mode `160000` the text is a commit hash.
    Set(String, &'static str, String),
    Delete(String),
}

pub(super) fn set(path: &str, text: &str) -> FileEdit {
    FileEdit::Set(path.to_owned(), "100644", text.to_owned())
}

/// A stream of commits that git has not imported yet; commits are numbered from 1.
pub(super) struct HistoryBuilder {
    stream: Vec<u8>,
    count: usize,
}

impl HistoryBuilder {
    pub(super) fn new() -> Self {
        Self { stream: Vec::new(), count: 0 }
    }

    /// Adds a commit with some parents and returns its number; its files are those of the first
    /// parent, edited.
    pub(super) fn commit(
        &mut self,
        parents: &[usize],
        message: &[u8],
        (at, edits): (usize, &[FileEdit]),
    ) -> usize {
        self.count += 1;
        let push = |stream: &mut Vec<u8>, line: String| stream.extend(line.into_bytes());
        let stream = &mut self.stream;
        push(stream, "reset refs/history\n\ncommit refs/history\n".to_owned());
        let committer = format!("committer T <t@example.com> {} +0000", 1_000_000_000 + at);
        push(stream, format!("mark :{}\n{committer}\ndata {}\n", self.count, message.len()));
        stream.extend(message);
        stream.push(b'\n');
        for (nth, parent) in parents.iter().enumerate() {
            push(stream, format!("{} :{parent}\n", if nth == 0 { "from" } else { "merge" }));
        }
        for edit in edits {
            match edit {
                FileEdit::Delete(path) => push(stream, format!("D {path}\n")),
                FileEdit::Set(path, mode @ "160000", text) => {
                    push(stream, format!("M {mode} {text} {path}\n"));
                }
                FileEdit::Set(path, mode, text) => {
                    let data = format!("data {}\n{text}\n", text.len());
                    push(stream, format!("M {mode} inline {path}\n{data}"));
                }
            }
        }
        self.count
    }

    /// Imports the commits; returns their hashes by number.
    pub(super) fn make(self, repository: &Repository) -> Vec<String> {
        let marks = repository.root().join(".git/invented");
        let to = format!("--export-marks={}", marks.display());
        let args = ["fast-import", "--quiet", "--force", &to];
        repository.git.run_with(&args, &self.stream).unwrap();
        let mut names = vec![String::new(); self.count + 1];
        for line in fs::read_to_string(marks).unwrap().lines() {
            let (mark, name) = line.split_once(' ').unwrap();
            names[mark[1..].parse::<usize>().unwrap()] = name.to_owned();
        }
        names
    }
}

/// Asserts that each setting makes the in-process code return `None`.
pub(super) fn assert_left_to_git(git: &Git, settings: &[(&str, &str)], answers: impl Fn() -> bool) {
    for (key, value) in settings {
        assert!(answers(), "before {key}");
        git.run(&["config", key, value]).unwrap();
        assert!(!answers(), "{key}");
        git.run(&["config", "--unset", key]).unwrap();
    }
}
