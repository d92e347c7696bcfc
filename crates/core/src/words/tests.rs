//! Words are found where they begin.

use super::first_of;

#[test]
fn a_word_is_found_at_its_start_only() {
    assert_eq!(first_of("incomplete, complete", &["complete"]), Some(12));
    assert_eq!(first_of("incomplete", &["complete"]), None);
    assert_eq!(first_of("in progress", &["done", "in progress"]), Some(0));
    assert_eq!(first_of("(complete)", &["complete"]), Some(1));
    assert_eq!(first_of("已完成", &["完成"]), Some(3));
    assert_eq!(first_of("", &["x"]), None);
}
