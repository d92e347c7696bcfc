//! Cutting and padding.

use proptest::prelude::*;

use super::*;

#[test]
fn a_cut_text_ends_with_dots() {
    assert_eq!(cut("abcdef", 6), "abcdef");
    assert_eq!(cut("abcdefg", 6), "abc...");
    assert_eq!(cut("abc", 2), "..");
    assert_eq!(cut("abc", 0), "");
    assert_eq!(fit("日本語の", 7), "日本...");
    assert_eq!(fit("日本語の", 6), "日... ");
    assert_eq!(pad_start("7%", 4), "  7%");
    assert_eq!(one_line("a\x1b[31mb\nc\u{9b}"), "a [31mb c ");
}

proptest! {
    #[test]
    fn a_fitted_text_is_as_wide_as_asked(text in "\\PC{0,40}", columns in 0_usize..60) {
        prop_assert_eq!(width(&fit(&text, columns)), columns);
    }
}
