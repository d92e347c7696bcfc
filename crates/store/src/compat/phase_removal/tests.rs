//! Tests of a removal's effect on files, interrupted at every step and uninterrupted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mow_core::phase::PhaseNumber;
use tempfile::TempDir;

use super::{PhaseRemoval, RemovalError, RemovalIntent, finish_interrupted};
use crate::disk::{WAIT_DEFAULT, Writer};
use crate::project::Project;

const ROADMAP: &str =
    "### Phase 1: A\n### Phase 2: X\n### Phase 3: X\n### Phase 3.1: Y\n### Phase 4: X\n";

/// Directories that take over each other's names.
const FILES: &[(&str, &str)] = &[
    ("ROADMAP.md", ROADMAP),
    ("STATE.md", "**Total Phases:** 4\n"),
    ("phases/01-a/01-01-PLAN.md", "one"),
    ("phases/02-x/02-01-PLAN.md", "two"),
    ("phases/03-x/03-01-PLAN.md", "three"),
    ("phases/03-x/03-CONTEXT.md", "context"),
    ("phases/03-x/notes.md", "notes"),
    ("phases/03.1-y/03.1-01-PLAN.md", "decimal"),
    ("phases/04-x/04-01-PLAN.md", "four"),
];

fn project(files: &[(&str, &str)]) -> (TempDir, Project) {
    let dir = TempDir::new().unwrap();
    for (path, text) in files {
        let path = dir.path().join(".planning").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let project = Project::find(dir.path()).unwrap();
    (dir, project)
}

fn files(planning: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![planning.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(planning).unwrap().display().to_string();
            if name == ".mow" {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn after() -> BTreeMap<String, String> {
    let roadmap = "### Phase 1: A\n### Phase 2: X\n### Phase 2.1: Y\n### Phase 3: X\n";
    let pairs = [
        ("ROADMAP.md", roadmap),
        ("STATE.md", "**Total Phases:** 3\n"),
        ("phases/01-a/01-01-PLAN.md", "one"),
        ("phases/02-x/02-01-PLAN.md", "three"),
        ("phases/02-x/02-CONTEXT.md", "context"),
        ("phases/02-x/notes.md", "notes"),
        ("phases/02.1-y/02.1-01-PLAN.md", "decimal"),
        ("phases/03-x/03-01-PLAN.md", "four"),
    ];
    pairs.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn two() -> PhaseNumber {
    PhaseNumber::whole(2)
}

#[test]
fn directories_files_and_documents_move_up_by_one() {
    let (_dir, project) = project(FILES);
    let plan = PhaseRemoval::plan(&project.planning, &two()).unwrap();
    assert_eq!((plan.own.as_deref(), plan.has_summaries), (Some("02-x"), false));
    let shown = |renames: &[super::Rename]| -> Vec<String> {
        renames.iter().map(|rename| format!("{} {}", rename.from, rename.to)).collect()
    };
    assert_eq!(shown(&plan.directories), ["03-x 02-x", "03.1-y 02.1-y", "04-x 03-x"]);
    let writer = Writer::open(&project, WAIT_DEFAULT).unwrap();
    plan.apply(&writer, &project.planning, &two()).unwrap();
    assert_eq!(files(&project.planning), after());
}

#[test]
fn a_removal_interrupted_at_any_step_is_finished_by_the_next_call() {
    // There are fewer steps than rounds, so the last rounds run uninterrupted.
    for steps in 0..20 {
        let (_dir, project) = project(FILES);
        let planning = &project.planning;
        let writer = Writer::open(&project, WAIT_DEFAULT).unwrap();
        let plan = PhaseRemoval::plan(planning, &two()).unwrap();
        let intention = intention(&plan, planning);
        let text = serde_json::to_vec(&intention).unwrap();
        writer.replace(&planning.join(super::INTENT_FILE), &text).unwrap();
        intention.finish(&writer, planning, steps).unwrap();
        finish_interrupted(&writer, planning).unwrap();
        super::delete_moved_aside(&writer, planning).unwrap();
        assert_eq!(files(planning), after(), "cut off after {steps} steps");
        assert_eq!(finish_interrupted(&writer, planning).unwrap(), None);
    }
}

fn intention(plan: &PhaseRemoval, planning: &Path) -> RemovalIntent {
    let hash = |file: &str| Some(crate::project::fnv1a(&fs::read(planning.join(file)).unwrap()));
    let aside = plan.removed_directories().map(|name| super::Rename {
        from: format!("phases/{name}"),
        to: format!(".removed-{name}"),
    });
    let steps = plan.steps.iter().map(|step| super::Rename {
        from: format!("phases/{}", step.from),
        to: format!("phases/{}", step.to),
    });
    RemovalIntent {
        removed: "2".to_owned(),
        roadmap: hash("ROADMAP.md"),
        state: hash("STATE.md"),
        renames: aside.chain(steps).collect(),
    }
}

#[test]
fn existing_names_are_never_overwritten() {
    let (_dir, twins) = project(&[("phases/02-a/x", ""), ("phases/02-b/x", "")]);
    assert!(matches!(
        PhaseRemoval::plan(&twins.planning, &two()),
        Err(RemovalError::DuplicateDirectories(..))
    ));
    let files = [("phases/03-x/03-01-PLAN.md", "a"), ("phases/03-x/02-01-PLAN.md", "b")];
    let (_dir, taken) = project(&files);
    assert!(matches!(
        PhaseRemoval::plan(&taken.planning, &two()),
        Err(RemovalError::NameTaken(..))
    ));
}
