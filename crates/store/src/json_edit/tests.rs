//! Tests that an edit of a JSON file changes only the value.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn check(before: &str, path: &[&str], value: &Value, after: &str) {
    let written = set(before.as_bytes(), path, value).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), after);
}

#[test]
fn only_the_value_is_replaced() {
    check("{\"a\" : 1 , \"b\":[1,  2]}", &["a"], &json!("x"), "{\"a\" : \"x\" , \"b\":[1,  2]}");
    check("{\n\t\"a\": {\"b\":\t1}\n}\n", &["a", "b"], &json!(2), "{\n\t\"a\": {\"b\":\t2}\n}\n");
    check("{\"a\":1,\"a\":2}", &["a"], &json!(3), "{\"a\":1,\"a\":3}");
    check("{\"\\u0061\":1}", &["a"], &json!(3), "{\"\\u0061\":3}");
}

#[test]
fn adds_members_in_the_style_of_the_file() {
    check("{\r\n\t\"a\":  1\r\n}", &["b"], &json!(2), "{\r\n\t\"a\":  1,\r\n\t\"b\":  2\r\n}");
    check("{ \"a\": 1 }", &["b", "c"], &json!(true), "{ \"a\": 1, \"b\": {\"c\":true} }");
    check(
        "{\n  \"a\": {}\n}",
        &["a", "b"],
        &json!([1]),
        "{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}",
    );
    check("", &["a", "b"], &json!(1), "{\n  \"a\": {\n    \"b\": 1\n  }\n}");
    check("\u{feff}\u{c}\n", &["a"], &json!(1), "\u{feff}{\n  \"a\": 1\n}");
    check("{}\n", &["a"], &json!(1), "{\n  \"a\": 1\n}\n");
}

#[test]
fn a_value_that_is_not_an_object_is_replaced_by_one() {
    check("{\"a\": [1], \"z\": 0}", &["a", "b"], &json!(1), "{\"a\": {\"b\":1}, \"z\": 0}");
}

#[test]
fn a_syntax_error_has_its_position() {
    let error = set(b"{\n  \"a\": 1,\n}", &["b"], &json!(1)).unwrap_err();
    assert!(matches!(error, JsonError::Syntax { line: 3, column: 1, .. }), "{error}");
    assert_eq!(set(b"[1]", &["a"], &json!(1)), Err(JsonError::NotAnObject));
    let error = set(b"{}", &["a", ""], &json!(1)).unwrap_err();
    assert_eq!(error, JsonError::BadPath { path: "a.".to_owned() });
    assert!(matches!(set(b"{}", &["a"; 33], &json!(1)), Err(JsonError::BadPath { .. })));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é🚀\n\"\\\\{}\\[\\],:|$&]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[ab\"\\\\.🚀]{0,2}", inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    any_json().prop_map(|value| if value.is_object() { value } else { json!({ "a": value }) })
}

/// Makes the same edit to a value in memory.
fn set_in_memory(root: &mut Value, path: &[&str], value: &Value) {
    let Some((key, rest)) = path.split_first() else {
        *root = value.clone();
        return;
    };
    if !root.is_object() {
        *root = json!({});
    }
    let map = root.as_object_mut().unwrap();
    set_in_memory(map.entry(*key).or_insert(Value::Null), rest, value);
}

proptest! {
    #[test]
    fn only_the_value_changes(
        file in any_object(), value in any_json(), first in "[ab]", second in "[ab]?", layout in 0..3,
    ) {
        let text = match layout {
            0 => file.to_string(),
            1 => serde_json::to_string_pretty(&file).unwrap(),
            _ => serde_json::to_string_pretty(&file).unwrap().replace('\n', "\r\n") + "\r\n",
        };
        let mut path = vec![first.as_str()];
        path.extend((!second.is_empty()).then_some(second.as_str()));
        let written = set(text.as_bytes(), &path, &value).unwrap();
        let mut expected = file;
        set_in_memory(&mut expected, &path, &value);
        prop_assert_eq!(Value::Object(parse(&written).unwrap()), expected);
        // If the value existed, all bytes before and after it are the same.
        if let Some(old) = span(text.as_bytes(), &path) {
            let new = span(&written, &path).unwrap();
            prop_assert_eq!(&text.as_bytes()[..old.start], &written[..new.start]);
            prop_assert_eq!(&text.as_bytes()[old.end..], &written[new.end..]);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "[{}\\[\\]\",:\\\\ a1\n]{0,20}") {
        for input in [&bytes[..], text.as_bytes()] {
            let _ = set(input, &["a", "b"], &json!(1));
            let _ = object_at(input, 0);
            let _ = value_end(input, 0);
        }
    }
}

#[test]
fn a_member_is_removed_with_its_comma() {
    let removed = |text: &str, path: &[&str]| {
        String::from_utf8(remove(text.as_bytes(), path).unwrap()).unwrap()
    };
    let file =
        "{\n  \"w\": {\n    \"a\": 1,\n    \"b\": {\"x\": 2},\n    \"c\": 3\n  },\n  \"z\": 0\n}\n";
    let without_a = "{\n  \"w\": {\n    \"b\": {\"x\": 2},\n    \"c\": 3\n  },\n  \"z\": 0\n}\n";
    assert_eq!(removed(file, &["w", "a"]), without_a);
    let without_b = "{\n  \"w\": {\n    \"a\": 1,\n    \"c\": 3\n  },\n  \"z\": 0\n}\n";
    assert_eq!(removed(file, &["w", "b"]), without_b);
    assert_eq!(removed("{ \"a\": 1 }", &["a"]), "{}");
    assert_eq!(removed("{\"a\": 1, \"a\": 2}", &["a"]), "{}");
    assert_eq!(removed(file, &["w", "none"]), file);
    assert_eq!(removed(file, &["z", "none"]), file);
}
