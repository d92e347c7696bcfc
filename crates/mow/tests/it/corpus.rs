//! Every dialect is read: our own samples exactly, real projects as good as exactly.
//!
//! Real projects are the folders in `MOW_CORPUS`, each with `.planning/` and an `expected.json`. A
//! failure says how much was wrong, not where: some of them are held out, so that the reader is not
//! tuned to them. `cargo xtask corpus --verbose` shows the mistakes in the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::sandbox;

/// Where real projects are, one folder for each, if there are any.
pub(crate) fn folder() -> Option<PathBuf> {
    env::var_os("MOW_CORPUS").map(PathBuf::from)
}

/// Our own samples.
pub(crate) fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/samples")
}

/// Runs a call for each sample of a kind and compares what it prints with the file beside it.
fn check_samples(kind: &str, planning_file: &str, call: &[&str], extension: &str) {
    let mut count = 0;
    for entry in fs::read_dir(samples().join(kind)).expect("there are samples") {
        let path = entry.expect("samples can be listed").path();
        if path.extension().is_none_or(|found| found != "md") {
            continue;
        }
        let project = sandbox().file(planning_file, fs::read(&path).expect("it can be read"));
        let printed = project.call(call).run().quietly();
        let expected = fs::read_to_string(path.with_extension(extension));
        let expected = expected.expect("beside each sample stands what is printed for it");
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

/// Right answers and all answers.
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

    /// At least 99.5 of a hundred.
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
    invented: usize,
}

impl Score {
    fn add(&mut self, expected: &Value, found: &Value) {
        let mut left = by_number(found);
        for phase in expected["phases"].as_array().expect("a list of phases") {
            let number = normal(&phase["number"]);
            // Equal numbers are paired in the order of the file.
            let pair = left.get_mut(&number).filter(|pair| !pair.is_empty()).map(|p| p.remove(0));
            self.found.count(pair.is_some());
            let same = |read: &dyn Fn(&Value) -> Value| pair.map(read) == Some(read(phase));
            if phase["completed_certain"] != false {
                self.completed.count(same(&|phase| phase["completed"].clone()));
            }
            self.depends_on.count(same(&|phase| needs(phase)));
        }
        self.invented += left.values().map(Vec::len).sum::<usize>();
    }
}

fn by_number(phases: &Value) -> BTreeMap<String, Vec<&Value>> {
    let mut map: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for phase in phases.as_array().expect("a list of phases") {
        map.entry(normal(&phase["number"])).or_default().push(phase);
    }
    map
}

/// The set of numbers a phase depends on.
fn needs(phase: &Value) -> Value {
    let list = phase["depends_on"].as_array().expect("a list of numbers");
    list.iter().map(normal).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Drops leading zeros of every part and the difference of upper and lower case.
fn normal(number: &Value) -> String {
    let text = number.as_str().expect("numbers are text").to_lowercase();
    let parts = text.split('.').map(|part| match part.trim_start_matches('0') {
        short if short.starts_with(|c: char| c.is_ascii_digit()) => short.to_owned(),
        rest => format!("0{rest}"),
    });
    parts.collect::<Vec<_>>().join(".")
}

#[test]
fn real_roadmaps_are_read() {
    let Some(folder) = folder() else { return };
    let mut score = Score::default();
    for entry in fs::read_dir(&folder).expect("the corpus can be listed") {
        let project = entry.expect("the corpus can be listed").path();
        let Ok(expected) = fs::read(project.join("expected.json")) else { continue };
        let expected = serde_json::from_slice(&expected).expect("expected.json is JSON");
        let found = sandbox().call(["roadmap", "phases", "--json"]).cwd(&project).run().json();
        score.add(&expected, &found);
    }
    let Score { found, completed, depends_on, invented } = score;
    let tallies = [&found, &completed, &depends_on];
    let shown = tallies.map(Tally::shown);
    println!("phases, completed, depends on: {shown:?}, invented {invented}");
    assert!(found.all > 0, "{} holds no project with expected.json", folder.display());
    assert!(tallies.iter().all(|tally| tally.is_good()), "below 99.5 %: {shown:?}");
    assert_eq!(invented, 0, "phases that nobody declared");
}
