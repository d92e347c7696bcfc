//! Which errors count as the same, and the limits of counting.

use super::*;

#[test]
fn errors_with_other_numbers_and_colours_are_the_same() {
    let mut errors = ErrorCounter::default();
    for n in 0..5 {
        errors.record_output(
            format!("[12:00:{n:02}] \u{1b}[31mError\u{1b}[0m: port 80{n} is taken\n").as_bytes(),
        );
        errors.record_output(b"all is well\nan error of another kind\n");
        errors.record_output(b"an error of another kind\n");
        if n % 2 == 0 {
            errors.count_new();
        }
    }
    let (line, count, _) = errors.count_new().unwrap();
    assert_eq!(count, 3, "{line}: once for each check with the error");
    errors.clear();
    assert_eq!(errors.count_new(), None);
}

#[test]
fn patterns_and_lines_are_bounded() {
    let mut errors = ErrorCounter::default();
    for n in 0..200 {
        let letters: String = format!("{n:08b}").replace('0', "a").replace('1', "b");
        errors.record_output(format!("fatal {letters} {}\n", "x".repeat(10_000)).as_bytes());
    }
    assert_eq!(errors.patterns.len(), PATTERNS_MAX);
    assert!(errors.patterns.iter().all(|error| error.line.len() <= LINE_BYTES_MAX));
}
