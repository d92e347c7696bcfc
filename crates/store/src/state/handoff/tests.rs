//! Tests that the file keeps one handoff note, that of the last session.

use super::write_note;

fn write(text: &str, session: &str) -> Option<String> {
    let bytes = write_note(text.as_bytes(), "2026-01-02", session, "Go on.")?;
    Some(String::from_utf8(bytes).expect("text stays text"))
}

const FIRST: &str = "### Context Window Handoff (2026-01-02)\n\nGo on.\n\nSession: s1\n";

#[test]
fn d56_a_session_leaves_one_note() {
    let once = write("# State\n", "s1").expect("there was none");
    assert_eq!(once, format!("# State\n\n{FIRST}"));
    assert_eq!(write(&once, "s1"), None);
    let next = write(&once, "s2").expect("another session");
    assert_eq!(next, once.replace("s1", "s2"));
    let inside = format!("{once}\n## Later\n\ntext\n");
    let next = write(&inside, "s2").expect("another session");
    assert_eq!(next, inside.replace("s1", "s2"));
}

#[test]
fn the_note_stands_apart_and_keeps_the_line_endings() {
    assert_eq!(write("", "s1").as_deref(), Some(FIRST));
    assert_eq!(write("a", "s1"), Some(format!("a\n\n{FIRST}")));
    assert_eq!(write("a\n\n", "s1"), Some(format!("a\n\n{FIRST}")));
    let windows = write("a\r\nb\r\n", "s1").expect("there was none");
    assert_eq!(windows, format!("a\r\nb\r\n\r\n{}", FIRST.replace('\n', "\r\n")));
}
