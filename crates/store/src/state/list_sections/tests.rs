//! Tests that adding to a list changes nothing else.

use super::add_new_decisions;
use super::{add_blocker, add_decision, render_decision, resolve_blocker};

fn check(before: &str, blocker: &str, after: &str) {
    let result =
        add_blocker(before.as_bytes(), blocker).map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(result.as_deref(), Some(after));
}

#[test]
fn an_item_goes_to_the_end_of_the_section() {
    check("## Blockers\n\n- a\n\n## Next\n", "b", "## Blockers\n\n- a\n- b\n\n## Next\n");
    check("### Blockers/Concerns\n- a", "b", "### Blockers/Concerns\n- a\n- b");
    check("## Blockers\n", "b", "## Blockers\n\n- b\n");
    check("## Blockers", "b", "## Blockers\n\n- b");
    check("## Blockers\nSome prose.\n", "b", "## Blockers\nSome prose.\n\n- b\n");
}

#[test]
fn a_placeholder_is_replaced_and_similar_text_stays() {
    check("## Blockers\n\nNone.\n\n## Next\n", "b", "## Blockers\n\n- b\n\n## Next\n");
    check("## Blockers\nNone yet.\n", "b", "## Blockers\n- b\n");
    check("## Blockers\n- Nonexistent index\n", "b", "## Blockers\n- Nonexistent index\n- b\n");
}

#[test]
fn values_are_taken_literally() {
    check(
        "## Blockers\r\n\r\nNone\r\n",
        "costs $1 & `x` | \\n $&",
        "## Blockers\r\n\r\n- costs $1 & `x` | \\n $&\r\n",
    );
    check("## Blockers\n- a\n", "two\nlines", "## Blockers\n- a\n- two lines\n");
}

#[test]
fn without_a_section_nothing_happens() {
    assert_eq!(add_blocker(b"# State\n```\n## Blockers\n```\n", "x"), None);
}

#[test]
fn decisions_go_to_the_end_of_their_section() {
    let check = |before: &str, after: &str| {
        let result = add_decision(before.as_bytes(), "d").expect(before);
        assert_eq!(String::from_utf8(result).unwrap(), after);
    };
    check("### Decisions\n\nNone yet.\n\n### N\n", "### Decisions\n\n- d\n\n### N\n");
    check("## Decisions Made\n\nNo decisions yet.\n", "## Decisions Made\n\n- d\n");
    check("## Accumulated Decisions\n- a\n", "## Accumulated Decisions\n- a\n- d\n");
    check("### Accumulated Key Decisions\n- a\n", "### Accumulated Key Decisions\n- a\n- d\n");
    let table = "## Decisions Made\n\n| Phase | Decision | Rationale |\n|-|-|-|\n| 1 | a | b |\n";
    check(&format!("{table}\n## N\n"), &format!("{table}\n- d\n\n## N\n"));
    assert_eq!(add_decision(b"## Accumulated Context\n", "d"), None);
}

#[test]
fn a_decision_is_one_line() {
    assert_eq!(render_decision(Some("3"), "a  b", Some("c")), "[Phase 3]: a  b — c");
    assert_eq!(render_decision(None, "a\n b", None), "[Phase ?]: a b");
}

#[test]
fn resolved_blockers_are_removed_with_all_their_lines() {
    let check = |before: &str, words: &str, after: &str, count: usize| {
        for ending in ["\n", "\r\n"] {
            let (bytes, removed) =
                resolve_blocker(before.replace('\n', ending).as_bytes(), words).expect(before);
            let result = String::from_utf8(bytes).unwrap();
            assert_eq!((result, removed), (after.replace('\n', ending), count));
        }
    };
    let head = "## Blockers\n\n";
    let file = |body: &str| format!("{head}{body}\n## Next\n\n- API\n");
    check(&file("- api down\n- b\n"), "API", &file("- b\n"), 1);
    check(&file("- b\n- api down\n"), "API", &file("- b\n"), 1);
    check(&file("- b\n\n- the\n  API is\n\n  down\n\n- c\n"), "the api", &file("- b\n\n- c\n"), 1);
    check(&file("- b\n\n- api\n"), "api", &file("- b\n"), 1);
    check(&file("- api 1\n- x\n- api 2\n"), "api", &file("- x\n"), 2);
    check(&file("- api 1\n- api 2\n"), "api", &file("None\n"), 2);
    check(&file("Prose on the API.\n\n- api\n"), "api", &file("Prose on the API.\n\nNone\n"), 1);
    check(&file("- b\n"), "api", &file("- b\n"), 0);
    check(&file("None yet.\n"), "none", &file("None yet.\n"), 0);
    check("## Blockers\n- api", "api", "## Blockers\nNone", 1);
    check(&file("- a.*b\n- axb\n"), "a.*b", &file("- axb\n"), 1);
    assert_eq!(resolve_blocker(b"# S\n", "api"), None);
}

#[test]
fn new_decisions_are_added_once_and_make_their_section() {
    let decisions = ["Use <!-- no".to_owned(), "Lower case".to_owned()];
    let added = add_new_decisions(b"# State\n", "3", &decisions);
    let text = "# State\n\n## Decisions\n\n- [Phase 3]: Use &lt;!-- no\n- [Phase 3]: Lower case\n";
    assert_eq!(String::from_utf8(added.clone()).unwrap(), text);
    assert_eq!(add_new_decisions(&added, "3", &decisions), added);
    let other = String::from_utf8(add_new_decisions(&added, "4", &decisions[1..])).unwrap();
    assert_eq!(other, format!("{text}- [Phase 4]: Lower case\n"));
}
