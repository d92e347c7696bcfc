//! Spellings of durations that people use.

use proptest::prelude::*;

use super::*;

#[test]
fn every_common_spelling_is_parsed() {
    for (text, minutes) in [
        ("12", 12),
        ("12min", 12),
        ("~12 minutes", 12),
        ("1h 5m", 65),
        ("1h05m", 65),
        ("1.5 hours", 90),
        ("90s", 2),
        ("2d", 2880),
        ("1 hr, 2 min", 62),
    ] {
        assert_eq!(parse_minutes(text), Some(minutes), "{text}");
    }
    for text in ["", "--", "soon", "5 apples", "1.2.3", "min", "-5", "1e99", "99999999999d"] {
        assert_eq!(parse_minutes(text), None, "{text}");
    }
}

#[test]
fn durations_are_written_as_they_are_parsed() {
    for (seconds, text) in [
        (0, "0s"),
        (59, "59s"),
        (60, "1min"),
        (90, "1min 30s"),
        (3_600, "1h"),
        (3_903, "1h 5min 3s"),
    ] {
        assert_eq!(format_seconds(seconds), text);
        assert_eq!(parse_seconds(text), Some(seconds));
    }
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in ".{0,20}", digits in "[0-9.hms ]{0,20}") {
        parse_minutes(&text);
        parse_minutes(&digits);
    }
}
