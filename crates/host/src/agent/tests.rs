//! Names of what is asked, short lines, and kinds of trouble.

use serde_json::json;

use super::*;

#[test]
fn what_is_asked_has_the_same_name_each_time() {
    let input = json!({ "command": "ls", "cwd": "/" });
    // Kept in journals: never to change.
    assert_eq!(id_of("Bash", &input), "c9e93930dca29846");
    let again = json!({ "cwd": "/", "description": "in other words", "command": "ls" });
    assert_eq!(id_of("Bash", &input), id_of("Bash", &again));
    assert_ne!(id_of("Bash", &input), id_of("Bash", &json!({ "command": "ls -a" })));
    assert_ne!(id_of("Bash", &input), id_of("Read", &input));
}

#[test]
fn lines_are_short_and_single() {
    assert_eq!(one_line(" a\n  b\tc "), "a b c");
    let long = one_line(&"ä".repeat(300));
    assert_eq!((long.chars().count(), long.ends_with('…')), (201, true));
}

#[test]
fn answers_of_models_are_told_apart() {
    let limited = Trouble::RateLimited { retry_after_ms: None };
    for (status, said, expected) in [
        (Some(401), "", Trouble::Login),
        (Some(403), "", Trouble::Login),
        (Some(402), "", Trouble::Quota),
        (Some(400), "Your credit balance is too low", Trouble::Quota),
        (Some(429), "insufficient_quota", Trouble::Quota),
        (Some(429), "", limited),
        (Some(529), "", Trouble::Overloaded),
        (Some(404), "not logged in", Trouble::Other),
        (None, "Not logged in · Please run /login", Trouble::Login),
        (None, "Claude usage limit reached", limited),
        (None, "Overloaded", Trouble::Overloaded),
        (None, "stream disconnected before completion", Trouble::Cut),
        (None, "something else", Trouble::Other),
    ] {
        assert_eq!(Trouble::of_answer(status, said), expected, "{status:?} {said}");
    }
}

#[test]
fn what_waiting_helps_against_is_not_for_a_person() {
    assert!(Trouble::Login.is_terminal() && !Trouble::Login.is_passing());
    assert!(Trouble::Overloaded.is_passing() && !Trouble::Overloaded.is_terminal());
    assert!(!Trouble::Crashed.is_passing() && !Trouble::Crashed.is_terminal());
}
