//! Tests edits of planning files by a person during a run: the edits stay and take effect.

use std::time::Duration;

use mow_store::disk::Lock;
use mow_store::project::Project;
use mow_testkit::planned_project::{ALL, phase, plan, task};

use super::{answer_all, one_task_phase, project};

#[test]
fn a_phase_added_to_the_roadmap_joins_the_run() {
    let project = project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let added = phase("3", &["1"]).with(plan(vec![task("echo 3 > crop-3")]));
    for (path, text) in added.files(project.sandbox.outer_dir()) {
        project.write(&path, text);
    }
    let section = format!("{}A remark of a person.\n\n", added.section());
    project.edit(
        ".planning/ROADMAP.md",
        "\n## Phase Details\n",
        &format!("{}\n## Phase Details\n", added.line()),
    );
    let text = project.text(".planning/ROADMAP.md");
    project.write(".planning/ROADMAP.md", format!("{text}{section}"));
    project.wait_for_event("phase 3", |event| {
        event["phases"].as_array().is_some_and(|p| p.len() == 3)
    });
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(project.target_files().contains_key("crop-3"), "{:?}", project.target_files());
    assert!(project.text(".planning/ROADMAP.md").contains("A remark of a person.\n"));
    project.assert_consistent();
}

#[test]
fn changed_dependencies_change_the_order() {
    let project = project(&[
        one_task_phase("1", &[], "meet 1"),
        one_task_phase("2", &["1"], ""),
        one_task_phase("3", &[], "meet 3"),
    ]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_point("3");
    project.edit(".planning/ROADMAP.md", "**Depends on**: Phase 1", "**Depends on**: Phase 3");
    project.wait_for_event("the change", |event| {
        let phases = event["phases"].as_array();
        phases.is_some_and(|phases| {
            phases.iter().any(|p| p["depends_on"] == serde_json::json!(["3"]))
        })
    });
    project.release_point("3");
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(output.contains("phase 2 starts (attempt 1): merged before it: 3"), "{output}");
    assert!(project.text(".planning/ROADMAP.md").contains("**Depends on**: Phase 3"));
    project.assert_consistent();
}

#[test]
fn a_phase_that_is_removed_is_not_run_and_does_not_keep_the_run_open() {
    let removed = one_task_phase("2", &["1"], "");
    let project = project(&[one_task_phase("1", &[], "meet 1"), removed.clone()]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.edit(".planning/ROADMAP.md", &removed.line(), "");
    let text = project.text(".planning/ROADMAP.md");
    let at = text.find("### Phase 2").expect("it has a section");
    project.write(".planning/ROADMAP.md", &text[..at]);
    project.wait_for_status("2", "cancelled");
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(!project.target_files().contains_key("crop-2"));
    assert!(!project.text(".planning/ROADMAP.md").contains("Phase 2"));
    project.assert_consistent();
    assert!(project.run_all().contains("Nothing to do"), "the run is over");
}

#[test]
fn text_written_into_state_md_stays_byte_for_byte() {
    let project =
        project(&[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "meet 2")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let words =
        "A person wrote this.\n\n\tAnd  this \u{e9}\u{301}, \u{1f331} `|` too.\r\nEven that.";
    project.edit(".planning/STATE.md", "A person wrote this.", words);
    project.release_point("1");
    project.wait_for_point("2");
    let more = "One more line.\n";
    project.edit(".planning/STATE.md", "## Notes\n", &format!("## Notes\n\n{more}"));
    project.release_point("2");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    let text = project.text(".planning/STATE.md");
    assert!(text.contains(words) && text.contains(more), "{text}");
    assert_eq!(
        project.git(&["show", "main:.planning/STATE.md"]),
        text,
        "the commit has the same text"
    );
    assert_eq!(project.git(&["status", "--porcelain"]), "");
    project.assert_consistent();
}

#[test]
fn a_dependency_cycle_is_reported_and_the_edit_is_ignored() {
    let project = project(&[
        one_task_phase("1", &[], "meet 1"),
        one_task_phase("2", &["1"], ""),
        one_task_phase("3", &["2"], ""),
    ]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.edit(".planning/ROADMAP.md", "**Depends on**: Phase 1", "**Depends on**: Phase 3");
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(
        output.contains("changes in ROADMAP.md are ignored: dependency cycle: 2 → 3 → 2"),
        "{output}"
    );
    project.assert_consistent();
}

#[test]
fn a_roadmap_broken_while_a_run_is_resumed_stops_nothing() {
    let phases = [
        one_task_phase("1", &[], "").without_context(),
        one_task_phase("2", &["1"], ""),
        one_task_phase("3", &["2"], ""),
    ];
    let project = project(&phases);
    project.exits_with(&ALL, 5); // phase 1 waits for answers
    project.write(".planning/phases/01-field-1/remark.md", "A remark of a person.\n");
    let mut lead = project.call(&["run", "--all", "--plain"]).on_terminal();
    lead.wait_for("Commit and continue?");
    let good = project.text(".planning/ROADMAP.md");
    project.edit(".planning/ROADMAP.md", "**Depends on**: Phase 1", "**Depends on**: Phase 3");
    lead.type_in("y\n");
    let (status, output) = lead.end();
    assert!(output.contains("changes in ROADMAP.md are ignored: dependency cycle"), "{output}");
    assert_eq!(status.code(), Some(5), "it still waits for answers: {output}");
    project.write(".planning/ROADMAP.md", good);
    answer_all(&project, "Barley.");
    project.run_all();
    project.assert_consistent();
}

#[test]
fn a_lock_on_the_planning_files_delays_no_worker() {
    let tasks = vec![task("meet 1"), task("meet 2"), task("meet 3\necho 1 > crop")];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let store = Project::find(&project.root()).unwrap();
    let lock = Lock::acquire(&store.lock_path(), Duration::from_secs(30)).unwrap();
    for (point, done) in [("1", 1), ("2", 2)] {
        project.release_point(point);
        project.wait_for_event(&format!("task {done}"), |event| {
            event["report"]["report"] == "task_done" && event["report"]["task"] == done
        });
    }
    drop(lock);
    project.release_point("3");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    // A lead that blocked on the lock would time out before it read the second report.
    assert!(!output.contains("cannot write the planning files"), "{output}");
    project.assert_consistent();
    assert!(project.text(".planning/STATE.md").contains("complete"));
}
