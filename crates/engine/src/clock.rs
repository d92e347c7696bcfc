//! The time, as the engine sees it: milliseconds since 1970 that never go back.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// A clock that stands still when the system's clock is set back.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    last: u64,
}

impl Clock {
    /// Makes a clock that begins no earlier than a time.
    pub fn from(last: u64) -> Self {
        Self { last }
    }

    /// Returns the time.
    pub fn now(&mut self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.last = self.last.max(u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
        self.last
    }
}

/// Returns the time in the form all files use: UTC, milliseconds, `Z`.
pub fn now_text() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Returns the date in UTC.
pub fn today() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Returns the time of day of a moment, where the user is: `14:03:07`.
pub fn time_of_day(at: u64) -> String {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let moment = moment.unwrap_or(Timestamp::UNIX_EPOCH);
    moment.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}
