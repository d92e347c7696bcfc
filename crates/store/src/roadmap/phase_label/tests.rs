//! Tests of which texts are phase labels and which only refer to a phase.

use super::{parse_cell_label, parse_label};

fn check(text: &str, expected: Option<(&str, &str)>) {
    let found = parse_label(text).map(|m| (m.written, m.title));
    let found = found.as_ref().map(|(number, title)| (&**number, &**title));
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn labels_are_parsed_in_all_notations() {
    check("Phase 1: Setup", Some(("1", "Setup")));
    check("**Phase 1: Setup** - the rest", Some(("1", "Setup")));
    check("**Phase 1**: Setup", Some(("1", "Setup")));
    check("**Phase 1:** Setup", Some(("1", "Setup")));
    check("**Phase 1 (v2):** Setup", Some(("1", "Setup")));
    check("**Phase 1** Setup", None);
    check("Phase 5 [INSERTED]: Fix", Some(("5", "Fix")));
    check("**[Phase 3: Linked](x.md)**", Some(("3", "Linked")));
    check("Phase 2 - Auth", Some(("2", "Auth")));
    check("Phase 2 — Auth", Some(("2", "Auth")));
    check("✅ Phase 3.1c: Harness — DONE", Some(("3.1c", "Harness — DONE")));
    check("~~Phase 107: Gone~~ REMOVED", Some(("107", "Gone REMOVED")));
    check("⛔ **Phase 39: Later — DEFERRED**", Some(("39", "Later — DEFERRED")));
    check("Phase 38 (second try) - Name", Some(("38", "Name")));
    check("Phase 23 (complete)", Some(("23", "")));
    check("**Fase 1: Base**", Some(("1", "Base")));
    check("阶段 1：基础", Some(("1", "基础")));
    check("[Phase 1](phases/phase-1.md)", Some(("1", "")));
    check("Phase 3: 2 factor login", Some(("3", "2 factor login")));
    check("Phase 3 - 2 factor login", Some(("3", "2 factor login")));
    check("Phase 3 ✅", Some(("3", "✅")));
    check("Phase 3 â\u{80}\u{93} Name", Some(("3", "Name")));
}

#[test]
fn texts_that_only_refer_to_a_phase_are_not_labels() {
    for text in [
        "Phase 9 Plans",
        "Phase Details",
        "Phases 41+: Bugs",
        "Phases 1-4",
        "v6.1 Title (Phase 26)",
        "Phase 41+: Bugs",
        "Phase 11-18: Many",
        "Phase 1 → Phase 2",
        "Roadmap: X — Phase 1 Discovery",
        "Phase 3, 4 and 5",
        "Phase one: x",
        "(Phase 3)",
    ] {
        check(text, None);
    }
}

#[test]
fn cells_may_omit_the_word_phase() {
    let check = |text: &str, expected: Option<(&str, &str)>| {
        let found = parse_cell_label(text).map(|m| (m.written, m.title));
        let found = found.as_ref().map(|(number, title)| (&**number, &**title));
        assert_eq!(found, expected, "{text:?}");
    };
    check("3. Name", Some(("3", "Name")));
    check("3.1. Name", Some(("3.1", "Name")));
    check("03", Some(("03", "")));
    check("3 — Name", Some(("3", "Name")));
    check("4 Name", Some(("4", "Name")));
    check("Phase 4", Some(("4", "")));
    check("**5. Name**", Some(("5", "Name")));
    check("AUTH-01", None);
    check("v1.0", None);
    check("Total", None);
}

#[test]
fn any_number_of_remarks_may_stand_before_the_name() {
    let title = |text: &str| parse_label(text).map(|label| label.title.into_owned());
    assert_eq!(title("Phase 3 (a) (b): Name").as_deref(), Some("Name"));
    assert_eq!(title(&format!("Phase 3 {}: Name", "()".repeat(100_000))).as_deref(), Some("Name"));
}
