//! Tests that the parsers understand the files of a new project.

use super::*;
use crate::config::{Config, UnknownKeys};
use crate::state::{active_phases, snapshot};
use crate::{requirements, roadmap};

fn files(phases: &[&str]) -> Vec<(&'static str, String)> {
    let phases: Vec<_> = phases.iter().map(|name| (*name).to_owned()).collect();
    let new_project = NewProjectFiles {
        name: "Acme {goal}",
        goal: "Sell {things} | more",
        phases: &phases,
        current: 0,
        date: "2026-01-02",
    };
    new_project.files()
}

fn file(files: &[(&'static str, String)], name: &str) -> String {
    files.iter().find(|(file, _)| *file == name).expect("it is made").1.clone()
}

#[test]
fn each_phase_of_the_roadmap_depends_on_the_one_before() {
    let files = files(&["Ground | floor", "Roof"]);
    let roadmap = roadmap::parse(file(&files, "ROADMAP.md").as_bytes());
    let phases: Vec<_> = roadmap.entries.iter().map(|entry| &entry.phase).collect();
    let read: Vec<_> = phases
        .iter()
        .map(|phase| (phase.name.as_str(), phase.sources.letters(), phase.depends_on.clone()))
        .collect();
    let all = "CHT".to_owned();
    assert_eq!(
        read,
        [("Ground | floor", all.clone(), vec![]), ("Roof", all, vec![PhaseNumber::whole(1)]),]
    );
    assert!(phases.iter().all(|phase| phase.completion.certain && !phase.completion.done));
    assert!(roadmap.entries.iter().all(|entry| !entry.lacks_details));
}

#[test]
fn the_state_names_the_first_phase() {
    let files = files(&["Ground", "Roof"]);
    let state = file(&files, "STATE.md");
    let read = snapshot::parse(state.as_bytes());
    assert_eq!(read.current_phase.as_deref(), Some("1"));
    assert_eq!(read.current_phase_name.as_deref(), Some("Ground"));
    assert_eq!((read.total_phases, read.progress_percent), (Some(2), Some(0)));
    assert_eq!(read.status.as_deref(), Some("Ready to plan"));
    assert_eq!(read.last_activity.as_deref(), Some("2026-01-02"));
    assert_eq!((read.blockers, read.decisions), (vec![], vec![]));
    assert_eq!(active_phases::parse(state.as_bytes()), Some(vec![]));
}

#[test]
fn the_other_files_are_valid_and_values_are_literal() {
    let files = files(&["Ground"]);
    let config = Config::parse(file(&files, "config.json").as_bytes()).expect("it is JSON");
    assert_eq!(config.unknown_keys(), UnknownKeys::default());
    assert!(!file(&files, "config.json").ends_with('\n'));
    assert!(requirements::parse(file(&files, "REQUIREMENTS.md").as_bytes()).items.is_empty());
    let project = file(&files, "PROJECT.md");
    assert!(project.starts_with("# Acme {goal}\n"));
    assert!(project.contains("\nSell {things} | more\n"));
    for section in ["## What This Is", "## Core Value", "## Requirements"] {
        assert!(project.lines().any(|line| line == section), "{section}");
    }
}

#[test]
fn phase_directories_are_named_by_number_and_slug() {
    let phases = ["Ground floor".to_owned(), "屋根".to_owned()];
    let new_project = NewProjectFiles { name: "", goal: "", phases: &phases, current: 0, date: "" };
    assert_eq!(new_project.phase_dirs(), ["phases/01-ground-floor", "phases/02-phase"]);
}
