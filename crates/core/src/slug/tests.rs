//! Slugs of names.

use super::slug;

#[test]
fn names_become_slugs() {
    for (name, expected) in [
        ("User Auth", "user-auth"),
        ("  --A & B!! ", "a-b"),
        ("Café Über", "caf-ber"),
        ("日本", ""),
        ("v1.2 (Beta)", "v1-2-beta"),
    ] {
        assert_eq!(slug(name), expected, "{name:?}");
    }
}
