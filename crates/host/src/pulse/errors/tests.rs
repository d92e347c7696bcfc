//! Errors that are the same, and those that are not.

use super::*;

#[test]
fn an_error_is_the_same_with_other_numbers_and_colours() {
    let mut errors = Errors::default();
    for n in 0..5 {
        errors.hear(
            format!("[12:00:{n:02}] \u{1b}[31mError\u{1b}[0m: port 80{n} is taken\n").as_bytes(),
        );
        errors.hear(b"all is well\nan error of another kind\n");
        errors.hear(b"an error of another kind\n");
        if n % 2 == 0 {
            errors.look();
        }
    }
    let (line, count, _) = errors.look().unwrap();
    assert_eq!(count, 3, "{line}: once for each look that brought it");
    errors.forget();
    assert_eq!(errors.look(), None);
}

#[test]
fn kinds_and_lines_are_bounded() {
    let mut errors = Errors::default();
    for n in 0..200 {
        let letters: String = format!("{n:08b}").replace('0', "a").replace('1', "b");
        errors.hear(format!("fatal {letters} {}\n", "x".repeat(10_000)).as_bytes());
    }
    assert_eq!(errors.kinds.len(), KINDS_MAX);
    assert!(errors.kinds.iter().all(|kind| kind.line.len() <= LINE_BYTES_MAX));
}
