//! Tests the readers on every dialect: our own samples exactly, real projects at 99.5 %.
//!
//! Real projects are the directories in `MOW_CORPUS`, each with `.planning/` and an
//! `expected.json`. A failure prints counts and no places: some projects are held out, so that the
//! reader is not tuned to them. `cargo xtask corpus --verbose` shows the mistakes in the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::sandbox;

/// Returns the directory of the real projects, or `None` if `MOW_CORPUS` is not set.
pub(crate) fn directory() -> Option<PathBuf> {
    env::var_os("MOW_CORPUS").map(PathBuf::from)
}

/// Returns the directory of our own samples.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/samples")
}

/// Runs a call for each sample of a kind and compares its output with the file of the same name.
fn check_samples(kind: &str, planning_file: &str, call: &[&str], extension: &str) {
    let mut count = 0;
    for entry in fs::read_dir(samples().join(kind)).expect("there are samples") {
        let path = entry.expect("samples can be listed").path();
        if path.extension().is_none_or(|found| found != "md") {
            continue;
        }
        let project = sandbox().file(planning_file, fs::read(&path).expect("it can be read"));
        let printed = project.call(call).run().stdout_on_success();
        let expected = fs::read_to_string(path.with_extension(extension));
        let expected = expected.expect("each sample has a file with the expected output");
        assert_eq!(printed.trim_end(), expected.trim_end(), "{}", path.display());
        count += 1;
    }
    assert!(count > 0, "there are samples of {kind}");
}

#[test]
fn every_dialect_of_roadmaps_is_read() {
    check_samples("roadmap", ".planning/ROADMAP.md", &["roadmap", "phases"], "txt");
}

#[test]
fn every_dialect_of_states_is_read() {
    check_samples("state", ".planning/STATE.md", &["state-snapshot"], "json");
}

/// Counts right answers and all answers.
#[derive(Default)]
struct Tally {
    right: usize,
    all: usize,
}

impl Tally {
    fn count(&mut self, is_right: bool) {
        self.right += usize::from(is_right);
        self.all += 1;
    }

    /// Returns whether at least 99.5 % are right.
    fn is_good(&self) -> bool {
        self.right * 1000 >= self.all * 995
    }

    fn shown(&self) -> String {
        format!("{}/{}", self.right, self.all)
    }
}

/// How well the roadmaps of the corpus are read.
#[derive(Default)]
struct Score {
    found: Tally,
    completed: Tally,
    depends_on: Tally,
    unexpected: usize,
}

impl Score {
    fn add(&mut self, expected: &Value, found: &Value) {
        let mut left = by_number(found);
        for phase in expected["phases"].as_array().expect("a list of phases") {
            let number = normalized(&phase["number"]);
            // Equal numbers are paired in the order of the file.
            let pair = left.get_mut(&number).filter(|pair| !pair.is_empty()).map(|p| p.remove(0));
            self.found.count(pair.is_some());
            let same = |read: &dyn Fn(&Value) -> Value| pair.map(read) == Some(read(phase));
            if phase["completed_certain"] != false {
                self.completed.count(same(&|phase| phase["completed"].clone()));
            }
            self.depends_on.count(same(&|phase| dependency_set(phase)));
        }
        self.unexpected += left.values().map(Vec::len).sum::<usize>();
    }
}

fn by_number(phases: &Value) -> BTreeMap<String, Vec<&Value>> {
    let mut map: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for phase in phases.as_array().expect("a list of phases") {
        map.entry(normalized(&phase["number"])).or_default().push(phase);
    }
    map
}

/// Returns the set of numbers that a phase depends on.
fn dependency_set(phase: &Value) -> Value {
    let list = phase["depends_on"].as_array().expect("a list of numbers");
    list.iter().map(normalized).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns a phase number in lower case, without leading zeros in any part.
fn normalized(number: &Value) -> String {
    let text = number.as_str().expect("numbers are text").to_lowercase();
    let parts = text.split('.').map(|part| match part.trim_start_matches('0') {
        short if short.starts_with(|c: char| c.is_ascii_digit()) => short.to_owned(),
        rest => format!("0{rest}"),
    });
    parts.collect::<Vec<_>>().join(".")
}

#[test]
fn real_roadmaps_are_read() {
    let Some(directory) = directory() else { return };
    let mut score = Score::default();
    for entry in fs::read_dir(&directory).expect("the corpus can be listed") {
        let project = entry.expect("the corpus can be listed").path();
        let Ok(expected) = fs::read(project.join("expected.json")) else { continue };
        let expected = serde_json::from_slice(&expected).expect("expected.json is JSON");
        let found = sandbox().call(["roadmap", "phases", "--json"]).cwd(&project).run().json();
        score.add(&expected, &found);
    }
    let Score { found, completed, depends_on, unexpected } = score;
    let tallies = [&found, &completed, &depends_on];
    let shown = tallies.map(Tally::shown);
    println!("phases, completed, depends on: {shown:?}, invented {unexpected}");
    assert!(found.all > 0, "{} holds no project with expected.json", directory.display());
    assert!(tallies.iter().all(|tally| tally.is_good()), "below 99.5 %: {shown:?}");
    assert_eq!(unexpected, 0, "phases that the roadmap does not declare");
}
