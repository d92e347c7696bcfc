//! Tests of reading todos with and without frontmatter, and of setting keys.

use proptest::prelude::*;

use super::*;

#[test]
fn reads_keys_from_frontmatter() {
    let todo = parse(b"---\ncreated: 2026-01-02\ntitle: \"Fix: it\"\nfiles:\n  - a/b.rs\n  - c.rs\n---\n\n## Problem\n");
    assert_eq!(todo.title.as_deref(), Some("Fix: it"));
    assert_eq!(todo.area, "general");
    assert_eq!(todo.created.as_deref(), Some("2026-01-02"));
    assert_eq!(todo.files, ["a/b.rs", "c.rs"]);
}

#[test]
fn reads_keys_from_lines_without_frontmatter() {
    let todo =
        parse(b"completed: 2026-01-03\r\ntitle: Paint\r\narea: hull\r\nfiles: a.rs, `b.rs`\r\n");
    assert_eq!(todo.title.as_deref(), Some("Paint"));
    assert_eq!(todo.area, "hull");
    assert_eq!(todo.files, ["a.rs", "b.rs"]);
    assert_eq!(parse(b"title: x\nfiles:\n- a\n- b\n\n- c\n").files, ["a", "b"]);
    assert_eq!(parse(b"---\nfiles: a, b\n---\n").files, ["a", "b"]);
}

#[test]
fn a_key_is_set_in_the_frontmatter_or_in_the_first_line() {
    let written = set_key(b"---\ntitle: x # why\n---\nbody\n", "started", "2026-02-03").unwrap();
    assert_eq!(written, b"---\ntitle: x # why\nstarted: 2026-02-03\n---\nbody\n");
    let written = set_key(b"title: x\r\n", "completed", "2026-02-03").unwrap();
    assert_eq!(written, b"completed: 2026-02-03\r\ntitle: x\r\n");
    let twice = set_key(&set_key(b"---\na: 1\n---\n", "started", "1").unwrap(), "started", "2");
    assert_eq!(twice.unwrap(), b"---\na: 1\nstarted: 2\n---\n");
}

#[test]
fn a_file_name_has_no_path() {
    for name in ["a.md", "2026-01-02-fix.md", "..a.md", "ä b.md"] {
        assert!(is_file_name(name), "{name}");
    }
    for name in
        ["", ".", "..", "../a.md", "a/b.md", "/a.md", "a\\b.md", "a\nb.md", "a\0.md", "-a.md"]
    {
        assert!(!is_file_name(name), "{name:?}");
    }
}

#[test]
fn lists_markdown_files_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("todos/pending");
    std::fs::create_dir_all(folder.join("folder.md")).unwrap();
    for name in ["b.md", "a.md", "c.txt"] {
        std::fs::write(folder.join(name), "title: x\n").unwrap();
    }
    let listed = list(dir.path(), TodoFolder::Pending);
    assert_eq!(
        listed.iter().map(|listed_todo| listed_todo.file.as_str()).collect::<Vec<_>>(),
        ["a.md", "b.md"]
    );
    assert!(list(dir.path(), TodoFolder::InProgress).is_empty());
}

#[test]
fn a_byte_order_mark_does_not_hide_the_first_line() {
    let written = set_key("\u{feff}title: x\n".as_bytes(), "started", "2026-02-03").unwrap();
    assert_eq!(parse(&written).started.as_deref(), Some("2026-02-03"));
}

proptest! {
    #[test]
    fn every_other_byte_stays(body in prop::collection::vec(any::<u8>(), 0..60), title in "[a-z$&|🚀 ]{0,9}") {
        let mut loose = b"# x\n".to_vec();
        loose.extend(&body);
        let written = set_key(&loose, "completed", "2026-01-01").unwrap();
        prop_assert_eq!(&written[..], [b"completed: 2026-01-01\n", &loose[..]].concat());
        let mut block = format!("---\ntitle: \"{title}\"\n").into_bytes();
        let before = block.len();
        block.extend(b"---\n");
        block.extend(&body);
        let written = set_key(&block, "completed", "2026-01-01").unwrap();
        let added = b"completed: 2026-01-01\n";
        prop_assert_eq!(&written[..before], &block[..before]);
        prop_assert_eq!(&written[before..before + added.len()], added);
        prop_assert_eq!(&written[before + added.len()..], &block[before..]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>) {
        parse(&bytes);
        let _ = set_key(&bytes, "started", "1");
    }
}

#[test]
fn a_new_todo_is_read_as_it_was_written() {
    for title in ["Plain", "With: colon, \"quotes\" and # hash", "- dash", "'"] {
        let bytes = render(title, "2026-01-02", "Why.\n\n---\ntitle: not this one").unwrap();
        let todo = parse(&bytes);
        assert_eq!(todo.title.as_deref(), Some(title));
        assert_eq!((todo.area.as_str(), todo.created.as_deref()), ("general", Some("2026-01-02")));
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("\n## Problem\n\nWhy.") && text.ends_with("\n## Solution\n\nTBD\n"));
    }
}
