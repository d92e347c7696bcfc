//! What only a person can decide: questions, gates, checkpoint tasks, blockers, gaps.

use mow_testkit::field::{ALL, Plan, phase, plan, task};

use super::{answer_all, field, field_with, sown};

#[test]
fn questions_wait_for_a_person_and_their_answers_become_the_context() {
    let field = field(&[sown("1", &[], "").undiscussed(), sown("2", &[], "")]);
    let parked = field.ends(&ALL, 5);
    assert!(parked.contains("questions wait"), "{parked}");
    assert!(field.git(&["log", "--format=%s", "main"]).contains("Merge phase 2"), "it goes on");
    field.ends(&ALL, 5); // asking again changes nothing
    answer_all(&field, "Rows of barley, please.");
    field.run_all();
    field.inspect();
    let context = field.text(".planning/phases/01-field-1/01-CONTEXT.md");
    assert!(context.contains("Rows of barley, please."), "{context}");
    let asked = field.events().iter().filter(|event| event["event"] == "asked").count();
    assert_eq!(asked, 3, "each question once");
}

#[test]
fn a_gate_opens_by_a_yes_and_fails_by_a_no() {
    let config = "\"worker\": {\"stage_gates\": \"before_execute\"}";
    let field = field_with(config, &[sown("1", &[], ""), sown("2", &[], "")]);
    field.ends(&ALL, 5); // both wait
    super::answer(&field, &1.into(), "approve");
    super::answer(&field, &2.into(), "reject");
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("a person stopped it after plan"), "{ran}");
    assert_eq!(field.code().len(), 2, "only one of them is merged: {:?}", field.code());
    field.inspect();
}

#[test]
fn a_checkpoint_task_waits_in_its_place() {
    let tasks = vec![task("echo 1 > a"), task("").checkpoint("human-verify"), task("echo 2 >> a")];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    field.ends(&ALL, 5); // it waits
    assert!(field.records("01-1.ndjson").iter().any(|r| r.body.contains("task_done")));
    answer_all(&field, "approved");
    field.run_all();
    field.inspect();
    assert_eq!(field.git(&["show", "main:a"]), "1\n2\n");
    assert_eq!(field.trailers("Mow-Task").len(), 2);
}

/// Three plans, of which the first cannot decide something until a file is there.
fn blocked() -> [mow_testkit::field::Phase; 1] {
    let first =
        plan(vec![task("test -e ../../seed || { echo 'which seed?'; exit 75; }\necho 1 > a")]);
    let (second, third) = (plan(vec![task("echo 2 > b")]), plan(vec![task("echo 3 > c")]).wave(2));
    [phase("1", &[]).with(first).with(second).with(third)]
}

#[test]
fn a_blocker_is_skipped_as_far_as_possible() {
    let field = field(&blocked());
    let ran = field.ends(&ALL, 5);
    assert!(ran.contains("which seed?; it goes on"), "{ran}");
    assert!(ran.contains("plan 01-02 done"), "{ran}");
    assert!(!ran.contains("plan 01-03 starts"), "{ran}");
    field.write("seed", "rye\n");
    answer_all(&field, "retry");
    field.run_all();
    field.inspect();
    assert_eq!(field.trailers("Mow-Plan").len(), 3);
}

#[test]
fn a_blocker_stops_a_strict_phase_at_once() {
    let field = field_with("\"worker\": {\"blocker_mode\": \"strict\"}", &blocked());
    let ran = field.ends(&ALL, 5);
    assert!(!ran.contains("plan 01-02 starts"), "{ran}");
    answer_all(&field, "fail");
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("a person gave it up"), "{ran}");
    field.inspect();
}

#[test]
fn gaps_may_be_mended_or_accepted() {
    // The check holds when its task runs, and no more at the end.
    let first = plan(vec![task("echo 1 > a").check("test ! -e b")]);
    let second = plan(vec![task("echo 2 > b")]).wave(2);
    let field = field(&[phase("1", &[]).with(first).with(second)]);
    let ran = field.ends(&ALL, 5);
    assert!(ran.contains("checks do not hold"), "{ran}");
    answer_all(&field, "retry");
    field.ends(&ALL, 5); // they are still there
    answer_all(&field, "accept");
    field.run_all();
    field.inspect();
    let verification = field.text(".planning/phases/01-field-1/01-VERIFICATION.md");
    assert!(verification.contains("gaps_found"), "{verification}");
}

#[test]
fn a_phase_without_plans_waits_for_them() {
    let field = field(&[phase("1", &[])]);
    let ran = field.ends(&ALL, 5);
    assert!(ran.contains("has no plans"), "{ran}");
    let with = phase("1", &[]).with(plan(vec![task("echo 1 > crop-1")]));
    for (path, text) in with.files(field.sandbox.outside()) {
        field.write(&path, text);
    }
    answer_all(&field, "retry");
    field.run_all();
    field.inspect();
    assert_eq!(field.text("crop-1"), "1\n");
}

#[test]
fn an_unreadable_plan_fails_until_it_is_mended() {
    let broken = Plan::of_text("---\nphase: [\n---\n\nNo tasks at all.\n");
    let field = field(&[phase("1", &[]).with(broken), sown("2", &[], "")]);
    let ran = field.ends(&ALL, 1);
    assert!(ran.contains("plan 01-01: it has no tasks"), "{ran}");
    assert!(ran.contains("phase 2 is merged"), "{ran}");
    for (path, text) in sown("1", &[], "").files(field.sandbox.outside()) {
        field.write(&path, text);
    }
    field.run_all();
    field.inspect();
    assert_eq!(field.text("crop-1"), "1\n");
}

#[test]
fn an_unfinished_run_keeps_its_target() {
    let field = field(&[sown("1", &[], "").undiscussed()]);
    field.git(&["branch", "other"]);
    let into = |branch| ["run", "--all", "--yes", "--plain", "--into", branch];
    field.ends(&into("main"), 5); // it waits for answers
    field.ends(&into("main"), 5); // the same target is fine
    let refused = field.ends(&into("other"), 1);
    assert!(refused.contains("is for main, not for other"), "{refused}");
    assert!(refused.contains("mow cancel"), "{refused}");
    field.ends(&["cancel", "--yes"], 0);
    field.ends(&ALL, 0); // that gives it up
    let asked = field.ends(&into("other"), 5);
    assert!(asked.contains("0 of 1 phases merged into other"), "{asked}");
}

#[test]
fn what_was_cancelled_without_a_lead_does_not_come_back() {
    let field = field(&[sown("1", &[], "false")]);
    field.ends(&ALL, 1); // it fails
    field.ends(&["cancel", "--yes"], 0);
    let said = field.ends(&ALL, 0);
    assert!(!said.contains("starts (attempt 2)"), "{said}");
}

#[test]
fn the_overview_tells_what_a_run_holds_instead_of_calling_it_ready() {
    let field = field(&[sown("1", &[], "").undiscussed(), sown("2", &[], "")]);
    let before = field.ends(&[], 0);
    assert!(before.contains("Ready      1 Field 1"), "{before}");
    field.ends(&ALL, 5); // phase 1 waits for answers
    let said = field.ends(&[], 0);
    assert!(said.contains("In the run 1 Field 1 (waits for a person)"), "{said}");
    assert!(!said.contains("Ready"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&field.run(&["--json"]).stdout).expect("it is JSON");
    assert_eq!(
        (&json["held"][0]["how"], &json["phases"]["ready"]),
        (&"waits for a person".into(), &0.into())
    );
}
