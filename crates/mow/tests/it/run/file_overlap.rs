//! Tests phases whose plans name the same files: they run one after the other unless forced.

use mow_testkit::planned_project::{ALL, PhaseFixture, PlannedProject, phase, plan, task};

use super::{project, project_with_config};

/// Returns a phase that runs a script and appends its number to the shared file `crop`.
fn phase_appending_to_crop(number: &str, script: &str) -> PhaseFixture {
    let script = format!("{script}\necho {number} >> crop");
    phase(number, &[]).with(plan(vec![task(&script)]).changes(&["./crop"]))
}

fn log(project: &PlannedProject) -> String {
    project.exits_with(&["log"], 0)
}

#[test]
fn phases_that_change_the_same_file_run_one_after_the_other() {
    let project =
        project(&[phase_appending_to_crop("1", "meet 1"), phase_appending_to_crop("2", "")]);
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    let shown = project.call(&["ps"]).env("COLUMNS", "200").run().stdout;
    assert!(shown.contains("it waits for 1, which also changes crop"), "{shown}");
    project.release_point("1");
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    assert!(output.contains("1 and 2 both change crop: they run one after the other"), "{output}");
    project.assert_consistent();
    assert_eq!(project.text("crop"), "1\n2\n");
    assert!(log(&project).contains("another phase that changes the same files waits for it"));
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}

#[test]
fn phases_that_change_the_same_file_run_in_parallel_if_forced() {
    let project =
        project(&[phase_appending_to_crop("1", "meet 1"), phase_appending_to_crop("2", "meet 2")]);
    let lead = project.start(&[&ALL[..], &["--force"]].concat());
    project.wait_for_point("1");
    project.wait_for_point("2");
    project.release_point("1");
    project.release_point("2");
    let (status, output) = lead.end();
    assert_eq!(status.code(), Some(5), "{output}");
    assert!(
        output.contains("1 and 2 both change crop: they run in parallel, because of --force"),
        "{output}"
    );
    assert!(output.contains("conflicts in crop"), "{output}");
}

#[test]
fn plans_written_during_the_run_are_compared_before_they_execute() {
    let config = r#""roles": {"planner": {
        "command": "cp ../../plan-$MOW_PHASE $MOW_PHASE_DIR/0$MOW_PHASE-01-PLAN.md"}}"#;
    let project = project_with_config(config, &[phase("1", &[]), phase("2", &[])]);
    for number in ["1", "2"] {
        let files = phase_appending_to_crop(number, "").files(std::path::Path::new("/"));
        let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
        project.write(&format!("plan-{number}"), text);
    }
    project.run_all();
    project.assert_consistent();
    let crop = project.text("crop");
    assert!(crop == "1\n2\n" || crop == "2\n1\n", "{crop}");
    let log = log(&project);
    assert!(log.contains("its plans change crop"), "{log}");
    assert_eq!(project.git(&["status", "--porcelain"]), "?? plan-1\n?? plan-2\n");
}
