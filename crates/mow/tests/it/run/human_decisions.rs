//! Tests what only a person can decide: questions, gates, checkpoint tasks, blockers and gaps.

use mow_testkit::planned_project::{ALL, PlanFixture, phase, plan, task};

use super::{answer_all, one_task_phase, project, project_with_config};

#[test]
fn questions_wait_for_a_person_and_their_answers_become_the_context() {
    let project =
        project(&[one_task_phase("1", &[], "").without_context(), one_task_phase("2", &[], "")]);
    let parked = project.exits_with(&ALL, 5);
    assert!(parked.contains("questions wait"), "{parked}");
    assert!(
        project.git(&["log", "--format=%s", "main"]).contains("Merge phase 2"),
        "phase 2 is merged meanwhile"
    );
    project.exits_with(&ALL, 5); // asking again changes nothing
    answer_all(&project, "Rows of barley, please.");
    project.run_all();
    project.assert_consistent();
    let context = project.text(".planning/phases/01-field-1/01-CONTEXT.md");
    assert!(context.contains("Rows of barley, please."), "{context}");
    let asked = project.events().iter().filter(|event| event["event"] == "asked").count();
    assert_eq!(asked, 3, "each question once");
}

#[test]
fn an_answer_is_taken_back_until_a_lead_takes_it_up_and_bound_to_what_was_shown() {
    let config = "\"worker\": {\"stage_gates\": \"before_execute\"}";
    let project = project_with_config(config, &[one_task_phase("1", &[], "")]);
    project.exits_with(&ALL, 5);
    let question = || project.run(&["inbox", "--json"]).json()["questions"][0].clone();
    let refuses = |arguments: &[&str], message: &str| {
        let refused = project.exits_with(arguments, 1);
        assert!(refused.contains(message), "{refused}");
    };
    refuses(&["take-back", "1"], "question 1 has no answer to take back");
    refuses(&["take-back", "7"], "there is no question 7");
    refuses(
        &["answer", "1", "approve", "--seen", "0000000000000000"],
        "question 1 is not the one that you saw",
    );
    let digest = question()["digest"].as_str().expect("a question has a digest").to_owned();
    project.exits_with(&["answer", "1", "reject", "--seen", &digest], 0);
    assert_eq!(question()["state"], "pending");
    let taken_back = project.exits_with(&["take-back", "1"], 0);
    assert!(taken_back.contains("Took back the answer to question 1"), "{taken_back}");
    assert_eq!(question()["state"], "open");
    project.exits_with(&["answer", "1", "approve"], 0);
    let ran = project.run_all();
    assert!(ran.contains("1 of 1"), "{ran}");
    refuses(&["take-back", "1"], "the run has taken up the answer to question 1: approve");
    let commanded: Vec<_> =
        project.events().into_iter().filter(|event| event["event"] == "commanded").collect();
    assert_eq!(commanded.len(), 2, "the first answer is never carried out: {commanded:?}");
    assert_eq!(commanded[1]["by"]["face"], "cli", "{commanded:?}");
}

#[test]
fn a_stage_gate_continues_on_approve_and_fails_on_reject() {
    let config = "\"worker\": {\"stage_gates\": \"before_execute\"}";
    let project =
        project_with_config(config, &[one_task_phase("1", &[], ""), one_task_phase("2", &[], "")]);
    project.exits_with(&ALL, 5); // both wait
    super::answer(&project, &1.into(), "approve");
    super::answer(&project, &2.into(), "reject");
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("a person stopped it after plan"), "{ran}");
    assert_eq!(
        project.target_files().len(),
        2,
        "only one of them is merged: {:?}",
        project.target_files()
    );
    project.assert_consistent();
}

#[test]
fn a_checkpoint_task_waits_for_a_person_between_its_neighbours() {
    let tasks = vec![task("echo 1 > a"), task("").checkpoint("human-verify"), task("echo 2 >> a")];
    let project = project(&[phase("1", &[]).with(plan(tasks))]);
    project.exits_with(&ALL, 5); // it waits
    assert!(project.records("01-1.ndjson").iter().any(|r| r.body.contains("task_done")));
    answer_all(&project, "approved");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.git(&["show", "main:a"]), "1\n2\n");
    assert_eq!(project.trailers("Mow-Task").len(), 2);
}

/// Returns a phase with three plans. The first reports a blocker until the file `seed` exists.
fn blocked_phase() -> [mow_testkit::planned_project::PhaseFixture; 1] {
    let first =
        plan(vec![task("test -e ../../seed || { echo 'which seed?'; exit 75; }\necho 1 > a")]);
    let (second, third) = (plan(vec![task("echo 2 > b")]), plan(vec![task("echo 3 > c")]).wave(2));
    [phase("1", &[]).with(first).with(second).with(third)]
}

#[test]
fn a_blocked_plan_is_skipped_and_independent_plans_run() {
    let project = project(&blocked_phase());
    let ran = project.exits_with(&ALL, 5);
    assert!(ran.contains("which seed?; other plans continue"), "{ran}");
    assert!(ran.contains("plan 01-02 done"), "{ran}");
    assert!(!ran.contains("plan 01-03 starts"), "{ran}");
    project.write("seed", "rye\n");
    answer_all(&project, "retry");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.trailers("Mow-Plan").len(), 3);
}

#[test]
fn a_blocker_stops_a_phase_in_strict_mode() {
    let project =
        project_with_config("\"worker\": {\"blocker_mode\": \"strict\"}", &blocked_phase());
    let ran = project.exits_with(&ALL, 5);
    assert!(!ran.contains("plan 01-02 starts"), "{ran}");
    answer_all(&project, "fail");
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("a person gave it up"), "{ran}");
    project.assert_consistent();
}

#[test]
fn verification_gaps_may_be_retried_or_accepted() {
    // The check passes when its task runs, and fails at the end of the phase.
    let first = plan(vec![task("echo 1 > a").check("test ! -e b")]);
    let second = plan(vec![task("echo 2 > b")]).wave(2);
    let project = project(&[phase("1", &[]).with(first).with(second)]);
    let ran = project.exits_with(&ALL, 5);
    assert!(ran.contains("checks do not hold"), "{ran}");
    answer_all(&project, "retry");
    project.exits_with(&ALL, 5); // the gaps are still there
    answer_all(&project, "accept");
    project.run_all();
    project.assert_consistent();
    let verification = project.text(".planning/phases/01-field-1/01-VERIFICATION.md");
    assert!(verification.contains("gaps_found"), "{verification}");
}

#[test]
fn a_phase_without_plans_waits_for_them() {
    let project = project(&[phase("1", &[])]);
    let ran = project.exits_with(&ALL, 5);
    assert!(ran.contains("has no plans"), "{ran}");
    let with = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    for (path, text) in with.files(project.sandbox.outer_dir()) {
        project.write(&path, text);
    }
    answer_all(&project, "retry");
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop-1"), "1\n");
}

#[test]
fn an_unreadable_plan_fails_until_it_is_fixed() {
    let broken = PlanFixture::from_text("---\nphase: [\n---\n\nNo tasks at all.\n");
    let project = project(&[phase("1", &[]).with(broken), one_task_phase("2", &[], "")]);
    let ran = project.exits_with(&ALL, 1);
    assert!(ran.contains("plan 01-01: it has no tasks"), "{ran}");
    assert!(ran.contains("phase 2 is merged"), "{ran}");
    for (path, text) in one_task_phase("1", &[], "").files(project.sandbox.outer_dir()) {
        project.write(&path, text);
    }
    project.run_all();
    project.assert_consistent();
    assert_eq!(project.text("crop-1"), "1\n");
}

#[test]
fn an_unfinished_run_keeps_its_target_branch() {
    let project = project(&[one_task_phase("1", &[], "").without_context()]);
    project.git(&["branch", "other"]);
    let into = |branch| ["run", "--all", "--yes", "--plain", "--into", branch];
    project.exits_with(&into("main"), 5); // it waits for answers
    project.exits_with(&into("main"), 5); // the same target is fine
    let refused = project.exits_with(&into("other"), 1);
    assert!(refused.contains("is for main, not for other"), "{refused}");
    assert!(refused.contains("mow cancel"), "{refused}");
    project.exits_with(&["cancel", "--yes"], 0);
    project.exits_with(&ALL, 0); // this run only applies the cancellation
    let asked = project.exits_with(&into("other"), 5);
    assert!(asked.contains("0 of 1 phase merged into other"), "{asked}");
}

#[test]
fn a_phase_cancelled_without_a_lead_is_not_started_again() {
    let project = project(&[one_task_phase("1", &[], "false")]);
    project.exits_with(&ALL, 1); // it fails
    project.exits_with(&["cancel", "--yes"], 0);
    let output = project.exits_with(&ALL, 0);
    assert!(!output.contains("starts (attempt 2)"), "{output}");
}

#[test]
fn the_overview_shows_phases_of_an_unfinished_run_as_in_run_and_not_as_ready() {
    let project =
        project(&[one_task_phase("1", &[], "").without_context(), one_task_phase("2", &[], "")]);
    let before = project.exits_with(&[], 0);
    assert!(before.contains("Ready      1 Field 1"), "{before}");
    project.exits_with(&ALL, 5); // phase 1 waits for answers
    let output = project.exits_with(&[], 0);
    assert!(output.contains("In run     1 Field 1 (waits for an answer)"), "{output}");
    assert!(!output.contains("Ready"), "{output}");
    let json: serde_json::Value =
        serde_json::from_str(&project.run(&["--json"]).stdout).expect("it is JSON");
    assert_eq!(
        (&json["held"][0]["how"], &json["phases"]["ready"]),
        (&"waits for an answer".into(), &0.into())
    );
}
