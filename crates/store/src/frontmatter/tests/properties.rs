//! Property tests of frontmatter edits, for any file, key and value.

use proptest::prelude::*;
use serde_json::{Map, Value as Json};

use crate::frontmatter::{EditError, Value, merge, parse, remove, set};

/// Generates texts with many characters that are special in YAML.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,5}".prop_map(String::from),
        4 => "[-:#,?!&*|>%@`'\"\\[\\]{} \t\\\\~.=<]{1,3}".prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
        1 => Just("\n".to_owned()),
        1 => Just("---".to_owned()),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        1 => Just(Json::Null),
        1 => any::<bool>().prop_map(Json::from),
        1 => any::<i64>().prop_map(Json::from),
        1 => any::<f64>().prop_map(Json::from),
        6 => text().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            proptest::collection::vec((text(), inner), 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

/// Generates lines of blocks, valid and invalid.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let shaped = ("[ \t]{0,4}", prop_oneof!["- ", "", "# "], "[a-d]{0,2}", "[: ]{0,2}", text());
    prop_oneof![
        6 => shaped.prop_map(|(pad, dash, key, colon, text)| {
            format!("{pad}{dash}{key}{colon}{text}").into_bytes()
        }),
        3 => ("[a-d]", text()).prop_map(|(key, text)| format!("{key}: {text}").into_bytes()),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
        2 => prop_oneof![
            Just("a: |"), Just("b: ["), Just("]"), Just("c: \""), Just("d: '"), Just("  x: 1"),
            Just("\"a\": 1"), Just("a: &x 1"), Just("b: *x"), Just("c: # c"), Just("d: 1 # c"),
        ].prop_map(|line| line.as_bytes().to_vec()),
    ]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let lines = proptest::collection::vec(line(), 0..10);
    let shaped = (any::<bool>(), any::<bool>(), lines, 0..10);
    let shaped = shaped.prop_map(|(bom, crlf, lines, open)| {
        let eol: &[u8] = if crlf { b"\r\n" } else { b"\n" };
        let mut file = if bom { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        let fences = [b"---".to_vec()].into_iter();
        let end = if open > 0 { vec![b"---".to_vec(), b"body".to_vec()] } else { Vec::new() };
        for line in fences.chain(lines).chain(end) {
            file.extend(line);
            file.extend(eol);
        }
        file
    });
    prop_oneof![9 => shaped, 1 => proptest::collection::vec(any::<u8>(), 0..60)]
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-d]".prop_map(String::from), 1 => "new_key".prop_map(String::from),
        2 => text().prop_map(|text| text.replace('.', ""))]
}

/// Returns the value that should be read back: scalars as text, without nulls.
fn expected(json: &Json) -> Option<Value> {
    Some(match json {
        Json::Null => return None,
        Json::String(text) => Value::Scalar(text.clone()),
        Json::Bool(_) | Json::Number(_) => Value::Scalar(json.to_string()),
        Json::Array(items) => Value::List(items.iter().filter_map(expected).collect()),
        Json::Object(fields) => {
            Value::Map(fields.iter().filter_map(|(k, v)| Some((k.clone(), expected(v)?))).collect())
        }
    })
}

/// Returns whether the block may contain aliases, the only reason to refuse an edit of a valid
/// top-level key.
fn holds_anchors(file: &[u8]) -> bool {
    file.contains(&b'&') && file.contains(&b'*')
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn a_set_key_reads_back_and_nothing_else_changes(
        file in file(), key in key(), value in json(),
    ) {
        let edited = match set(&file, &key, &value) {
            Ok(edited) => edited,
            Err(EditError::BadKey { .. }) => { prop_assert!(key.is_empty()); return Ok(()); }
            Err(EditError::ChangesOtherKey { .. }) => {
                prop_assert!(holds_anchors(&file));
                return Ok(());
            }
            Err(error) => { prop_assert!(false, "{error}"); return Ok(()); }
        };
        let after = parse(&edited);
        let read = after.as_ref().and_then(|front| front.entry(&key)).cloned();
        prop_assert_eq!(&read, &expected(&value), "{}", String::from_utf8_lossy(&edited));
        if value.is_null() { return Ok(()); }
        let Some(before) = parse(&file) else {
            prop_assert!(edited.ends_with(file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&file)));
            return Ok(());
        };
        // All bytes outside of the new or replaced entry are unchanged.
        let after = after.expect("the value was read from it");
        let new = after.span(&key).expect("the value was read from it");
        prop_assert_eq!(&edited[after.body_start()..], &file[before.body_start()..]);
        match before.span(&key) {
            Some(old) => {
                prop_assert_eq!(&edited[..new.start], &file[..old.start]);
                prop_assert_eq!(&edited[new.end..], &file[old.end..]);
            }
            None => {
                prop_assert_eq!(&edited[..new.start], &file[..new.start]);
                let crlf = edited[new.end..].starts_with(b"\r\n");
                let rest = new.end + if crlf { 2 } else { 1 };
                prop_assert_eq!(&edited[rest..], &file[new.start..]);
            }
        }
    }

    #[test]
    fn adding_and_removing_a_key_is_the_identity(file in file(), value in json()) {
        if value.is_null() || parse(&file).is_none() { return Ok(()); }
        let added = set(&file, "new_key", &value).expect("a new key harms nothing");
        prop_assert_eq!(remove(&added, "new_key").expect("nothing refers to it"), file);
    }

    #[test]
    fn nested_edits_are_exact_or_refused(file in file(), value in json()) {
        for key in ["a.x", "b.a", "new_key.y.z"] {
            let Ok(edited) = set(&file, key, &value) else { continue };
            let read = parse(&edited).and_then(|front| front.lookup(key).cloned());
            prop_assert_eq!(read, expected(&value), "{}", String::from_utf8_lossy(&edited));
        }
    }

    #[test]
    fn merge_reads_back(file in file(), fields in proptest::collection::vec((key(), json()), 0..4)) {
        let fields: Map<String, Json> = fields.into_iter().collect();
        if fields.contains_key("") || holds_anchors(&file) { return Ok(()); }
        let edited = merge(&file, &fields).expect("top-level keys can always be set");
        let front = parse(&edited);
        for (key, value) in &fields {
            let read = front.as_ref().and_then(|front| front.entry(key)).cloned();
            prop_assert_eq!(read, expected(value));
        }
    }

    #[test]
    fn problems_name_lines_of_the_block(file in file()) {
        let Some(front) = parse(&file) else { return Ok(()) };
        let lines = file[..front.block.end].split_inclusive(|byte| *byte == b'\n').count();
        for problem in &front.problems {
            prop_assert!(problem.line > 1 && problem.line < lines, "{problem:?}");
        }
    }
}
