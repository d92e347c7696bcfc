//! Tests of the scoring.

use super::*;

fn phases(text: &str) -> Vec<ScoredPhase> {
    ScoredPhase::parse_list(text.as_bytes()).expect("a list of phases")
}

#[test]
fn numbers_are_equal_without_leading_zeros_and_case() {
    for (number, expected) in [
        ("01", "1"),
        ("09.05", "9.5"),
        ("0", "0"),
        ("00", "0"),
        ("36A", "36a"),
        ("3.1c.02", "3.1c.2"),
    ] {
        assert_eq!(normalise(number), expected, "{number}");
    }
}

#[test]
fn a_full_match_is_a_project_without_mistakes() {
    let expected = phases(
        r#"{"phases": [{"number": "1", "completed": true, "depends_on": []},
                       {"number": "2", "completed": false, "depends_on": ["1"]}]}"#,
    );
    let found = phases(
        r#"[{"number": "02", "completed": false, "depends_on": ["01"]},
            {"number": "01", "completed": true}]"#,
    );
    let score = Score::of(&expected, &found);
    assert_eq!(score.mistakes, Vec::<String>::new());
    assert_eq!((score.projects.right, score.found.right, score.depends_on.right), (1, 2, 2));
}

#[test]
fn every_kind_of_mistake_is_counted_once() {
    let expected = phases(
        r#"[{"number": "1", "completed": true, "depends_on": []},
            {"number": "2", "completed": true, "completed_certain": false, "depends_on": ["1"]},
            {"number": "3", "completed": true, "depends_on": []}]"#,
    );
    let found = phases(
        r#"[{"number": "1", "completed": false, "depends_on": []},
            {"number": "2", "completed": false, "depends_on": []},
            {"number": "9", "completed": false, "depends_on": []}]"#,
    );
    let score = Score::of(&expected, &found);
    assert_eq!((score.found.right, score.found.all), (2, 3));
    assert_eq!((score.completed.right, score.completed.all), (0, 2), "uncertain is not scored");
    assert_eq!((score.depends_on.right, score.depends_on.all), (1, 3));
    assert_eq!((score.invented, score.projects.right), (1, 0));
    assert_eq!(score.mistakes.len(), 4, "{:?}", score.mistakes);
}

#[test]
fn equal_numbers_are_paired_in_order_of_appearance() {
    let list = |first: bool, second: bool| {
        phases(&format!(
            r#"[{{"number": "1", "completed": {first}}}, {{"number": "1", "completed": {second}}}]"#
        ))
    };
    assert_eq!(Score::of(&list(true, false), &list(true, false)).completed.right, 2);
    assert_eq!(Score::of(&list(true, false), &list(false, true)).completed.right, 0);
}

#[test]
fn no_answer_is_wrong_even_where_nothing_is_declared() {
    let score = Score::without_answer(&[], "it crashed");
    assert_eq!((score.projects.right, score.projects.all), (0, 1));
    assert_eq!(score.mistakes, ["no answer: it crashed"]);
}

#[test]
fn one_mistake_in_a_hundred_is_good_enough_and_two_are_not() {
    let list = |numbers: std::ops::Range<usize>| {
        let items = numbers.map(|number| format!(r#"{{"number": "{number}", "completed": true}}"#));
        phases(&format!("[{}]", items.collect::<Vec<_>>().join(",")))
    };
    let expected = list(0..100);
    assert!(Score::of(&expected, &list(0..100)).is_good());
    assert!(Score::of(&expected, &list(0..99)).is_good());
    assert!(!Score::of(&expected, &list(0..98)).is_good());
    assert!(!Score::of(&expected, &list(0..102)).is_good(), "inventions count as well");
}
