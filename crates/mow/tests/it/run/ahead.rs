//! What is done of a phase while it waits for others, with real roles, git and processes.

use mow_testkit::field::{ALL, Field, kill, phase, plan, task};

use super::{answer_all, field_with, sown};

const RESEARCH: &str = ".planning/phases/02-field-2/02-RESEARCH.md";
const DRAFT: &str = ".planning/phases/02-field-2/02-01-PLAN.md";
const MARK: &str = "<!-- Made ahead on ";

/// Phase 1 waits in the middle of its work; phase 2 comes after it, and is researched by a script
/// that can be made to wait, too.
fn chain(lookahead: &str) -> Field {
    let field = field_with("", &[sown("1", &[], "meet 1"), sown("2", &["1"], "")]);
    let meet = field.sandbox.outside().join("sync");
    let meet = meet.display();
    let config = format!(
        r#"{{"multi_phase": {{"lookahead": "{lookahead}"}}, "roles": {{"researcher": {{"command":
        ": > {meet}/at-research-$MOW_PHASE; while [ ! -e {meet}/go-research-$MOW_PHASE ]; do sleep 0.01; done; echo found by $MOW_PHASE > $MOW_RESEARCH_FILE; echo $MOW_PHASE >> ../../researched"
        }}}}}}"#
    );
    field.write(".planning/config.json", config);
    field.git(&["commit", "-qam", "Settings"]);
    field.open("research-1");
    field
}

fn end(field: &Field, lead: mow_testkit::field::Going) {
    let (status, said) = lead.end();
    assert!(status.success(), "{said}");
    field.inspect();
    assert_eq!(field.code().len(), 3, "{:?}", field.code());
}

#[test]
fn research_is_done_ahead_and_becomes_part_of_the_phase() {
    let field = chain("research");
    let lead = field.start(&ALL);
    field.reached("1");
    field.reached("research-2");
    let shown = field.call(&["ps"]).env("COLUMNS", "200").run().stdout;
    assert!(shown.contains("it looks ahead through research and waits for 1"), "{shown}");
    field.open("research-2");
    field.until("the research", || field.root().join(RESEARCH).exists().then_some(()));
    field.until_event("its end", |e| {
        e["event"] == "moved" && e["why"].as_str() == Some("it is done ahead through research")
    });
    let base = field.git(&["rev-parse", "main"]);
    assert_eq!(
        field.text(RESEARCH),
        format!("found by 2\n\n{MARK}{}; the code may have changed since. -->\n", &base[..8])
    );
    field.open("1");
    end(&field, lead);
    assert_eq!(field.text("researched"), "1\n2\n", "once each");
    assert_eq!(field.git(&["status", "--porcelain"]), "?? researched\n");
    assert!(field.git(&["show", &format!("main:{RESEARCH}")]).starts_with("found by 2\n"));
    assert_eq!(field.git(&["for-each-ref", "refs/mow/rescue"]), "");
}

#[test]
fn nothing_is_done_ahead_when_it_is_switched_off() {
    let field = chain("off");
    field.open("research-2");
    let lead = field.start(&ALL);
    field.reached("1");
    assert_eq!(field.records("02-1.ndjson").len(), 0);
    field.open("1");
    end(&field, lead);
    assert!(!field.text(RESEARCH).contains(MARK));
}

#[test]
fn what_a_person_writes_meanwhile_stays() {
    let field = chain("research");
    let lead = field.start(&ALL);
    field.reached("research-2");
    field.write(RESEARCH, "I know it all.\n");
    field.open("research-2");
    field.until_event("its end", |e| {
        e["event"] == "moved" && e["why"].as_str() == Some("it is done ahead through research")
    });
    assert_eq!(field.text(RESEARCH), "I know it all.\n");
    field.reached("1");
    field.open("1");
    end(&field, lead);
    assert_eq!(field.git(&["show", &format!("main:{RESEARCH}")]), "I know it all.\n");
    let kept = field.git(&["for-each-ref", "--format=%(refname)", "refs/mow/rescue"]);
    assert_eq!(kept.lines().count(), 1, "what was found is kept: {kept}");
}

#[test]
fn a_look_ahead_that_is_killed_is_done_by_the_phase_itself() {
    let field = chain("research");
    let lead = field.start(&ALL);
    field.reached("research-2");
    kill(field.worker("02", 1));
    field.until_event("its end", |e| {
        e["why"].as_str() == Some("nothing came of looking ahead: its worker died")
    });
    field.reached("1");
    field.open("research-2");
    field.open("1");
    end(&field, lead);
    assert_eq!(field.text(RESEARCH), "found by 2\n", "on its own base");
}

#[test]
fn a_lead_that_is_killed_meanwhile_goes_on() {
    let field = chain("research");
    let lead = field.start(&ALL);
    field.reached("1");
    field.reached("research-2");
    lead.kill();
    field.open("research-2");
    field.open("1");
    field.run_all();
    field.inspect();
    assert_eq!(field.text("researched"), "1\n2\n");
    assert!(field.text(RESEARCH).contains(MARK));
    assert_eq!(field.git(&["status", "--porcelain"]), "?? researched\n");
}

#[test]
fn plans_are_drafted_ahead_and_checked_again_on_the_merged_base() {
    let one = phase("1", &[]).with(plan(vec![task("meet 1\necho 1 > crop-1")]));
    let field = field_with("", &[one, phase("2", &["1"])]);
    let sown = sown("2", &[], "test -e crop-1").files(std::path::Path::new("/"));
    let (_, text) = sown.iter().find(|(path, _)| path.ends_with("PLAN.md")).unwrap();
    field.write("plan", text);
    // On the old base the checker is content with a draft; on the merged one it wants another.
    let config = r#"{"workflow": {"research": false}, "multi_phase": {"lookahead": "plan"}, "roles": {
        "planner": {"command": "{ cat ../../plan; test ! -e crop-1 || echo '<!-- revised -->'; } > $MOW_PHASE_DIR/02-01-PLAN.md; echo $MOW_DEPENDENCY_DIRS > ../../after-$MOW_ROUND"},
        "plan-checker": {"command": "test $MOW_PHASE = 1 || test ! -e crop-1 || grep -q revised $MOW_PHASE_DIR/02-01-PLAN.md || { echo too old; exit 1; }"}}}"#;
    field.write(".planning/config.json", config);
    field.git(&["commit", "-qam", "Settings"]);
    let lead = field.start(&ALL);
    field.until("the draft", || field.root().join(DRAFT).exists().then_some(()));
    assert!(field.text(DRAFT).contains(MARK) && !field.text(DRAFT).contains("revised"));
    assert!(field.text("after-0").trim().ends_with("p01/.planning/phases/01-field-1"));
    field.reached("1");
    field.open("1");
    end(&field, lead);
    let merged = field.git(&["show", &format!("main:{DRAFT}")]);
    assert!(merged.contains("revised") && !merged.contains(MARK), "{merged}");
    assert_eq!(field.text(DRAFT), merged);
    assert_eq!(field.git(&["status", "--porcelain"]), "?? after-0\n?? after-1\n?? plan\n");
}

#[test]
fn questions_are_asked_ahead() {
    let field = field_with("", &[sown("1", &[], "meet 1"), sown("2", &["1"], "").undiscussed()]);
    let lead = field.start(&ALL);
    field.reached("1");
    field.until_moved("2", "parked");
    answer_all(&field, "as you like");
    let context = ".planning/phases/02-field-2/02-CONTEXT.md";
    field.until("the context", || field.root().join(context).exists().then_some(()));
    assert!(field.text(context).contains("as you like"));
    field.open("1");
    end(&field, lead);
    assert!(field.git(&["show", &format!("main:{context}")]).contains(MARK));
    assert_eq!(field.git(&["status", "--porcelain"]), "");
}
