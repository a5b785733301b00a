//! `Retry-After`: seconds, or a date.

use crate::limits::RETRY_AFTER_MS;
use abide_core::time::Time;
use std::time::{Duration, UNIX_EPOCH};

/// How long a server asks to be left alone, at most [`RETRY_AFTER_MS`]. Nothing if the value cannot be read, is zero, or
/// names an instant that has passed.
#[must_use]
pub fn retry_after_ms(value: &str, now: Time) -> Option<i64> {
    let value = value.trim();
    let wait_ms = match value.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => (seconds * 1000.0).ceil() as i64,
        Ok(_) => return None,
        Err(_) => {
            let at = httpdate::parse_http_date(value).ok()?;
            let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX).saturating_sub(now.0)
        }
    };
    (wait_ms > 0).then_some(wait_ms.min(RETRY_AFTER_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read_and_capped() {
        // 2026-01-01 00:00:00 UTC
        let now = Time(1_767_225_600_000);
        for (value, expected) in [
            ("1", Some(1_000)),
            (" 120 ", Some(120_000)),
            ("0.25", Some(250)),
            ("900", Some(900_000)),
            ("901", Some(900_000)),
            ("1e300", Some(900_000)),
            ("0", None),
            ("-5", None),
            ("inf", None),
            ("NaN", None),
            ("", None),
            ("soon", None),
            ("Thu, 01 Jan 2026 00:00:30 GMT", Some(30_000)),
            ("Thursday, 01-Jan-26 00:00:30 GMT", Some(30_000)),
            ("Thu Jan  1 00:00:30 2026", Some(30_000)),
            ("Thu, 01 Jan 2026 01:00:00 GMT", Some(900_000)),
            ("Thu, 01 Jan 2026 00:00:00 GMT", None),
            ("Wed, 31 Dec 2025 23:59:59 GMT", None),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(900_000)),
        ] {
            assert_eq!(retry_after_ms(value, now), expected, "{value:?}");
        }
    }
}
