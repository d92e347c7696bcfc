//! Tests of `parse` on valid and invalid blocks.

use serde_json::json;

use super::{front, problem_lines};
use crate::frontmatter::{Value, parse};

fn check(inner: &str, expected: &serde_json::Value) {
    let front = front(inner);
    assert_eq!(&front.to_json(), expected, "{inner}");
    assert_eq!(front.problems, [], "{inner}");
}

fn check_broken(inner: &str, expected: &serde_json::Value, lines: &[usize]) {
    let front = front(inner);
    assert_eq!(&front.to_json(), expected, "{inner}");
    assert_eq!(problem_lines(&front), lines, "{inner}: {:?}", front.problems);
}

#[test]
fn scalars_are_their_text() {
    check(
        "a: 1\nb: 01\nc: true\nd: null\ne: ~\nf: 'it''s'\ng: \"x\\ty\"\nh: 1.50\ni:\nj: a b\n",
        &json!({"a": "1", "b": "01", "c": "true", "d": "null", "e": "~", "f": "it's",
               "g": "x\ty", "h": "1.50", "i": null, "j": "a b"}),
    );
}

#[test]
fn comments_are_not_values() {
    check(
        "# top\na: [] # ids\nb: x#y # z\nc: # none\n  # deeper\n\n# end\n",
        &json!({"a": [], "b": "x#y", "c": null}),
    );
}

#[test]
fn nested_values_read_at_any_indentation() {
    for pad in [2, 4] {
        let (one, two) = (" ".repeat(pad), " ".repeat(2 * pad));
        check(
            &format!(
                "must_haves:\n{one}truths:\n{two}- a\n{one}artifacts:\n{two}- path: x\n\
                 {two}  exports: [\"p\", q]\n{two}- path: y\n"
            ),
            &json!({"must_haves": {
                "truths": ["a"],
                "artifacts": [{"path": "x", "exports": ["p", "q"]}, {"path": "y"}],
            }}),
        );
    }
    check("tags:\n- a\n# note\n- b\nz: 1\n", &json!({"tags": ["a", "b"], "z": "1"}));
}

#[test]
fn text_may_span_lines() {
    check(
        "a: |\n  one\n  # two\n\n  three\nb: >-\n  x\n  y\nc: \"p\n  q\"\nd: [\n  u,\n]\n",
        &json!({"a": "one\n# two\n\nthree\n", "b": "x y", "c": "p q", "d": ["u"]}),
    );
}

#[test]
fn keys_may_be_quoted_or_hold_blanks() {
    check(
        "\"a: b\": 1\n'c': 2\nmy key: 3\nnamé: 4\n",
        &json!({"a: b": "1", "c": "2", "my key": "3", "namé": "4"}),
    );
}

#[test]
fn a_block_needs_both_fences() {
    for text in ["", "---", "---\n", "---\na: 1\n", "a\n---\nb: 1\n---\n", " ---\na: 1\n---\n"] {
        assert!(parse(text.as_bytes()).is_none(), "{text:?}");
    }
    let empty = parse(b"---\n---").expect("an empty block is a block");
    assert_eq!((empty.block.clone(), empty.map.len(), empty.problems.len()), (0..7, 0, 0));
    let blanks = parse(b"--- \t\na: 1\n---  \nbody").expect("blanks may follow a fence");
    assert_eq!(blanks.body_start(), 17);
}

#[test]
fn bom_crlf_and_bytes_that_are_not_utf8_are_accepted() {
    let bytes =
        b"\xef\xbb\xbf---\r\na: x\xff\xfey\r\nb:\r\n  - 1\r\nt: |\r\n  u\r\n  v\r\n---\r\nrest";
    let front = parse(bytes).expect("a closed block");
    assert_eq!(front.to_json(), json!({"a": "x??y", "b": ["1"], "t": "u\nv\n"}));
    assert_eq!(front.problems, []);
    assert_eq!(&bytes[front.body_start()..], b"rest");
    assert_eq!(front.block.start, 3);
    assert_eq!(&bytes[front.span("b").expect("b is there")], b"b:\r\n  - 1");
    let nul = parse(b"---\na: x\0y\n---\n").expect("a closed block");
    assert_eq!(nul.to_json(), json!({"a": "x?y"}));
}

#[test]
fn single_values_are_read_by_type_and_path() {
    let front = front("wave: 2\nauto: True\nquoted: \"3\"\nl: [a]\nm:\n  n:\n    o: p\nx.y: z\n");
    assert_eq!(front.entry("wave").and_then(Value::as_int), Some(2));
    assert_eq!(front.entry("quoted").and_then(Value::as_int), Some(3));
    assert_eq!(front.entry("auto").and_then(Value::as_bool), Some(true));
    assert_eq!(front.entry("wave").and_then(Value::as_bool), None);
    assert_eq!(front.entry("l").and_then(Value::as_list).map(<[Value]>::len), Some(1));
    assert_eq!(front.lookup("m.n.o").and_then(Value::as_str), Some("p"));
    assert_eq!(front.lookup("x.y").and_then(Value::as_str), Some("z"));
    assert_eq!(front.lookup("m.q"), None);
}

#[test]
fn an_invalid_line_is_read_as_text() {
    check_broken(
        "a: Fix: it\nb: @who\nc: `x`\nd: \"x\" y\ne: [@p, 'q']\nf: ok\ng: \"open\n",
        &json!({"a": "Fix: it", "b": "@who", "c": "`x`", "d": "\"x\" y", "e": ["@p", "q"],
               "f": "ok", "g": "\"open"}),
        &[2, 3, 4, 5, 6, 8],
    );
}

#[test]
fn only_the_invalid_part_of_an_entry_is_guessed() {
    check_broken(
        "m:\n  truths:\n    - \"Quoted\" then: more\n    - \"a: b\"\n  artifacts:\n    \
         - path: x # keep\n      provides: a: b\n      exports: [p, q]\nn: 1\n",
        &json!({"m": {
            "truths": ["\"Quoted\" then: more", "a: b"],
            "artifacts": [{"path": "x", "provides": "a: b", "exports": ["p", "q"]}],
        }, "n": "1"}),
        &[4, 8],
    );
}

#[test]
fn tabs_stray_lines_and_duplicates_are_reported() {
    check_broken("l:\n\t- a\n\t- b\nk: v\n", &json!({"l": ["a", "b"], "k": "v"}), &[3]);
    check_broken("- a\nk: v\n", &json!({"k": "v"}), &[2]);
    check_broken("a: 1\nb: 2\na: 3\n", &json!({"a": "3", "b": "2"}), &[4]);
    check_broken("m:\n  a: 1\n  a: 2\n", &json!({"m": {"a": "2"}}), &[4]);
}

#[test]
fn anchors_resolve_across_entries() {
    check(
        "a: &x [1, 2]\nb: *x\nc: {d: *x}\n",
        &json!({"a": ["1", "2"], "b": ["1", "2"],
        "c": {"d": ["1", "2"]}}),
    );
    check_broken("a: *nowhere\nb: 1\n", &json!({"a": "*nowhere", "b": "1"}), &[2]);
}

#[test]
fn hostile_blocks_stay_cheap() {
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..30 {
        let alias = format!("*a{}, ", level - 1).repeat(9);
        laughs.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    let deep_flow = format!("a: {}\n", "[".repeat(500_000));
    let deep_block: String = (0..700).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let dashes = format!("a:\n  {}x\n", "- ".repeat(250_000));
    let open_quotes = "a: \"\n".repeat(100_000);
    let colons = format!("a: {}\n", "b: ".repeat(300_000));
    let itself = "a: &x [*x]\n".to_owned();
    let anchors = format!("a: {}\n", "&x [".repeat(60) + &"y, ".repeat(100_000) + &"]".repeat(60));
    for inner in [laughs, deep_flow, deep_block, dashes, open_quotes, colons, itself, anchors] {
        let front = front(&inner);
        assert_ne!(front.problems, [], "{}", &inner[..40.min(inner.len())]);
        assert!(front.to_json().to_string().len() < 8 << 20);
    }
}
