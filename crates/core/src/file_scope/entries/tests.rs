//! Entries of `files_modified` and the paths that they cover.

use super::*;

#[test]
fn entries_cover_files_directories_and_patterns() {
    for (entry, path, wanted) in [
        ("src/a.rs", "src/a.rs", true),
        ("./src/a.rs", "src/a.rs", true),
        ("src/a.rs (new)", "src/a.rs", true),
        ("src/a (old).rs", "src/a (old).rs", true),
        ("src", "src/a.rs", true),
        ("src/", "src/deep/a.rs", true),
        ("src/a", "src/a.rs", false),
        ("", "src/a.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/*.rs", "src/deep/a.rs", false),
        ("src/**", "src/deep/a.rs", true),
        ("src/**/a.rs", "src/deep/er/a.rs", true),
        ("src/**/a.rs", "src/a.rs", true),
        ("*", "a/b", false),
        ("**", "a/b", true),
        ("src/*/mod.rs", "src/deep/mod.rs", true),
        ("src/*/mod.rs", "src/deep/er/mod.rs", false),
        ("a*b*c", "aXbYc", true),
        ("a*b*c", "aXbY", false),
        ("src/**/a.rs", "src/xa.rs", false),
        ("src/**/test_*.rs", "src/test_dir/test_a.rs", true),
        ("src/**.rs", "src/deep/a.rs", true),
        ("src/**.rs", "src/a.rs", true),
        ("src/a**", "src/abc", true),
        ("src/a**", "src/abc/d", true),
        ("src/a**", "src/b/a", false),
        ("src/a**z.rs", "src/ab/c/dz.rs", true),
        ("src/***", "src/deep/a.rs", true),
        ("**/a.rs", "a.rs", true),
        ("app/[id]/*.tsx", "app/[id]/page.tsx", true),
        ("app/[id]/*.tsx", "app/i/page.tsx", false),
        ("a{b,c}?/*.rs", "a{b,c}?/d.rs", true),
        ("a\\*.rs", "a\\b.rs", true),
        (".*", ".gitignore", true),
    ] {
        let declared = DeclaredFiles::new([&entry.to_owned()]);
        assert_eq!(declared.cover(path), wanted, "{entry} {path}");
    }
}

#[test]
fn a_pattern_with_many_stars_is_matched_fast() {
    let (pattern, path) = ("*a".repeat(200) + "b", "a".repeat(20_000));
    assert!(!DeclaredFiles::new([&pattern]).cover(&path));
}
