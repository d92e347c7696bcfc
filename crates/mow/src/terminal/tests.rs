//! Tests of fitting text to a width.

use super::*;

#[test]
fn long_texts_are_truncated_by_columns_not_by_characters() {
    assert_eq!(fit_line("short", 5), "short");
    assert_eq!(fit_line("a longer text", 8), "a lon...");
    assert_eq!(fit_line("a word and", 9), "a word...");
    assert_eq!(fit_line("日本語日本語", 9), "日本語...");
    assert_eq!(fit_line("日本語日本語", 8), "日本...");
}

#[test]
fn control_characters_never_reach_the_terminal() {
    assert_eq!(fit_line("red\x1b[31m\ttext\r\n", 80), "red [31m text  ");
    assert_eq!(wrap("a\x1b]0;title\x07 b", 80), ["a ]0;title b"]);
}

#[test]
fn wrapping_breaks_between_words() {
    assert_eq!(wrap("one two  three", 7), ["one two", "three"]);
    assert_eq!(wrap("incomprehensible", 8), ["incom..."]);
    assert_eq!(wrap("", 8), Vec::<String>::new());
}
