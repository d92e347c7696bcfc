//! Parsing, ordering and renumbering of phase numbers.

use super::PhaseNumber;

fn number(text: &str) -> PhaseNumber {
    PhaseNumber::parse(text).unwrap_or_else(|| panic!("{text} should be a number"))
}

#[test]
fn padding_of_the_first_part_is_ignored() {
    assert_eq!(number("03"), number("3"));
    assert_eq!(number("003.1"), number("3.1"));
    assert_eq!(number("36A"), number("36a"));
    assert_ne!(number("9.05"), number("9.5"));
    assert_eq!(number("9.05").canonical(), "9.5");
}

#[test]
fn numbers_sort_as_people_read_them() {
    let sorted = [
        "0", "1", "1.5", "3.1", "3.1.1", "3.1b", "3.1c", "3.1c.2", "3.2", "6.2", "6.9", "6.10",
        "9.05", "9.1", "10", "36", "36a", "36b", "140.1.2", "999.1", "1017",
    ];
    let mut numbers: Vec<_> = sorted.iter().rev().map(|text| number(text)).collect();
    numbers.sort();
    let printed: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    assert_eq!(printed, sorted);
}

#[test]
fn words_and_too_many_digits_are_no_numbers() {
    for text in ["", "x", "3rd", "2x2", ".1", "1..2", "v1.0", "1.2.3.4.5.6", "1234567890123"] {
        assert_eq!(PhaseNumber::parse(text), None, "{text}");
    }
}

#[test]
fn the_text_after_the_number_is_returned() {
    let (first, rest) = PhaseNumber::parse_prefix("02.1-auth").unwrap();
    assert_eq!((first.padded().as_str(), rest), ("02.1", "-auth"));
    let (_, rest) = PhaseNumber::parse_prefix("4. Name").unwrap();
    assert_eq!(rest, ". Name");
    let (_, rest) = PhaseNumber::parse_prefix("36a: Name").unwrap();
    assert_eq!(rest, ": Name");
}

#[test]
fn children_and_descendants_of_a_number() {
    assert_eq!(number("3").child(2), Some(number("3.2")));
    assert_eq!(number("6.10").child_of(&number("6")), Some(10));
    assert_eq!(number("6.1.2").child_of(&number("6")), None);
    for (one, other) in [("3.1", "3"), ("3.1.2", "3"), ("3a", "3"), ("3.1.2", "3.1")] {
        assert!(number(one).is_descendant_of(&number(other)), "{one} is below {other}");
    }
    for (one, other) in [("3", "3"), ("30", "3"), ("3", "3.1"), ("3.2", "3.1"), ("3.05", "3.5")] {
        assert!(!number(one).is_descendant_of(&number(other)), "{one} is not below {other}");
    }
}

#[test]
fn a_removal_shifts_later_numbers_by_one() {
    let cases = [
        ("3", "4", "3"),
        ("3", "10.2", "9.2"),
        ("3", "2.9", "2.9"),
        ("3", "3.1", "3.1"),
        ("3", "999.1", "999.1"),
        ("3.1", "3.2", "3.1"),
        ("3.1", "3.10", "3.9"),
        ("3.1", "3.2.4", "3.1.4"),
        ("3.1", "4.2", "4.2"),
        ("9.05", "9.06", "9.05"),
        ("9.05", "9.1", "9.1"),
        ("36", "37a", "36a"),
    ];
    for (removed, before, after) in cases {
        let shifted = number(before).after_removal(&number(removed));
        assert_eq!(shifted.to_string(), after, "{before} without {removed}");
    }
}
