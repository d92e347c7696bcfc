//! Parses and formats durations as people write them: `12 min`, `1h 5m`, `90s`, `7`.

#[cfg(test)]
mod tests;

/// The longest accepted duration in minutes; a larger number is an error in the text.
const MINUTES_MAX: f64 = 1e9;

/// Parses a duration and rounds it to whole minutes; a number without a unit is minutes.
pub fn parse_minutes(text: &str) -> Option<u64> {
    Some(parse(text)?.round() as u64)
}

/// Parses a duration and rounds it to whole seconds; a number without a unit is minutes.
pub fn parse_seconds(text: &str) -> Option<u64> {
    Some((parse(text)? * 60.0).round() as u64)
}

/// Formats a duration exactly: `12s`, `5min`, `1h 5min 3s`.
pub fn format_seconds(seconds: u64) -> String {
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let parts = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}"));
    let text = parts.collect::<Vec<_>>().join(" ");
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Parses a duration in minutes.
fn parse(text: &str) -> Option<f64> {
    let mut rest = text.trim().trim_start_matches('~').trim_start();
    let mut minutes = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        let after = rest[digits..].trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        minutes += number * minutes_per(&after[..letters].to_ascii_lowercase())?;
        rest = after[letters..].trim_start_matches([' ', ',']);
    }
    let is_duration = !text.trim().is_empty() && (0.0..=MINUTES_MAX).contains(&minutes);
    is_duration.then_some(minutes)
}

fn minutes_per(unit: &str) -> Option<f64> {
    match unit {
        "d" | "day" | "days" => Some(1440.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(60.0),
        "" | "m" | "min" | "mins" | "minute" | "minutes" => Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0 / 60.0),
        _ => None,
    }
}
