//! Phases whose plans change the same files.

use mow_testkit::field::{ALL, Field, Phase, phase, plan, task};

use super::{field, field_with};

/// A phase that adds its number to the one file that all change.
fn adding(number: &str, script: &str) -> Phase {
    let script = format!("{script}\necho {number} >> crop");
    phase(number, &[]).with(plan(vec![task(&script)]).changes(&["./crop"]))
}

fn log(field: &Field) -> String {
    field.ends(&["log"], 0)
}

#[test]
fn they_run_one_after_the_other() {
    let field = field(&[adding("1", "meet 1"), adding("2", "")]);
    let lead = field.start(&ALL);
    field.reached("1");
    let shown = field.call(&["ps"]).env("COLUMNS", "200").run().stdout;
    assert!(shown.contains("it waits for 1, which changes crop, too"), "{shown}");
    field.open("1");
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("1 and 2 both change crop: one after the other"), "{said}");
    field.inspect();
    assert_eq!(field.text("crop"), "1\n2\n");
    assert!(log(&field).contains("another phase that changes the same files waits for it"));
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}

#[test]
fn forced_they_run_side_by_side() {
    let field = field(&[adding("1", "meet 1"), adding("2", "meet 2")]);
    let lead = field.start(&[&ALL[..], &["--force"]].concat());
    field.reached("1");
    field.reached("2");
    field.open("1");
    field.open("2");
    let (status, said) = lead.end();
    assert_eq!(status.code(), Some(5), "{said}");
    assert!(said.contains("1 and 2 both change crop: side by side, as forced"), "{said}");
    assert!(said.contains("conflicts in crop"), "{said}");
}

#[test]
fn plans_that_are_made_in_the_run_are_kept_apart_before_they_are_carried_out() {
    let config = r#""roles": {"planner": {
        "command": "cp ../../plan-$MOW_PHASE $MOW_PHASE_DIR/0$MOW_PHASE-01-PLAN.md"}}"#;
    let field = field_with(config, &[phase("1", &[]), phase("2", &[])]);
    for number in ["1", "2"] {
        let files = adding(number, "").files(std::path::Path::new("/"));
        let (_, text) = files.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
        field.write(&format!("plan-{number}"), text);
    }
    field.run_all();
    field.inspect();
    let crop = field.text("crop");
    assert!(crop == "1\n2\n" || crop == "2\n1\n", "{crop}");
    let log = log(&field);
    assert!(log.contains("its plans change crop"), "{log}");
    assert_eq!(field.git(&["status", "--porcelain"]), "?? plan-1\n?? plan-2\n");
}
