//! Provides the time in milliseconds since 1970, and formats it.
//!
//! [`Clock`] never goes back, even when the system clock is set back.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// A monotonic clock that reads the system's time once, when it is created.
///
/// Setting the system clock later changes neither the order of events nor any timeout.
#[derive(Clone, Debug)]
pub struct Clock {
    set_to: u64,
    set_at: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self::not_before(0)
    }
}

impl Clock {
    /// Creates a clock at the system's time, but not before `last`, the time of the last record.
    pub fn not_before(last: u64) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let set_to = last.max(millis(since));
        Self { set_to, set_at: Instant::now() }
    }

    /// Returns the time in milliseconds since 1970.
    pub fn now(&self) -> u64 {
        self.set_to.saturating_add(millis(self.set_at.elapsed()))
    }
}

/// The format of times in all files: UTC with milliseconds and `Z`.
const TIME_FORMAT: &str = "%Y-%m-%dT%H:%M:%S.%3fZ";

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the time in the format of all files: UTC with milliseconds and `Z`.
pub fn now_text() -> String {
    Timestamp::now().strftime(TIME_FORMAT).to_string()
}

/// Formats milliseconds since 1970 like [`now_text`].
pub fn time_text(at: u64) -> String {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    moment.unwrap_or(Timestamp::UNIX_EPOCH).strftime(TIME_FORMAT).to_string()
}

/// Parses a time in the format of [`now_text`] into milliseconds since 1970.
pub fn parse_time(text: &str) -> Option<u64> {
    u64::try_from(text.parse::<Timestamp>().ok()?.as_millisecond()).ok()
}

/// Formats milliseconds since 1970 like [`now_text`].
pub fn utc_text(at: u64) -> String {
    moment(at).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// Returns the date in UTC: `2026-07-14`.
pub fn today() -> String {
    Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// Returns the time of day in UTC without seconds, from milliseconds since 1970: `14:03`.
pub(crate) fn utc_minute(at: u64) -> String {
    moment(at).strftime("%H:%M").to_string()
}

/// Returns the time of day in the local time zone, from milliseconds since 1970: `14:03:07`.
pub fn time_of_day(at: u64) -> String {
    moment(at).to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string()
}

fn moment(at: u64) -> Timestamp {
    let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    moment.unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
