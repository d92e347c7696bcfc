//! Words match at their start only.

use super::find_first_word;

#[test]
fn a_match_starts_at_a_word_boundary() {
    assert_eq!(find_first_word("incomplete, complete", &["complete"]), Some(12));
    assert_eq!(find_first_word("incomplete", &["complete"]), None);
    assert_eq!(find_first_word("in progress", &["done", "in progress"]), Some(0));
    assert_eq!(find_first_word("(complete)", &["complete"]), Some(1));
    assert_eq!(find_first_word("已完成", &["完成"]), Some(3));
    assert_eq!(find_first_word("", &["x"]), None);
}
