//! Instants as events have them: ISO 8601 with milliseconds.

use abide_core::time::Time;
use jiff::Timestamp;

/// An instant as text: `2026-01-01T00:00:00.000Z`.
#[must_use]
pub(crate) fn iso(at: Time) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// The instant of a text.
#[must_use]
pub(crate) fn from_iso(text: &str) -> Option<Time> {
    text.parse::<Timestamp>().ok().map(|at| Time(at.as_millisecond()))
}
