//! Adding to the lists changes nothing else.

use super::add_blocker;

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
fn a_placeholder_makes_room_and_words_like_it_stay() {
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
