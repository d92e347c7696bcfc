//! Histories made up for tests, many at a time and with one call of git.

use std::fs;

use crate::git::Git;
use crate::test_repository::Repository;

/// The next number of a series that is the same each time.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(super) fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// What a commit does to a file.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// It has this mode and this text.
    Set(String, &'static str, String),
    Delete(String),
}

pub(super) fn set(path: &str, text: &str) -> Edit {
    Edit::Set(path.to_owned(), "100644", text.to_owned())
}

/// Commits that git is still to be told of, known by their numbers.
pub(super) struct Invented {
    stream: Vec<u8>,
    count: usize,
}

impl Invented {
    pub(super) fn new() -> Self {
        Self { stream: Vec::new(), count: 0 }
    }

    /// Adds a commit with some parents; its files are those of the first one, edited.
    pub(super) fn commit(
        &mut self,
        parents: &[usize],
        message: &[u8],
        (at, edits): (usize, &[Edit]),
    ) -> usize {
        self.count += 1;
        let say = |stream: &mut Vec<u8>, line: String| stream.extend(line.into_bytes());
        let stream = &mut self.stream;
        say(stream, "reset refs/invented\n\ncommit refs/invented\n".to_owned());
        let who = format!("committer T <t@example.com> {} +0000", 1_000_000_000 + at);
        say(stream, format!("mark :{}\n{who}\ndata {}\n", self.count, message.len()));
        stream.extend(message);
        stream.push(b'\n');
        for (nth, parent) in parents.iter().enumerate() {
            say(stream, format!("{} :{parent}\n", if nth == 0 { "from" } else { "merge" }));
        }
        for edit in edits {
            match edit {
                Edit::Delete(path) => say(stream, format!("D {path}\n")),
                Edit::Set(path, mode @ "160000", text) => {
                    say(stream, format!("M {mode} {text} {path}\n"));
                }
                Edit::Set(path, mode, text) => {
                    let data = format!("data {}\n{text}\n", text.len());
                    say(stream, format!("M {mode} inline {path}\n{data}"));
                }
            }
        }
        self.count
    }

    /// Tells git of them; returns their names, the first one at 1.
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

/// Asserts that a setting turns an answer of ours into git's.
pub(super) fn assert_asks(git: &Git, settings: &[(&str, &str)], answers: impl Fn() -> bool) {
    for (key, value) in settings {
        assert!(answers(), "before {key}");
        git.run(&["config", key, value]).unwrap();
        assert!(!answers(), "{key}");
        git.run(&["config", "--unset", key]).unwrap();
    }
}
