//! Tests of parsing and truncating lines, and of chat log names.

use proptest::prelude::*;

use super::*;

#[test]
fn lines_that_are_not_objects_are_skipped() {
    let file = b"{\"a\":1}\r\nnot json\n\n5\n{\"b\":\xff}\n{\"c\":2}";
    let keys: Vec<_> = objects(file).iter().flat_map(|map| map.keys().cloned()).collect();
    assert_eq!(keys, ["a", "c"]);
}

#[test]
fn a_long_message_is_truncated_between_characters() {
    let line = chat_line("a", "b", "t", &"🚀".repeat(501));
    let entry = &objects(line.as_bytes())[0];
    assert_eq!(entry["msg"].as_str().unwrap().chars().count(), 500);
    assert_eq!(chat_line("a", "b", "t", "x\ny").matches('\n').count(), 1);
    let keys: Vec<_> = entry.keys().map(String::as_str).collect();
    assert_eq!(keys, ["from", "to", "ts", "msg"]);
}

#[test]
fn both_directions_share_a_file() {
    assert_eq!(chat_file_name("w2", "w1").unwrap(), "w1-to-w2.ndjson");
    assert_eq!(chat_file_name("w1", "w2").unwrap(), "w1-to-w2.ndjson");
    for bad in ["", " ", "..", "../x", "a/b", "a\\b", "a\0", ".hidden"] {
        assert_eq!(chat_file_name("w", bad), Err(InvalidChatId { id: bad.to_owned() }));
    }
}

#[test]
fn keeps_the_last_lines() {
    assert_eq!(keep_last(b"1\n\n2\r\n3", 2), b"2\r\n3");
    assert_eq!(keep_last(b"1\n2\n", 0), b"");
    assert_eq!(keep_last(b"1\n2\n", 9), b"1\n2\n");
}

proptest! {
    #[test]
    fn a_rendered_line_parses_back(from in "\\PC{0,9}", message in "(?s).{0,60}", junk: Vec<u8>) {
        let line = chat_line(&from, "b", "t", &message);
        let file = [&junk[..], b"\n", line.as_bytes()].concat();
        let read = objects(&file);
        let entry = read.last().unwrap();
        prop_assert_eq!(entry["from"].as_str(), Some(from.as_str()));
        prop_assert_eq!(entry["msg"].as_str(), Some(truncate_chars(&message, MESSAGE_CHARS_MAX)));
        keep_last(&file, 3);
    }
}
