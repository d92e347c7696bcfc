//! Tests that items are added once and that the text of people stays.

use super::*;

fn add_to(text: &str, plan: &str, items: &[&str]) -> String {
    let items: Vec<_> = items.iter().map(|item| (*item).to_owned()).collect();
    String::from_utf8(add(text.as_bytes(), plan, &items)).unwrap()
}

#[test]
fn each_item_is_added_once_below_its_plan() {
    let first = add_to("", "03-01", &["a.rs reads twice", "<!-- b"]);
    let both = add_to(&first, "03-02", &["a.rs reads twice", "c is slow"]);
    let again = add_to(&add_to(&both, "03-01", &["<!-- b", "d leaks"]), "03-02", &["c is slow"]);
    assert_eq!(
        again,
        "# Deferred Items\n\nWork that agents noticed and left for later.\n\n## Plan 03-01\n\n\
         - a.rs reads twice\n- &lt;!-- b\n- d leaks\n\n## Plan 03-02\n\n- c is slow\n"
    );
    assert_eq!(parse(again.as_bytes()), ["a.rs reads twice", "<!-- b", "d leaks", "c is slow"]);
}

#[test]
fn the_text_of_people_stays_and_ticked_items_are_not_open() {
    let own = "# Later\r\n\r\nMine.\r\n- [x] done\r\n- [ ] open\r\n  and more";
    let new = add_to(own, "1-01", &["done", "new"]);
    assert_eq!(new, format!("{own}\r\n\r\n## Plan 1-01\r\n\r\n- new\r\n"));
    assert_eq!(parse(new.as_bytes()), ["open and more", "new"]);
}

#[test]
fn only_sections_about_deferred_items_are_read() {
    let summary = "# S\n\n- no\n\n## Deferred Items\n\n- one\n### Later\n- two\n\n## Issues\n\n- no\n\
                   ## Deferred Ideas\n\nNone.\n";
    assert_eq!(parse_sections(summary.as_bytes()), ["one", "two"]);
}
