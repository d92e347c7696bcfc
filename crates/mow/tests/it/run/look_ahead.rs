//! Tests look-ahead: a phase is researched, planned or asked about while it waits for others.

use mow_testkit::planned_project::{ALL, PlannedProject, kill, phase, plan, task};

use super::{answer_all, one_task_phase, project_with_config};

const RESEARCH: &str = ".planning/phases/02-field-2/02-RESEARCH.md";
const DRAFT: &str = ".planning/phases/02-field-2/02-01-PLAN.md";
const MARK: &str = "<!-- Made ahead on ";

/// Makes a project in which phase 1 stops at a meeting point and phase 2 depends on it. The script
/// that researches phase 2 stops at a meeting point, too.
fn two_phase_chain(lookahead: &str) -> PlannedProject {
    let project = project_with_config(
        "",
        &[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "")],
    );
    let meet = project.sandbox.outer_dir().join("sync");
    let meet = meet.display();
    let config = format!(
        r#"{{"multi_phase": {{"lookahead": "{lookahead}"}}, "roles": {{"researcher": {{"command":
        ": > {meet}/at-research-$MOW_PHASE; while [ ! -e {meet}/go-research-$MOW_PHASE ]; do sleep 0.01; done; echo found by $MOW_PHASE > $MOW_RESEARCH_FILE; echo $MOW_PHASE >> ../../researched"
        }}}}}}"#
    );
    project.write(".planning/config.json", config);
    project.git(&["commit", "-qam", "Settings"]);
    project.release_point("research-1");
    project
}

fn finish_run(project: &PlannedProject, lead: mow_testkit::planned_project::RunningCommand) {
    let (status, output) = lead.end();
    assert!(status.success(), "{output}");
    project.assert_consistent();
    assert_eq!(project.target_files().len(), 3, "{:?}", project.target_files());
}

#[test]
fn research_is_done_ahead_and_becomes_part_of_the_phase() {
    let project = two_phase_chain("research");
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_point("research-2");
    let shown = project.call(&["ps"]).env("COLUMNS", "200").run().stdout;
    assert!(shown.contains("looks ahead through research and waits for 1"), "{shown}");
    project.release_point("research-2");
    project.wait_for("the research", || project.root().join(RESEARCH).exists().then_some(()));
    project.wait_for_event("its end", |e| {
        e["event"] == "moved" && e["why"]["done_ahead"] == "research"
    });
    let base = project.git(&["rev-parse", "main"]);
    assert_eq!(
        project.text(RESEARCH),
        format!("found by 2\n\n{MARK}{}; the code may have changed since. -->\n", &base[..8])
    );
    project.release_point("1");
    finish_run(&project, lead);
    assert_eq!(project.text("researched"), "1\n2\n", "once each");
    assert_eq!(project.git(&["status", "--porcelain"]), "?? researched\n");
    assert!(project.git(&["show", &format!("main:{RESEARCH}")]).starts_with("found by 2\n"));
    assert_eq!(project.git(&["for-each-ref", "refs/mow/rescue"]), "");
}

#[test]
fn nothing_is_done_ahead_if_look_ahead_is_off() {
    let project = two_phase_chain("off");
    project.release_point("research-2");
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    assert_eq!(project.records("02-1.ndjson").len(), 0);
    project.release_point("1");
    finish_run(&project, lead);
    assert!(!project.text(RESEARCH).contains(MARK));
}

#[test]
fn a_file_written_by_a_person_during_the_look_ahead_stays() {
    let project = two_phase_chain("research");
    let lead = project.start(&ALL);
    project.wait_for_point("research-2");
    project.write(RESEARCH, "I know it all.\n");
    project.release_point("research-2");
    project.wait_for_event("its end", |e| {
        e["event"] == "moved" && e["why"]["done_ahead"] == "research"
    });
    assert_eq!(project.text(RESEARCH), "I know it all.\n");
    project.wait_for_point("1");
    project.release_point("1");
    finish_run(&project, lead);
    assert_eq!(project.git(&["show", &format!("main:{RESEARCH}")]), "I know it all.\n");
    let kept = project.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    assert_eq!(kept.lines().count(), 1, "the research of the look-ahead is rescued: {kept}");
}

#[test]
fn the_phase_itself_repeats_a_killed_look_ahead() {
    let project = two_phase_chain("research");
    let lead = project.start(&ALL);
    project.wait_for_point("research-2");
    kill(project.worker_pid("02", 1));
    project.wait_for_event("its end", |e| e["why"]["lookahead_failed"] == "its worker died");
    project.wait_for_point("1");
    project.release_point("research-2");
    project.release_point("1");
    finish_run(&project, lead);
    assert_eq!(
        project.text(RESEARCH),
        "found by 2\n",
        "researched on its own base, so without the mark"
    );
}

#[test]
fn a_lead_killed_during_the_look_ahead_resumes() {
    let project = two_phase_chain("research");
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_point("research-2");
    lead.kill();
    project.release_point("research-2");
    project.release_point("1");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("researched"), "1\n2\n");
    assert!(project.text(RESEARCH).contains(MARK));
    assert_eq!(project.git(&["status", "--porcelain"]), "?? researched\n");
}

#[test]
fn plans_are_drafted_ahead_and_checked_again_on_the_merged_base() {
    let one = phase("1", &[]).with(plan(vec![task("meet 1\necho 1 > crop-1")]));
    let project = project_with_config("", &[one, phase("2", &["1"])]);
    let one_task_phase =
        one_task_phase("2", &[], "test -e crop-1").files(std::path::Path::new("/"));
    let (_, text) = one_task_phase.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
    project.write("plan", text);
    // The checker accepts the draft on the old base and demands a revision on the merged base.
    let config = r#"{"workflow": {"research": false}, "multi_phase": {"lookahead": "plan"}, "roles": {
        "planner": {"command": "{ cat ../../plan; test ! -e crop-1 || echo '<!-- revised -->'; } > $MOW_PHASE_DIR/02-01-PLAN.md; echo $MOW_DEPENDENCY_DIRS > ../../after-$MOW_ROUND"},
        "plan-checker": {"command": "test $MOW_PHASE = 1 || test ! -e crop-1 || grep -q revised $MOW_PHASE_DIR/02-01-PLAN.md || { echo too old; exit 1; }"}}}"#;
    project.write(".planning/config.json", config);
    project.git(&["commit", "-qam", "Settings"]);
    let lead = project.start(&ALL);
    project.wait_for("the draft", || project.root().join(DRAFT).exists().then_some(()));
    assert!(project.text(DRAFT).contains(MARK) && !project.text(DRAFT).contains("revised"));
    assert!(project.text("after-0").trim().ends_with("p01/.planning/phases/01-field-1"));
    project.wait_for_point("1");
    project.release_point("1");
    finish_run(&project, lead);
    let merged = project.git(&["show", &format!("main:{DRAFT}")]);
    assert!(merged.contains("revised") && !merged.contains(MARK), "{merged}");
    assert_eq!(project.text(DRAFT), merged);
    assert_eq!(project.git(&["status", "--porcelain"]), "?? after-0\n?? after-1\n?? plan\n");
}

#[test]
fn questions_are_asked_ahead() {
    let project = project_with_config(
        "",
        &[one_task_phase("1", &[], "meet 1"), one_task_phase("2", &["1"], "").without_context()],
    );
    let lead = project.start(&ALL);
    project.wait_for_point("1");
    project.wait_for_status("2", "parked");
    answer_all(&project, "as you like");
    let context = ".planning/phases/02-field-2/02-CONTEXT.md";
    project.wait_for("the context", || project.root().join(context).exists().then_some(()));
    assert!(project.text(context).contains("as you like"));
    project.release_point("1");
    finish_run(&project, lead);
    assert!(project.git(&["show", &format!("main:{context}")]).contains(MARK));
    assert_eq!(project.git(&["status", "--porcelain"]), "");
}
