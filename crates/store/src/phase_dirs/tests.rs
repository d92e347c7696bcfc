//! Tests of listing and counting phase directories.

use std::fs;

use mow_core::phase::PhaseNumber;

use super::{DiskStatus, PhaseDirIndex, PhaseDirs, PhaseFileCounts, PhaseFileKind};

fn project(files: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        let path = dir.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file).unwrap();
    }
    dir
}

#[test]
fn directories_are_ordered_and_found_by_number() {
    let dir = project(&[
        "phases/10-late/.gitkeep",
        "phases/6.10-b/x",
        "phases/6.2-a/x",
        "phases/03.1-x/x",
        "phases/phase-4/x",
        "phases/notes/x",
    ]);
    let dirs = PhaseDirs::load(dir.path());
    let names: Vec<_> = dirs.iter().map(|dir| dir.name.as_str()).collect();
    assert_eq!(names, ["03.1-x", "phase-4", "6.2-a", "6.10-b", "10-late", "notes"]);
    let find =
        |text: &str| dirs.find(&PhaseNumber::parse(text).unwrap()).map(|dir| dir.name.as_str());
    assert_eq!(find("6.10"), Some("6.10-b"));
    assert_eq!(find("04"), Some("phase-4"));
    assert_eq!(find("3"), None, "3 is not 3.1");
}

#[test]
fn the_files_of_a_phase_give_its_status() {
    let check = |files: &[&str], expected| {
        let files: Vec<_> = files.iter().map(|file| format!("phases/01-a/{file}")).collect();
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        let dir = project(&files);
        let dirs = PhaseDirs::load(dir.path());
        assert_eq!(dirs.iter().next().unwrap().status(), expected, "{files:?}");
    };
    check(&[".gitkeep"], DiskStatus::Empty);
    check(&["01-CONTEXT.md"], DiskStatus::Discussed);
    check(&["01-CONTEXT.md", "01-RESEARCH.md"], DiskStatus::Researched);
    check(&["01-01-PLAN.md", "01-RESEARCH.md"], DiskStatus::Planned);
    check(&["01-01-PLAN.md", "01-02-PLAN.md", "01-01-SUMMARY.md"], DiskStatus::Partial);
    check(&["PLAN.md", "SUMMARY.md"], DiskStatus::Complete);
}

#[test]
fn counting_with_two_threads_gives_the_same_result() {
    for count in [3, 200] {
        let files: Vec<_> = (1..=count)
            .flat_map(|phase| (0..=phase % 3).map(move |plan| (phase, plan)))
            .map(|(phase, plan)| format!("phases/{phase:02}-a/{phase:02}-{plan:02}-PLAN.md"))
            .collect();
        let dir = project(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let (counts, result) = PhaseFileCounts::load_while(dir.path(), || "done");
        assert_eq!(result, "done");
        for listed in PhaseDirs::load(dir.path()).iter() {
            let number = listed.number.unwrap();
            let found = counts.find(&number).unwrap();
            assert_eq!(found.count(PhaseFileKind::Plan), number.major() as usize % 3 + 1);
            assert_eq!(found.status(), listed.status());
        }
        assert_eq!(counts.find(&PhaseNumber::whole(count + 1)), None);
    }
}

#[test]
fn archives_are_listed_newest_first() {
    let dir = project(&[
        "milestones/v1.9-phases/03-a/x",
        "milestones/v1.10-phases/04-b/x",
        "milestones/v1.10-ROADMAP.md",
    ]);
    let archived = PhaseDirs::load_archived(dir.path());
    let shown: Vec<_> =
        archived.iter().map(|dir| (dir.archived.as_deref().unwrap(), dir.name.as_str())).collect();
    assert_eq!(shown, [("v1.10", "04-b"), ("v1.9", "03-a")]);
}

#[test]
fn file_names_are_split_into_kind_and_id() {
    assert_eq!(PhaseFileKind::Plan.id("03-01-PLAN.md"), Some("03-01"));
    assert_eq!(PhaseFileKind::Plan.id("PLAN.md"), Some(""));
    assert_eq!(PhaseFileKind::Plan.id("REPLAN.md"), None);
    assert_eq!(PhaseFileKind::Summary.id("03-01-PLAN.md"), None);
}

#[test]
fn a_status_file_is_found_however_its_number_is_padded() {
    let dir = project(&[
        "phases/03-a/03-STATUS.md",
        "phases/03-a/3-STATUS.md",
        "phases/004-b/004-STATUS.md",
        "phases/05-c/x",
        "phases/phase-6/6-STATUS.md",
    ]);
    let dirs = PhaseDirs::load(dir.path());
    let index = PhaseDirIndex::load(dir.path());
    for (phase, file) in [
        (3, Some("phases/03-a/03-STATUS.md")),
        (4, Some("phases/004-b/004-STATUS.md")),
        (5, None),
        (6, Some("phases/phase-6/6-STATUS.md")),
        (7, None),
    ] {
        let number = PhaseNumber::whole(phase);
        let file = file.map(|file| dir.path().join(file));
        let mut read = Vec::new();
        assert_eq!(index.read_status(&number, &mut read).unwrap(), file.is_some());
        let expected = file.as_ref().map(|file| fs::read(file).unwrap()).unwrap_or_default();
        assert_eq!(read, expected);
        let found = dirs.find(&number);
        assert_eq!(found.and_then(|dir| Some(dir.path.join(dir.status_file()?))), file);
    }
}
