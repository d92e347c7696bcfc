//! Tests of reading, adding and updating worktree entries.

use proptest::prelude::*;

use super::*;

const SAMPLE: &str = "{
  \"version\": \"1.0\",
  \"project\": \"boat\",
  \"updated\": null,
  \"worktrees\": {
    \"phase-04\": {
      \"path\": \".claude/worktrees/phase-04\",
      \"phase\": \"04\",
      \"status\": \"merged\",
      \"mood\": [1,  2]
    },
    \"p3.1\": {\"status\": \"active\"}
  }
}
";

#[test]
fn finds_entries_by_phase() {
    let manifest = parse(SAMPLE.as_bytes()).unwrap();
    let name = |number: &str| {
        manifest.find_phase(&PhaseNumber::parse(number).unwrap()).map(|(name, _)| name.to_owned())
    };
    assert_eq!(name("4").as_deref(), Some("phase-04"));
    assert_eq!(name("3.1").as_deref(), Some("p3.1"));
    assert_eq!(name("3"), None);
    assert!(!manifest.worktree("phase-04").unwrap().is_active());
    assert_eq!(manifest.project.as_deref(), Some("boat"));
}

#[test]
fn an_update_keeps_unknown_keys_and_layout() {
    let fields = [("status", json!("active")), ("merged", json!(false))];
    let written = set_entry(SAMPLE.as_bytes(), "phase-04", &fields, "now").unwrap();
    let expected = SAMPLE
        .replace("\"merged\"", "\"active\"")
        .replace("[1,  2]\n", "[1,  2],\n      \"merged\": false\n")
        .replace("\"updated\": null", "\"updated\": \"now\"");
    assert_eq!(String::from_utf8(written).unwrap(), expected);
}

#[test]
fn the_first_entry_creates_the_file() {
    let fields = [("path", json!("w/a.b")), ("phase", json!("1"))];
    let written = set_entry(b"", "a.b", &fields, "t").unwrap();
    assert!(written.ends_with(b"}\n"));
    let manifest = parse(&written).unwrap();
    assert_eq!(manifest.version, "1.0");
    assert_eq!(manifest.worktree("a.b").unwrap().text("path").as_deref(), Some("w/a.b"));
    let manifest = parse(&set_project(&written, "boat").unwrap()).unwrap();
    assert_eq!(manifest.project.as_deref(), Some("boat"));
}

#[test]
fn a_broken_file_is_not_overwritten() {
    assert!(matches!(set_entry(b"{", "a", &[], "t"), Err(JsonError::Syntax { .. })));
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, name in "\\PC{0,6}") {
        let _ = parse(&bytes);
        let _ = set_entry(&bytes, &name, &[("a", json!(1))], "t");
        if !name.is_empty() {
            let written = set_entry(SAMPLE.as_bytes(), &name, &[("a", json!("$&"))], "t").unwrap();
            prop_assert_eq!(parse(&written).unwrap().worktrees.len(), 3);
        }
    }
}
