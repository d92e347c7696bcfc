//! A person edits planning files while they are in use: what was written stays, and counts.

use std::time::Duration;

use mow_store::disk::Lock;
use mow_store::project::Project;
use mow_testkit::field::{ALL, phase, plan, task};

use super::{answer_all, field, sown};

#[test]
fn a_phase_that_is_added_joins_in() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], "")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let added = phase("3", &["1"]).with(plan(vec![task("echo 3 > crop-3")]));
    for (path, text) in added.files(field.sandbox.outside()) {
        field.write(&path, text);
    }
    let section = format!("{}A remark of a person.\n\n", added.section());
    field.edit(
        ".planning/ROADMAP.md",
        "\n## Phase Details\n",
        &format!("{}\n## Phase Details\n", added.line()),
    );
    let text = field.text(".planning/ROADMAP.md");
    field.write(".planning/ROADMAP.md", format!("{text}{section}"));
    field.until_event("phase 3", |event| event["phases"].as_array().is_some_and(|p| p.len() == 3));
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(field.code().contains_key("crop-3"), "{:?}", field.code());
    assert!(field.text(".planning/ROADMAP.md").contains("A remark of a person.\n"));
    field.inspect();
}

#[test]
fn other_dependencies_change_the_order() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], ""), sown("3", &[], "meet 3")]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.reached("3");
    field.edit(".planning/ROADMAP.md", "**Depends on**: Phase 1", "**Depends on**: Phase 3");
    field.until_event("the change", |event| {
        let phases = event["phases"].as_array();
        phases.is_some_and(|phases| {
            phases.iter().any(|p| p["depends_on"] == serde_json::json!(["3"]))
        })
    });
    field.open("3");
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("phase 2 starts (attempt 1): merged before it: 3"), "{said}");
    assert!(field.text(".planning/ROADMAP.md").contains("**Depends on**: Phase 3"));
    field.inspect();
}

#[test]
fn a_phase_that_is_removed_is_not_run_and_does_not_keep_the_run_open() {
    let gone = sown("2", &["1"], "");
    let field = field(&[sown("1", &[], "meet 1"), gone.clone()]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.edit(".planning/ROADMAP.md", &gone.line(), "");
    let text = field.text(".planning/ROADMAP.md");
    let at = text.find("### Phase 2").expect("it has a section");
    field.write(".planning/ROADMAP.md", &text[..at]);
    field.until_moved("2", "cancelled");
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(!field.code().contains_key("crop-2"));
    assert!(!field.text(".planning/ROADMAP.md").contains("Phase 2"));
    field.inspect();
    assert!(field.run_all().contains("Nothing to do"), "the run is over");
}

#[test]
fn words_in_the_state_stay_byte_for_byte() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], "meet 2")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let words =
        "A person wrote this.\n\n\tAnd  this \u{e9}\u{301}, \u{1f331} `|` too.\r\nEven that.";
    field.edit(".planning/STATE.md", "A person wrote this.", words);
    field.open("1");
    field.reached("2");
    let more = "One more line.\n";
    field.edit(".planning/STATE.md", "## Notes\n", &format!("## Notes\n\n{more}"));
    field.open("2");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    let text = field.text(".planning/STATE.md");
    assert!(text.contains(words) && text.contains(more), "{text}");
    assert_eq!(field.git(&["show", "main:.planning/STATE.md"]), text, "it is committed so");
    assert_eq!(field.git(&["status", "--porcelain"]), "");
    field.inspect();
}

#[test]
fn a_circle_is_said_and_left_alone_until_it_is_mended() {
    let field = field(&[sown("1", &[], "meet 1"), sown("2", &["1"], ""), sown("3", &["2"], "")]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.edit(".planning/ROADMAP.md", "**Depends on**: Phase 1", "**Depends on**: Phase 3");
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("ROADMAP.md is left as it was: dependency cycle: 2 → 3 → 2"), "{said}");
    field.inspect();
}

#[test]
fn a_roadmap_that_turns_bad_while_a_run_is_taken_up_stops_nothing() {
    let phases = [sown("1", &[], "").undiscussed(), sown("2", &["1"], ""), sown("3", &["2"], "")];
    let field = field(&phases);
    field.ends(&ALL, 5); // phase 1 waits for answers
    field.write(".planning/phases/01-field-1/remark.md", "A remark of a person.\n");
    let mut lead = field.call(&["run", "--all", "--plain"]).on_terminal();
    lead.wait_for("Commit them and go on?");
    let good = field.text(".planning/ROADMAP.md");
    field.edit(".planning/ROADMAP.md", "**Depends on**: Phase 1", "**Depends on**: Phase 3");
    lead.type_in("y\n");
    let (status, said) = lead.end();
    assert!(said.contains("ROADMAP.md is left as it was: dependency cycle"), "{said}");
    assert_eq!(status.code(), Some(5), "it still waits for answers: {said}");
    field.write(".planning/ROADMAP.md", good);
    answer_all(&field, "Barley.");
    field.run_all();
    field.inspect();
}

#[test]
fn planning_files_that_somebody_keeps_locked_hold_up_no_worker() {
    let tasks = vec![task("meet 1"), task("meet 2"), task("meet 3\necho 1 > crop")];
    let field = field(&[phase("1", &[]).with(plan(tasks))]);
    let lead = field.start(&ALL);
    field.reached("1");
    let project = Project::find(&field.root()).unwrap();
    let lock = Lock::acquire(&project.lock_path(), Duration::from_secs(30)).unwrap();
    for (point, done) in [("1", 1), ("2", 2)] {
        field.open(point);
        field.until_event(&format!("task {done}"), |event| {
            event["report"]["report"] == "task_done" && event["report"]["task"] == done
        });
    }
    drop(lock);
    field.open("3");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    // A lead that waits for the lock gives up before it hears of the second task.
    assert!(!said.contains("cannot write the planning files"), "{said}");
    field.inspect();
    assert!(field.text(".planning/STATE.md").contains("complete"));
}
