//! Tests for headings, fields and list items, which each stand on one line.

use crate::text::Text;
use crate::text::field::{field_at, find_field};
use crate::text::heading::{headings, section_end};
use crate::text::list::item_at;
use crate::text::splice::apply;

fn heading(line: &str) -> Option<(usize, String)> {
    let text = Text::new(line.as_bytes());
    let found = headings(&text).into_iter().next()?;
    Some((found.level, text.slice(found.text).to_owned()))
}

fn field(line: &str) -> Option<(bool, String, String)> {
    let text = Text::new(line.as_bytes());
    let found = field_at(&text, 0)?;
    Some((found.bold, text.slice(found.name).to_owned(), text.slice(found.value).to_owned()))
}

fn set(file: &str, value: &str) -> String {
    let text = Text::new(file.as_bytes());
    let field = field_at(&text, 0).expect("the first line is a field");
    String::from_utf8(apply(text.bytes(), vec![field.set(&text, value)])).expect("text")
}

#[test]
fn headings_are_recognised_in_all_forms() {
    for (line, expected) in [
        ("# A", Some((1, "A"))),
        ("### A ##", Some((3, "A"))),
        ("###Phase 3", Some((3, "Phase 3"))),
        ("## Learn C#", Some((2, "Learn C#"))),
        ("## C# #", Some((2, "C#"))),
        ("## #", Some((2, ""))),
        ("##", Some((2, ""))),
        ("  ## A\t", Some((2, "A"))),
        ("#12", None),
        ("#tag", None),
        ("####### A", None),
        ("a # b", None),
    ] {
        let found = heading(line);
        assert_eq!(found, expected.map(|(level, text)| (level, text.to_owned())), "{line:?}");
    }
}

#[test]
fn a_section_ends_at_a_heading_of_the_same_or_a_higher_level() {
    let text = Text::new(b"# T\n## A\na\n### B\nb\n```\n## no\n```\n## C\nc\n");
    let headings = headings(&text);
    let ends: Vec<_> = (0..headings.len()).map(|at| section_end(&text, &headings, at)).collect();
    assert_eq!(ends, [10, 8, 8, 10]);
}

#[test]
fn fields_in_all_forms() {
    for (line, expected) in [
        ("**Status:** done", Some((true, "Status", "done"))),
        ("**Status**: done", Some((true, "Status", "done"))),
        ("**Success Criteria** (what is true):", Some((true, "Success Criteria", ""))),
        ("- **Goal:** a: b", Some((true, "Goal", "a: b"))),
        ("* **Goal:** a", Some((true, "Goal", "a"))),
        ("> **Goal:** a", Some((true, "Goal", "a"))),
        ("**Ziel：** a", Some((true, "Ziel", "a"))),
        ("Phase: 3 of 7 (Name)", Some((false, "Phase", "3 of 7 (Name)"))),
        ("Status:", Some((false, "Status", ""))),
        ("**A:** **b** c", Some((true, "A", "**b** c"))),
        ("**A:**b", Some((true, "A", "b"))),
        ("**A:** b <!-- c -->", Some((true, "A", "b"))),
        ("http://a.b", None),
        ("**bold** words", None),
        ("It is so, as they say: no", None),
        ("| a: | b |", None),
    ] {
        let found = field(line);
        let expected = expected.map(|(bold, name, value)| (bold, name.into(), value.into()));
        assert_eq!(found, expected, "{line:?}");
    }
}

#[test]
fn an_empty_field_stays_on_its_line() {
    for eol in ["\n", "\r\n"] {
        for written in ["**Paused At:**", "**Paused At:** ", "Paused At:"] {
            let file = format!("{written}{eol}## Next{eol}");
            assert_eq!(field(&file).map(|(_, _, value)| value), Some(String::new()), "{file:?}");
            let expected = format!("{} x{eol}## Next{eol}", written.trim_end());
            assert_eq!(set(&file, "x"), expected);
        }
    }
}

#[test]
fn setting_a_field_keeps_what_stands_before_it() {
    assert_eq!(set("**A:**  b  \r\nc", "$1 | `d`\n🎉"), "**A:**  $1 | `d` 🎉  \r\nc");
    assert_eq!(set("**A:**\tb", "c"), "**A:**\tc");
    assert_eq!(set("**A：**\u{3000}b", "c"), "**A：**\u{3000}c");
    assert_eq!(set("**A**:b", "c"), "**A**: c");
    assert_eq!(set("- **A:** b <!-- c -->", "d"), "- **A:** d");
    assert_eq!(set("**A:** b", ""), "**A:** ");
    assert_eq!(set("**A**:b <!-- c --> ", "b"), "**A**:b <!-- c --> ");
}

#[test]
fn the_first_field_of_a_form_wins() {
    let text = Text::new(b"Status: a\n```\n**Status:** no\n```\n**STATUS:** b\n**Status:** c\n");
    let find = |bold| find_field(&text, 0..6, "status", bold).map(|found| text.slice(found.value));
    assert_eq!((find(true), find(false)), (Some("b"), Some("a")));
    assert_eq!(find_field(&text, 5..6, "status", true).map(|found| found.line), Some(5));
    assert_eq!(find_field(&text, 0..9, "other", true), None);
}

#[test]
fn list_items_and_checkboxes_are_recognised() {
    for (line, expected) in [
        ("- a", Some((0, None, "a"))),
        ("  * a  ", Some((2, None, "a"))),
        ("+ a", Some((0, None, "a"))),
        ("12. a", Some((0, None, "a"))),
        ("3) a", Some((0, None, "a"))),
        ("-", Some((0, None, ""))),
        ("- [ ] a", Some((0, Some(false), "a"))),
        ("- [] a", Some((0, Some(false), "a"))),
        ("- [x] a", Some((0, Some(true), "a"))),
        ("- [X] a", Some((0, Some(true), "a"))),
        ("- [✅] a", Some((0, Some(true), "a"))),
        ("- [~] a", Some((0, Some(false), "a"))),
        ("- [x]", Some((0, Some(true), ""))),
        ("- [a](b)", Some((0, None, "[a](b)"))),
        ("- [x](b)", Some((0, None, "[x](b)"))),
        ("- [todo] a", Some((0, None, "[todo] a"))),
        ("---", None),
        ("**a**", None),
        ("-a", None),
        ("2026. x", Some((0, None, "x"))),
        ("20260. x", None),
        ("3.1 x", None),
    ] {
        let text = Text::new(line.as_bytes());
        let found = item_at(&text, 0);
        let found = found.map(|item| (item.indent, item.done(), text.slice(item.text).to_owned()));
        let expected = expected.map(|(indent, done, text)| (indent, done, text.to_owned()));
        assert_eq!(found, expected, "{line:?}");
    }
}

#[test]
fn the_checkbox_range_covers_the_mark() {
    let text = Text::new("- a\n  - [✓] b\n".as_bytes());
    let item = item_at(&text, 1).expect("an item");
    assert_eq!((text.slice(item.checkbox_range), item.checkbox), ("✓", Some('✓')));
}
