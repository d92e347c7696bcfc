//! What went wrong in Codex's words, and what that is in ours.

use serde_json::Value;

use crate::agent::{Trouble, one_line};

/// Judges the error of a turn.
pub(super) fn of_error(error: &Value) -> (Trouble, String) {
    let text = error["message"].as_str().unwrap_or("no reason given");
    let details = error["additionalDetails"].as_str().unwrap_or_default();
    let said = one_line(format!("{text} {details}").trim());
    (kind(error, &said), said)
}

/// Returns the HTTP status that an error tells of.
pub(super) fn status(error: &Value) -> Option<u16> {
    let cause = error["codexErrorInfo"].as_object()?.values().next()?;
    cause["httpStatusCode"].as_u64().and_then(|status| u16::try_from(status).ok())
}

fn kind(error: &Value, said: &str) -> Trouble {
    let limited = Trouble::RateLimited { retry_after_ms: None };
    let cause = &error["codexErrorInfo"];
    match cause.as_str() {
        Some("unauthorized") => Trouble::Login,
        Some("usageLimitExceeded") => match Trouble::of_answer(None, said) {
            Trouble::Quota => Trouble::Quota,
            _ => limited,
        },
        Some("rateLimitExceeded") => limited,
        Some("sessionBudgetExceeded") => Trouble::Budget,
        Some(
            "serverOverloaded"
            | "flexUnavailable"
            | "policyCapacityUnavailable"
            | "internalServerError",
        ) => Trouble::Overloaded,
        Some("other") | None => match (status(error), cause.is_object()) {
            (Some(status), _) => Trouble::of_answer(Some(status), said),
            (None, true) => Trouble::Cut,
            (None, false) => Trouble::of_answer(said_status(said), said),
        },
        Some(_) => Trouble::Other,
    }
}

/// Finds the status in words such as `unexpected status 402 Payment Required`.
fn said_status(said: &str) -> Option<u16> {
    let (_, rest) = said.split_once("status ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
