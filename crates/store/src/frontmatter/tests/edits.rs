//! Tests of `set`, `merge` and `remove`: which bytes change and which edits are refused.

use serde_json::{Value as Json, json};

use crate::frontmatter::{EditError, merge, remove, set};

fn check_set(before: &str, key: &str, value: &Json, after: &str) {
    let edited = set(before.as_bytes(), key, value).expect("the edit is possible");
    assert_eq!(String::from_utf8_lossy(&edited), after);
}

fn check_entry(value: &Json, entry: &str) {
    check_set("---\n---\n", "k", value, &format!("---\n{entry}---\n"));
}

#[test]
fn values_are_written_in_one_fixed_style() {
    check_entry(&json!("plain text, really"), "k: plain text, really\n");
    check_entry(&json!(3), "k: 3\n");
    check_entry(&json!(-1.5), "k: -1.5\n");
    check_entry(&json!(true), "k: true\n");
    check_entry(&json!([]), "k: []\n");
    check_entry(&json!({}), "k: {}\n");
    check_entry(&json!(["a", "b", "c"]), "k: [a, b, c]\n");
    check_entry(&json!(["a, b", "c"]), "k: [\"a, b\", c]\n");
    check_entry(&json!(["a", "b", "c", "d"]), "k:\n  - a\n  - b\n  - c\n  - d\n");
    let long = "x".repeat(60);
    check_entry(&json!([long]), &format!("k:\n  - {long}\n"));
    check_entry(&json!(["x".repeat(59)]), &format!("k: [{}]\n", "x".repeat(59)));
    check_entry(
        &json!({"a": {"b": 1, "none": null}, "l": [{"p": "x", "q": ["y", null]}, [["z"]]]}),
        "k:\n  a:\n    b: 1\n  l:\n    - p: x\n      q: [y]\n    - - [z]\n",
    );
}

#[test]
fn strings_are_quoted_where_they_must_be() {
    for (text, written) in [
        ("a: b", "\"a: b\""),
        ("a:b", "\"a:b\""),
        ("#1", "\"#1\""),
        ("[x", "\"[x\""),
        ("{x", "\"{x\""),
        ("", "\"\""),
        (" x", "\" x\""),
        ("x ", "\"x \""),
        ("- x", "\"- x\""),
        ("-", "\"-\""),
        ("---", "\"---\""),
        ("-x", "-x"),
        ("@x", "\"@x\""),
        ("`x`", "\"`x`\""),
        ("*x", "\"*x\""),
        ("&x", "\"&x\""),
        ("!x", "\"!x\""),
        ("%x", "\"%x\""),
        ("|", "\"|\""),
        (">", "\">\""),
        ("\"x\" y", "\"\\\"x\\\" y\""),
        ("'x", "\"'x\""),
        ("it's \"x\"", "it's \"x\""),
        ("a\nb\\", "\"a\\nb\\\\\""),
        ("null", "null"),
    ] {
        check_entry(&json!(text), &format!("k: {written}\n"));
    }
}

#[test]
fn only_the_touched_entry_changes() {
    let before = "---\n# head\nwave:   1   # first\nm:\n  - {a: 1} # x\n\n# about t\nt: |\n  x\n  # y\n\
                  \n# tail\nz: 1\n---\n# wave: 5\n";
    check_set(before, "wave", &json!(2), &before.replace("wave:   1   #", "wave: 2   #"));
    check_set(before, "t", &json!("new"), &before.replace("t: |\n  x\n  # y\n", "t: new\n"));
    check_set(before, "m", &json!({"b": 1}), &before.replace("m:\n  - {a: 1} # x", "m:\n  b: 1"));
    check_set(before, "n", &json!(1), &before.replace("z: 1\n", "z: 1\nn: 1\n"));
    check_set(before, "m", &json!(null), &before.replace("m:\n  - {a: 1} # x\n", ""));
}

#[test]
fn comments_on_the_line_of_the_key_stay() {
    check_set("---\na: []  # ids\n---\n", "a", &json!(["x"]), "---\na: [x]  # ids\n---\n");
    check_set("---\na: \"x # y\" # z\n---\n", "a", &json!(1), "---\na: 1 # z\n---\n");
    check_set("---\na: # z\n---\n", "a", &json!(1), "---\na: 1 # z\n---\n");
    check_set("---\na: # z\n  - b\n---\n", "a", &json!(1), "---\na: 1 # z\n---\n");
    check_set("---\na: b # z\n---\n", "a", &json!({"c": 1}), "---\na: # z\n  c: 1\n---\n");
    // The parser ends the comment at a lone carriage return and reads the value after it.
    check_set("---\na: # z\r  - b\n  - c\n---\n", "a", &json!(1), "---\na: 1\n---\n");
    let before = b"---\na: b # \xff\n---\n";
    let after = set(before, "a", &json!("c")).expect("the edit is possible");
    assert_eq!(after, b"---\na: c # \xff\n---\n");
}

#[test]
fn invalid_neighbours_stay_unchanged() {
    let before = "---\nx: a: b\nl:\n\t- t\nk: 1\ny: \"open\n---\n";
    check_set(before, "k", &json!(2), &before.replace("k: 1", "k: 2"));
    check_set(before, "x", &json!("ok"), &before.replace("x: a: b", "x: ok"));
    check_set(before, "n", &json!(2), &before.replace("open\n", "open\nn: 2\n"));
    check_set("---\n- list\n---\n", "n", &json!(2), "---\n- list\nn: 2\n---\n");
}

#[test]
fn a_missing_block_is_created() {
    check_set("# T\n", "a", &json!("b"), "---\na: b\n---\n\n# T\n");
    check_set("", "a", &json!("b"), "---\na: b\n---\n");
    check_set("\u{feff}# T\r\n", "a", &json!("b"), "\u{feff}---\r\na: b\r\n---\r\n\r\n# T\r\n");
    check_set("---\nopen\n", "a", &json!(1), "---\na: 1\n---\n\n---\nopen\n");
    check_set("# T\n", "a", &json!(null), "# T\n");
}

#[test]
fn line_endings_of_the_file_are_kept() {
    check_set(
        "---\r\na: 1\r\nb: 2\r\n---\r\n",
        "a",
        &json!(["p", "q", "r", "s"]),
        "---\r\na:\r\n  - p\r\n  - q\r\n  - r\r\n  - s\r\nb: 2\r\n---\r\n",
    );
    check_set("---\r\na: 1\r\n---\r\n", "b", &json!(2), "---\r\na: 1\r\nb: 2\r\n---\r\n");
}

#[test]
fn dotted_keys_reach_into_block_maps() {
    let before =
        "---\nt:\n    # why\n    added: [a] # x\n    deep:\n      p: 1\n# end\nz: 1\n---\n";
    check_set(before, "t.added", &json!(["b"]), &before.replace("[a] #", "[b] #"));
    check_set(before, "t.deep.p", &json!(2), &before.replace("p: 1", "p: 2"));
    check_set(before, "t.deep.q", &json!(2), &before.replace("p: 1\n", "p: 1\n      q: 2\n"));
    check_set(before, "t.new", &json!(2), &before.replace("p: 1\n", "p: 1\n    new: 2\n"));
    check_set(before, "t.added", &json!(null), &before.replace("    added: [a] # x\n", ""));
    check_set(before, "n.m", &json!(2), &before.replace("z: 1\n", "z: 1\nn:\n  m: 2\n"));
    check_set("---\na.b: 1\n---\n", "a.b", &json!(2), "---\na.b: 2\n---\n");
    check_set("---\na: # c\n---\n", "a.b", &json!(2), "---\na: # c\n  b: 2\n---\n");
    for held in ["a: 1", "a: [x]", "a: {b: 1}", "a:\n  b: 1: 2\n  c: 1", "a: \"b: 1\n  b: 2\""] {
        let refused = set(format!("---\n{held}\n---\n").as_bytes(), "a.b", &json!(3));
        let not_a_map = Err(EditError::NotAMap { key: "a".to_owned() });
        assert_eq!(refused, not_a_map, "{held}");
    }
}

#[test]
fn merge_sets_top_level_keys_in_order() {
    let Json::Object(fields) = json!({"b": 2, "n": "x", "a": null, "d.e": 1}) else { return };
    let edited = merge(b"---\na: 1\nb: 1\n---\n", &fields).expect("the edit is possible");
    assert_eq!(String::from_utf8_lossy(&edited), "---\nb: 2\nn: x\nd.e: 1\n---\n");
}

#[test]
fn remove_takes_every_duplicate() {
    let edited = remove(b"---\na: 1\nb: 2\na:\n  - 3\n---\n", "a").expect("the edit is possible");
    assert_eq!(String::from_utf8_lossy(&edited), "---\nb: 2\n---\n");
    let same = remove(b"---\nb: 2\n---\n", "a").expect("the edit is possible");
    assert_eq!(String::from_utf8_lossy(&same), "---\nb: 2\n---\n");
    check_set("---\na: 1\na: 2\n---\n", "a", &json!(3), "---\na: 1\na: 3\n---\n");
}

#[test]
fn impossible_edits_are_refused() {
    let refusal = |key: &str, value: &Json| set(b"---\na: &x 1\nb: *x\n---\n", key, value).err();
    let bad_key = |key: &str| Some(EditError::BadKey { key: key.to_owned() });
    assert_eq!(refusal("", &json!(1)), bad_key(""));
    assert_eq!(refusal("c..d", &json!(1)), bad_key(""));
    let long = "x".repeat(1200);
    assert_eq!(refusal(&long, &json!(1)), bad_key(&long));
    assert_eq!(refusal("c", &json!([{ long.as_str(): 1 }])), bad_key(&long));
    assert_eq!(refusal("a", &json!(1)), Some(EditError::ChangesOtherKey { key: "b".to_owned() }));
    let deep = (0..200).fold(json!(1), |value, _| json!([value]));
    assert_eq!(refusal("c", &deep), Some(EditError::TooDeep { key: "c".to_owned() }));
}

#[test]
fn an_edit_of_a_large_block_stays_cheap() {
    let entries: String = (0..60_000).map(|n| format!("k{n}: v\n")).collect();
    let before = format!("---\n{entries}---\n");
    check_set(&before, "k7", &json!(1), &before.replace("k7: v\n", "k7: 1\n"));
}
