//! Tests which dependencies cannot be satisfied.

#![expect(clippy::disallowed_methods, reason = "tests make their own files")]

use std::collections::BTreeSet;
use std::fs;

use crate::project_phases;

/// Returns the problems of a roadmap, in a project whose phase 2 is archived.
fn problems(roadmap: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("milestones/v0.9-phases/02-old")).unwrap();
    fs::write(dir.path().join("ROADMAP.md"), roadmap).unwrap();
    let all = project_phases::load(dir.path()).unwrap().unwrap();
    let found = all.dependency_problems(dir.path(), &all.phases, &BTreeSet::new());
    found.iter().map(ToString::to_string).collect()
}

fn of_phase_9(depends_on: &str) -> Vec<String> {
    let head = "# Roadmap\n\n- ✅ **v1.0 MVP** — Phases 3-4 (shipped 2025-01-02)\n\n";
    let others = "### Phase 5: Five\n\n### Phase 6: Six (REMOVED)\n\n### Phase 999.1: Idea\n\n";
    problems(&format!("{head}{others}### Phase 9: Nine\n\n**Depends on**: {depends_on}\n"))
}

#[test]
fn known_and_finished_phases_satisfy_a_dependency() {
    for text in [
        "Phase 5",
        "All previous phases",
        "Phases 2 and 5",
        "Phase 4",
        "Phases 3-5",
        "Nothing",
        "v1.0 complete",
        "-",
        "",
    ] {
        assert_eq!(of_phase_9(text), [""; 0], "{text}");
    }
}

#[test]
fn other_dependencies_are_problems_that_name_the_line() {
    for (text, problem) in [
        ("Phase 77", "phase 77, which the roadmap does not have"),
        ("Phase 5, Phase 8", "phase 8, which the roadmap does not have"),
        ("Phase 6", "phase 6, which line 7 marks as withdrawn"),
        ("Phase 999.1", "phase 999.1, which is in the backlog"),
        ("Phase 9", "itself"),
        ("the login work", "`the login work`, which names no known phase"),
        ("Phaze 5", "`Phaze 5`, which names no known phase"),
        ("Phase 5, TBD", "`Phase 5, TBD`, which names no known phase"),
    ] {
        let expected = format!("ROADMAP.md:13: phase 9 depends on {problem}");
        assert_eq!(of_phase_9(text), [expected], "{text}");
    }
}
