//! What plans say, and what is meant.

use super::*;

fn of(entries: &[&str]) -> Vec<String> {
    normalized(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>())
}

#[test]
fn entries_get_one_form() {
    for (entry, wanted) in [
        ("src/a.rs", "src/a.rs"),
        ("./src//a.rs", "src/a.rs"),
        ("/src/a.rs", "src/a.rs"),
        (" `src/a.rs` ", "src/a.rs"),
        ("src/a.rs (new)", "src/a.rs"),
        ("src\\a.rs", "src/a.rs"),
        ("src/", "src"),
        ("src/**", "src"),
        ("src/*.rs", "src"),
        ("src/{a,b}.rs", "src"),
        ("src/b/../a.rs", "src/a.rs"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("a b.txt", "a b.txt"),
        ("**/*.rs", "."),
        (".", "."),
    ] {
        assert_eq!(of(&[entry]), [wanted], "{entry}");
    }
    assert_eq!(of(&["", "None", "n/a", "-", ".planning/STATE.md"]), [""; 0]);
    assert_eq!(of(&["b", "a", "./b"]), ["a", "b"]);
}

#[test]
fn a_directory_covers_what_is_below_it() {
    let common = |a: &[&str], b: &[&str]| {
        let (a, b) = (of(a), of(b));
        assert_eq!(common(&a, &b).is_some(), common(&b, &a).is_some());
        common(&a, &b).map(str::to_owned)
    };
    assert_eq!(common(&["src/a.rs"], &["src/a.rs", "x"]).as_deref(), Some("src/a.rs"));
    assert_eq!(common(&["src"], &["src/b/a.rs"]).as_deref(), Some("src/b/a.rs"));
    assert_eq!(common(&["src/b/a.rs"], &["src/**"]).as_deref(), Some("src/b/a.rs"));
    assert_eq!(common(&["."], &["x"]).as_deref(), Some("x"));
    assert_eq!(common(&["src/a.rs"], &["src/a.rs.bak", "src2", "sr"]), None);
    assert_eq!(common(&["src-x/a", "src/b"], &["src/a"]), None);
    assert_eq!(common(&[], &["."]), None);
}

#[test]
fn what_is_known_covers_what_is_below_it() {
    assert!(covers(&of(&["."]), &of(&["a", "b/c"])));
    assert!(covers(&of(&["b", "a"]), &of(&["a", "b/c"])));
    assert!(covers(&[], &[]));
    assert!(!covers(&of(&["b/c"]), &of(&["b"])));
    assert!(!covers(&[], &of(&["."])));
}

#[test]
fn only_plain_names_will_do_beside_others() {
    let check = |entries: &[&str], wanted: Option<&[&str]>| {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(plain(&list(entries)), wanted.map(list), "{entries:?}");
    };
    check(&["./src//a.rs", "docs/"], Some(&["docs", "src/a.rs"]));
    check(&["src/a.rs", ".planning/phases/01-x/notes.md"], Some(&["src/a.rs"]));
    check(&[], None);
    check(&[".planning/STATE.md"], None);
    let unclear =
        ["src/*.rs", "src/a.rs (new)", "/etc/passwd", "../other", "a/../b", ".", "", "~/x"];
    for odd in unclear {
        check(&["src/a.rs", odd], None);
    }
}
