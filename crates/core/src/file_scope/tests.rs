//! Normalising entries and comparing scopes.

use super::*;

fn scope(entries: &[&str]) -> Vec<String> {
    normalized(&entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>())
}

#[test]
fn entries_are_normalised() {
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
        assert_eq!(scope(&[entry]), [wanted], "{entry}");
    }
    assert_eq!(scope(&["", "None", "n/a", "-", ".planning/STATE.md"]), [""; 0]);
    assert_eq!(scope(&["b", "a", "./b"]), ["a", "b"]);
}

#[test]
fn a_directory_covers_what_is_below_it() {
    let common = |a: &[&str], b: &[&str]| {
        let (a, b) = (scope(a), scope(b));
        assert_eq!(common_path(&a, &b).is_some(), common_path(&b, &a).is_some());
        common_path(&a, &b).map(str::to_owned)
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
fn a_scope_covers_paths_below_its_entries() {
    assert!(covers_all(&scope(&["."]), &scope(&["a", "b/c"])));
    assert!(covers_all(&scope(&["b", "a"]), &scope(&["a", "b/c"])));
    assert!(covers_all(&[], &[]));
    assert!(!covers_all(&scope(&["b/c"]), &scope(&["b"])));
    assert!(!covers_all(&[], &scope(&["."])));
}

#[test]
fn scopes_of_parallel_plans_need_plain_paths() {
    let check = |entries: &[&str], wanted: Option<&[&str]>| {
        let list = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        assert_eq!(plain_paths(&list(entries)), wanted.map(list), "{entries:?}");
    };
    check(&["./src//a.rs", "docs/"], Some(&["docs", "src/a.rs"]));
    check(&["src/a.rs", ".planning/phases/01-x/notes.md"], Some(&["src/a.rs"]));
    check(&[], None);
    check(&[".planning/STATE.md"], None);
    let not_plain =
        ["src/*.rs", "src/a.rs (new)", "/etc/passwd", "../other", "a/../b", ".", "", "~/x"];
    for entry in not_plain {
        check(&["src/a.rs", entry], None);
    }
}
