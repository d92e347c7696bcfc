//! The time, as the engine sees it: milliseconds since 1970 that never go back.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// A clock that was set once and goes on by itself: whoever sets the system's clock meanwhile, back
/// or forth, changes neither the order of events nor how long anything may take.
#[derive(Clone, Debug)]
pub struct Clock {
    set_to: u64,
    set_at: Instant,
}

impl Default for Clock {
    fn default() -> Self {
        Self::from(0)
    }
}

impl Clock {
    /// Sets a clock to the system's time, but no earlier than a time that was written down before.
    pub fn from(last: u64) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let set_to = last.max(millis(since));
        Self { set_to, set_at: Instant::now() }
    }

    /// Returns the time.
    pub fn now(&self) -> u64 {
        self.set_to.saturating_add(millis(self.set_at.elapsed()))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
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

#[cfg(test)]
mod tests;
