//! Tests of parsing requirements and marking them as complete.

use proptest::prelude::*;

use super::*;
use crate::corpus;

const SAMPLE: &str = "\
# Requirements: Boat

## v1 Requirements

### Sails

- [ ] **SAIL-01**: Hoist `main`
- [x] **SAIL-02** (L12): Reef
- [ ] SAIL-10: Furl

## v2

- **SAIL-20**: Foil

### MAST-01: One mast

```
- [ ] **SAIL-01**: shown as an example
```

## Traceability

| Requirement | Phase | Status |
|---|---|---|
| SAIL-01 | Phase 1 | Pending |
| SAIL-02 | Phase 1 | In Progress |
| SAIL-10 | Phase 2 | Blocked |
| SAIL-1 | Phase 2 | Pending |
";

#[test]
fn reads_items_with_and_without_boxes() {
    let found = parse(SAMPLE.as_bytes());
    let items: Vec<_> = found
        .items
        .iter()
        .map(|r| (r.id.as_str(), r.ticked, r.text.as_str(), r.category.as_str(), r.line))
        .collect();
    assert_eq!(
        items,
        [
            ("SAIL-01", Some(false), "Hoist main", "Sails", 7),
            ("SAIL-02", Some(true), "(L12): Reef", "Sails", 8),
            ("SAIL-10", Some(false), "Furl", "Sails", 9),
            ("SAIL-20", None, "Foil", "v2", 13),
            ("MAST-01", None, "One mast", "v2", 15),
        ]
    );
    assert_eq!(found.rows.len(), 4);
    assert_eq!(found.rows[2].phase, "Phase 2");
    assert_eq!(found.rows[2].status, "Blocked");
}

#[test]
fn only_boxes_and_rows_of_the_id_are_marked() {
    let (after, marked) = mark_complete(SAMPLE.as_bytes(), &["sail-01", "SAIL-02", "SAIL-99"]);
    let expected = SAMPLE
        .replacen("- [ ] **SAIL-01**: Hoist", "- [x] **SAIL-01**: Hoist", 1)
        .replace("| SAIL-01 | Phase 1 | Pending |", "| SAIL-01 | Phase 1 | Complete |")
        .replace("| SAIL-02 | Phase 1 | In Progress |", "| SAIL-02 | Phase 1 | Complete |");
    assert_eq!(String::from_utf8(after).unwrap(), expected);
    assert_eq!(marked.marked, ["sail-01", "SAIL-02"]);
    assert_eq!(marked.not_found, ["SAIL-99"]);
}

#[test]
fn requirements_that_were_complete_before_are_reported() {
    let (first, _) = mark_complete(SAMPLE.as_bytes(), &["SAIL-01", "SAIL-02"]);
    let (second, marked) = mark_complete(&first, &["SAIL-01", "SAIL-02", "sail-02"]);
    assert_eq!(second, first);
    assert_eq!(marked.already_complete, ["SAIL-01", "SAIL-02"]);
}

#[test]
fn an_id_is_not_a_pattern() {
    let file = b"- [ ] **AUTH-01**: a\n- [ ] **A.+-01**: b\n- [ ] **AUTH-011**: c\n";
    let (after, marked) = mark_complete(file, &["A.+-01", "AUTH-.1", "("]);
    assert_eq!(after, b"- [ ] **AUTH-01**: a\n- [x] **A.+-01**: b\n- [ ] **AUTH-011**: c\n");
    assert_eq!(marked.not_found, ["AUTH-.1", "("]);
}

#[test]
fn reads_ids_of_a_field() {
    let check = |value: &str, expected: &[&str]| assert_eq!(parse_ids(value), expected, "{value}");
    check("AUTH-01, AUTH-02", &["AUTH-01", "AUTH-02"]);
    check("[AUTH-01, RF-03.1] <!-- from REQ-9 -->", &["AUTH-01", "RF-03.1"]);
    check("SEAM-05, SEAM-06 (closes X-1)", &["SEAM-05", "SEAM-06"]);
    check("RPT-09~11", &["RPT-09", "RPT-10", "RPT-11"]);
    check("A-1..A-3", &["A-1", "A-2", "A-3"]);
    check("TBD", &[]);
    check("none of its own — it closes B-2", &[]);
    check("MG-07.", &["MG-07"]);
}

proptest! {
    #[test]
    fn marking_keeps_every_other_byte(
        before in "(?s)[ -~\n]{0,60}",
        after in "[ -~é🚀|$&]{0,40}",
        crlf: bool,
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let before = before.replace(['`', '~', '<', '-'], "$&");
        let file = format!("{before}{end}{end}- [ ] **Q-7**: {after}{end}tail | $1{end}");
        let cell = after.replace(['\\', '|', '`', '<'], "\\|");
        let table = format!("| Id | Note | Status |{end}|--|--|--|{end}| q-7 |{cell}|Pending |{end}");
        let file = format!("{file}{end}{table}");
        let (marked, outcome) = mark_complete(file.as_bytes(), &["q-7"]);
        let expected = file.replacen("- [ ] **Q-7**", "- [x] **Q-7**", 1);
        let changed = table.replace("|Pending |", "|Complete |");
        let expected = expected.replace(&table, &changed);
        prop_assert_eq!(String::from_utf8(marked).unwrap(), expected);
        prop_assert_eq!(outcome.marked, ["q-7"]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, id in "\\PC{0,8}") {
        parse(&bytes);
        mark_complete(&bytes, &[id]);
    }
}

#[test]
fn two_ids_of_one_box_tick_it_once() {
    let (new, outcome) = mark_complete(b"- [ ] A-1. Sign in\n", &["A-1", "A-1."]);
    assert_eq!(new, b"- [x] A-1. Sign in\n");
    assert_eq!(outcome.marked, ["A-1", "A-1."]);
}

#[test]
fn an_id_ends_where_the_reader_sees_its_end() {
    for line in ["- [ ] **A-1-** x", "- [ ] **A-1\u{7528}", "- [ ] A-1.", "- [ ] A-1"] {
        let (new, outcome) = mark_complete(line.as_bytes(), &["A-1"]);
        assert_eq!(outcome.marked, ["A-1"], "{line}");
        assert_eq!(parse(&new).items[0].ticked, Some(true), "{line}");
    }
    for line in ["- [ ] A-1.2", "- [ ] A-1-2", "- [ ] A-12", "- [ ] A-1..03"] {
        assert_eq!(mark_complete(line.as_bytes(), &["A-1"]).1.not_found, ["A-1"], "{line}");
    }
}

#[test]
fn corpus_files_have_requirements() {
    let files = corpus::files(|name| name == "REQUIREMENTS.md", SAMPLE);
    let mut items = 0;
    let mut empty = Vec::new();
    for (path, bytes) in &files {
        let found = parse(bytes);
        items += found.items.len();
        if found.items.is_empty() {
            empty.push(path);
        }
        let ids: Vec<_> = found.items.iter().map(|item| &item.id).collect();
        let (after, marked) = mark_complete(bytes, &ids);
        assert!(after.len() >= bytes.len() - 4 * ids.len(), "{path} shrank");
        let again = mark_complete(&after, &ids);
        assert_eq!(again.0, after, "{path}");
        assert!(
            again.1.marked.is_empty()
                && marked.marked.len()
                    == again.1.already_complete.len() - marked.already_complete.len()
        );
    }
    corpus::print_line(&format!(
        "requirements: {} files, {items} items, empty: {empty:?}",
        files.len()
    ));
}
