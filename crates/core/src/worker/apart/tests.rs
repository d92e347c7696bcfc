//! Lists of files as plans have them.

use super::*;

fn list(files: &[&str]) -> Vec<String> {
    files.iter().map(|file| (*file).to_owned()).collect()
}

#[test]
fn clear_lists_have_one_spelling() {
    let check = |files: &[&str], wanted: Option<&[&str]>| {
        assert_eq!(clear_paths(&list(files)), wanted.map(list), "{files:?}");
    };
    check(&["./src//a.rs", "docs/"], Some(&["src/a.rs", "docs"]));
    check(&["src/a.rs", ".planning/phases/01-x/notes.md"], Some(&["src/a.rs"]));
    check(&[], None);
    check(&[".planning/STATE.md"], None);
    let unclear =
        ["src/*.rs", "src/a.rs (new)", "/etc/passwd", "../other", "a/../b", ".", "", "~/x"];
    for odd in unclear {
        check(&["src/a.rs", odd], None);
    }
}

#[test]
fn a_directory_covers_what_is_below() {
    let overlaps = |a: &[&str], b: &[&str]| {
        assert_eq!(overlap(&list(a), &list(b)), overlap(&list(b), &list(a)));
        overlap(&list(a), &list(b))
    };
    assert!(overlaps(&["a", "b"], &["b"]));
    assert!(overlaps(&["src"], &["src/deep/a.rs"]));
    assert!(!overlaps(&["src/a"], &["src/ab", "src/b", "sr"]));
}
