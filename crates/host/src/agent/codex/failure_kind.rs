//! Translates Codex errors into a [`FailureKind`] and a one-line text.

use serde_json::Value;

use crate::agent::{FailureKind, one_line};

/// Returns the kind and the text of a turn's error.
pub(super) fn of_error(error: &Value) -> (FailureKind, String) {
    let text = error["message"].as_str().unwrap_or("no reason given");
    let details = error["additionalDetails"].as_str().unwrap_or_default();
    let line = one_line(format!("{text} {details}").trim());
    (kind(error, &line), line)
}

/// Returns the HTTP status that an error contains.
pub(super) fn status(error: &Value) -> Option<u16> {
    let cause = error["codexErrorInfo"].as_object()?.values().next()?;
    cause["httpStatusCode"].as_u64().and_then(|status| u16::try_from(status).ok())
}

fn kind(error: &Value, text: &str) -> FailureKind {
    let limited = FailureKind::RateLimited { retry_after_ms: None };
    let cause = &error["codexErrorInfo"];
    match cause.as_str() {
        Some("unauthorized") => FailureKind::NotLoggedIn,
        Some("usageLimitExceeded") => match FailureKind::from_model_error(None, text) {
            FailureKind::QuotaExhausted => FailureKind::QuotaExhausted,
            _ => limited,
        },
        Some("rateLimitExceeded") => limited,
        Some("sessionBudgetExceeded") => FailureKind::BudgetExceeded,
        Some(
            "serverOverloaded"
            | "flexUnavailable"
            | "policyCapacityUnavailable"
            | "internalServerError",
        ) => FailureKind::Overloaded,
        Some("other") | None => match (status(error), cause.is_object()) {
            (Some(status), _) => FailureKind::from_model_error(Some(status), text),
            (None, true) => FailureKind::ConnectionLost,
            (None, false) => FailureKind::from_model_error(status_in_text(text), text),
        },
        Some(_) => FailureKind::Other,
    }
}

/// Finds the HTTP status in a text such as `unexpected status 402 Payment Required`.
fn status_in_text(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
