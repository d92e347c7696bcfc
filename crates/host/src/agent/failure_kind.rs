//! The kinds of agent failure, distinguished by what has to be done about each.

use serde::{Deserialize, Serialize};

/// Why an agent did not finish its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// The agent is not logged in, or its key is refused.
    #[serde(rename = "login")]
    NotLoggedIn,
    /// The account has no credit or allowance left.
    #[serde(rename = "quota")]
    QuotaExhausted,
    /// The model accepts no more requests for a while.
    RateLimited {
        /// For how many milliseconds; `None` when the agent did not say.
        retry_after_ms: Option<u64>,
    },
    /// The model is overloaded or out of order.
    Overloaded,
    /// The agent reached its limit of dollars or tokens.
    #[serde(rename = "budget")]
    BudgetExceeded,
    /// The agent reached its limit of model requests.
    #[serde(rename = "turns")]
    TurnLimitReached,
    /// The connection to the model broke during an answer.
    #[serde(rename = "cut")]
    ConnectionLost,
    /// The agent exited without a result.
    NoResult,
    /// The agent printed too many lines that are not JSON.
    #[serde(rename = "garbage")]
    InvalidOutput,
    /// The agent exceeded the limit of a line or of its whole output.
    #[serde(rename = "flood")]
    TooMuchOutput,
    /// The agent's program does not exist.
    NotInstalled,
    /// The agent was killed, or exited with an error.
    Crashed,
    /// The agent exceeded its time limit.
    TimedOut,
    /// The agent does not know the session that it should resume.
    SessionUnknown,
    /// Something else; the text says what.
    Other,
}

impl FailureKind {
    /// Returns whether no further run can succeed until a person has done something.
    pub fn needs_person(self) -> bool {
        matches!(self, Self::NotLoggedIn | Self::QuotaExhausted | Self::NotInstalled)
    }

    /// Returns whether waiting can resolve the failure.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded | Self::ConnectionLost)
    }

    /// Classifies a failed model request by its HTTP status and the text that the agent or model gave.
    pub(super) fn from_model_error(status: Option<u16>, text: &str) -> Self {
        let text = text.to_lowercase();
        let mentions = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let quota_words =
            ["credit balance", "insufficient_quota", "billing", "exceeded your current"];
        let login_words = ["not logged in", "/login", "authenticat", "unauthorized", "api key"];
        let rate_words = ["rate limit", "rate_limit", "usage limit", "too many requests"];
        let overload_words = ["overloaded", "at capacity", "server_error"];
        let connection_words = ["connection", "disconnected", "stream", "timed out", "network"];
        match status {
            Some(402) => Self::QuotaExhausted,
            _ if mentions(&quota_words) => Self::QuotaExhausted,
            Some(401 | 403) => Self::NotLoggedIn,
            Some(429) => Self::RateLimited { retry_after_ms: None },
            Some(500..=599) => Self::Overloaded,
            None if mentions(&login_words) => Self::NotLoggedIn,
            None if mentions(&rate_words) => Self::RateLimited { retry_after_ms: None },
            None if mentions(&overload_words) => Self::Overloaded,
            None if mentions(&connection_words) => Self::ConnectionLost,
            _ => Self::Other,
        }
    }
}
