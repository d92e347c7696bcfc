//! Tests that a run does what was named: no older work, no withdrawn phases, no phases of other
//! milestones, and no phase whose dependencies are unknown.

use mow_testkit::planned_project::{ALL, PlannedProject};

use super::{one_task_phase, project};

const ROADMAP: &str = ".planning/ROADMAP.md";

fn edit_roadmap(project: &PlannedProject, from: &str, to: &str) {
    let roadmap = project.text(ROADMAP);
    assert!(roadmap.contains(from), "{roadmap}");
    project.write(ROADMAP, roadmap.replace(from, to));
}

fn named(phase: &str) -> [&str; 4] {
    ["run", phase, "--yes", "--plain"]
}

#[test]
fn a_named_run_leaves_older_work_as_it_is() {
    let project = project(&[
        one_task_phase("1", &[], "false"),
        one_task_phase("2", &[], ""),
        one_task_phase("3", &["1"], ""),
    ]);
    project.exits_with(&["run", "1", "3", "--yes", "--plain"], 1); // phase 1 fails
    let output = project.exits_with(&named("2"), 0);
    assert!(output.contains("2 older phases of run"), "{output}");
    assert!(!output.contains("phase 1 starts"), "{output}");
    assert_eq!(project.text("crop-2"), "2\n");
    let status = project.exits_with(&["ps"], 0);
    assert!(status.contains("failed"), "{status}");
    for (path, text) in one_task_phase("1", &[], "").files(project.sandbox.outer_dir()) {
        project.write(&path, text);
    }
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop-3"), "3\n");
}

#[test]
fn an_unknown_dependency_stops_its_phase_only() {
    let project = project(&[one_task_phase("1", &[], ""), one_task_phase("2", &["1"], "")]);
    edit_roadmap(&project, "**Depends on**: Phase 1", "**Depends on**: Phase 1, Phase 77");
    let refused = project.exits_with(&named("2"), 1);
    assert!(refused.contains("ROADMAP.md:"), "{refused}");
    assert!(refused.contains("phase 2 depends on phase 77"), "{refused}");
    let output = project.exits_with(&ALL, 5);
    assert!(output.contains("phase 2 does not start: ROADMAP.md:"), "{output}");
    assert_eq!(project.text("crop-1"), "1\n");
    assert!(!project.git(&["ls-tree", "--name-only", "main"]).contains("crop-2"));
    edit_roadmap(&project, "Phase 1, Phase 77", "Phase 1");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop-2"), "2\n");
}

#[test]
fn withdrawn_phases_and_other_milestones_do_not_run() {
    let project = project(&[
        one_task_phase("1", &[], ""),
        one_task_phase("2", &[], ""),
        one_task_phase("3", &["2"], ""),
    ]);
    edit_roadmap(&project, "Phase 2: Field 2\n", "Phase 2: Field 2 (DEFERRED to v2)\n");
    let refused = project.exits_with(&named("2"), 1);
    assert!(refused.contains("phase 2 is withdrawn"), "{refused}");
    let output = project.exits_with(&ALL, 5);
    assert!(output.contains("phase 3 does not start"), "{output}");
    assert_eq!(project.text("crop-1"), "1\n");
    assert!(!project.git(&["ls-tree", "--name-only", "main"]).contains("crop-2"));
}

#[test]
fn a_run_of_all_phases_takes_those_of_the_current_milestone() {
    let project = project(&[one_task_phase("1", &[], ""), one_task_phase("2", &[], "")]);
    let roadmap = project.text(ROADMAP);
    let lists =
        "- 🚧 **v1.1 Now** - Phase 1 (in progress)\n- 📋 **v1.2 Next** - Phase 2 (planned)\n";
    let at = roadmap.find('\n').unwrap() + 1;
    project.write(ROADMAP, format!("{}\n{lists}{}", &roadmap[..at], &roadmap[at..]));
    let output = project.exits_with(&ALL, 0);
    assert!(output.contains("not in milestone v1.1: 2 (v1.2)"), "{output}");
    assert!(!project.git(&["ls-tree", "--name-only", "main"]).contains("crop-2"));
    let of = |milestone| ["run", "--all", "--yes", "--plain", "--milestone", milestone];
    let unknown = project.exits_with(&of("v9"), 1);
    assert!(unknown.contains("v1.1, v1.2"), "{unknown}");
    project.exits_with(&of("1.2"), 0);
    assert_eq!(project.text("crop-2"), "2\n");
}
