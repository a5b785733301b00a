//! Times as people write them.

use abide_core::time::{Clock, Time};
use abide_engine::clock::SystemClock;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// An instant, the beginning of a day in UTC, or how long ago.
pub(super) fn when(text: &str) -> Result<Time, String> {
    at(text, SystemClock::new().now()).ok_or_else(|| {
        format!("{text:?} is no time: give one such as 2026-01-31T12:00:00Z, 2026-01-31 or 2h")
    })
}

fn at(text: &str, now: Time) -> Option<Time> {
    let text = text.trim();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Some(Time(instant.as_millisecond()));
    }
    if let Ok(date) = text.parse::<Date>() {
        return Some(Time(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond()));
    }
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit_seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    let ago = SignedDuration::from_secs(number.parse::<i64>().ok()?.checked_mul(unit_seconds)?);
    Some(Time(now.0.checked_sub(i64::try_from(ago.as_millis()).ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::at;
    use abide_core::time::Time;

    #[test]
    fn a_time_is_an_instant_a_date_or_an_age() {
        let now = Time(1_000_000_000_000);
        for (text, expected) in [
            ("1970-01-01T00:00:01Z", Some(1_000)),
            ("1970-01-01T01:00:01.5+01:00", Some(1_500)),
            ("1970-01-02", Some(86_400_000)),
            ("90s", Some(now.0 - 90_000)),
            ("15m", Some(now.0 - 900_000)),
            ("2h", Some(now.0 - 7_200_000)),
            ("7d", Some(now.0 - 604_800_000)),
            ("", None),
            ("2", None),
            ("h", None),
            ("2y", None),
            ("yesterday", None),
            ("99999999999999999d", None),
        ] {
            assert_eq!(at(text, now), expected.map(Time), "{text}");
        }
    }
}
