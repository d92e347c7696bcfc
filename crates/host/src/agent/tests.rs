//! Tests of request ids, one-line texts and failure kinds.

use serde_json::json;

use super::*;

#[test]
fn equal_requests_have_equal_ids() {
    let input = json!({ "command": "ls", "cwd": "/" });
    // The id is stored in journals and must never change.
    assert_eq!(request_id("Bash", &input), "c9e93930dca29846");
    let again = json!({ "cwd": "/", "description": "in other words", "command": "ls" });
    assert_eq!(request_id("Bash", &input), request_id("Bash", &again));
    assert_ne!(request_id("Bash", &input), request_id("Bash", &json!({ "command": "ls -a" })));
    assert_ne!(request_id("Bash", &input), request_id("Read", &input));
}

#[test]
fn lines_are_short_and_single() {
    assert_eq!(one_line(" a\n  b\tc "), "a b c");
    let long = one_line(&"ä".repeat(300));
    assert_eq!((long.chars().count(), long.ends_with('…')), (201, true));
}

#[test]
fn model_errors_are_classified_by_status_and_text() {
    let limited = FailureKind::RateLimited { retry_after_ms: None };
    for (status, text, expected) in [
        (Some(401), "", FailureKind::NotLoggedIn),
        (Some(403), "", FailureKind::NotLoggedIn),
        (Some(402), "", FailureKind::QuotaExhausted),
        (Some(400), "Your credit balance is too low", FailureKind::QuotaExhausted),
        (Some(429), "insufficient_quota", FailureKind::QuotaExhausted),
        (Some(429), "", limited),
        (Some(529), "", FailureKind::Overloaded),
        (Some(404), "not logged in", FailureKind::Other),
        (None, "Not logged in · Please run /login", FailureKind::NotLoggedIn),
        (None, "Claude usage limit reached", limited),
        (None, "Overloaded", FailureKind::Overloaded),
        (None, "stream disconnected before completion", FailureKind::ConnectionLost),
        (None, "something else", FailureKind::Other),
    ] {
        assert_eq!(FailureKind::from_model_error(status, text), expected, "{status:?} {text}");
    }
}

#[test]
fn a_failure_is_transient_or_needs_a_person_but_not_both() {
    assert!(FailureKind::NotLoggedIn.needs_person() && !FailureKind::NotLoggedIn.is_transient());
    assert!(FailureKind::Overloaded.is_transient() && !FailureKind::Overloaded.needs_person());
    assert!(!FailureKind::Crashed.is_transient() && !FailureKind::Crashed.needs_person());
}
