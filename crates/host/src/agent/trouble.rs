//! The ways in which an agent fails, told apart by what to do about them.

use serde::{Deserialize, Serialize};

/// Why an agent did not do its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trouble {
    /// It is not logged in, or its key is refused.
    Login,
    /// There is no money or allowance left.
    Quota,
    /// Its model takes no more requests for a while.
    RateLimited {
        /// For how long, if that was said.
        retry_after_ms: Option<u64>,
    },
    /// Its model is overloaded or out of order.
    Overloaded,
    /// It spent what it may.
    Budget,
    /// It went to its model as often as it may.
    Turns,
    /// The answer of its model broke off.
    Cut,
    /// It ended without saying how it went.
    NoResult,
    /// It says what nobody understands.
    Garbage,
    /// It says too much.
    Flood,
    /// The program is not there.
    NotInstalled,
    /// It was killed, or ended with an error.
    Crashed,
    /// It took longer than it may.
    TimedOut,
    /// It does not know the session that was to be resumed.
    SessionUnknown,
    /// Something else; the text says what.
    Other,
}

impl Trouble {
    /// Returns whether no further run can succeed until a person has done something.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Login | Self::Quota | Self::NotInstalled)
    }

    /// Returns whether it goes away by waiting.
    pub fn is_passing(self) -> bool {
        matches!(self, Self::RateLimited { .. } | Self::Overloaded | Self::Cut)
    }

    /// Judges what a model answered: the status, and what was said in the agent's or its own words.
    pub(super) fn of_answer(status: Option<u16>, said: &str) -> Self {
        let said = said.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let no_money = ["credit balance", "insufficient_quota", "billing", "exceeded your current"];
        let no_key = ["not logged in", "/login", "authenticat", "unauthorized", "api key"];
        let too_often = ["rate limit", "rate_limit", "usage limit", "too many requests"];
        let broken = ["overloaded", "at capacity", "server_error"];
        let cut = ["connection", "disconnected", "stream", "timed out", "network"];
        match status {
            Some(402) => Self::Quota,
            _ if says(&no_money) => Self::Quota,
            Some(401 | 403) => Self::Login,
            Some(429) => Self::RateLimited { retry_after_ms: None },
            Some(500..=599) => Self::Overloaded,
            None if says(&no_key) => Self::Login,
            None if says(&too_often) => Self::RateLimited { retry_after_ms: None },
            None if says(&broken) => Self::Overloaded,
            None if says(&cut) => Self::Cut,
            _ => Self::Other,
        }
    }
}
