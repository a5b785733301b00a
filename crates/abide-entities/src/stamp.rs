//! Times as manifests have them.

use jiff::Timestamp;

/// An instant as text: `2025-01-01T00:00:00.000Z`.
#[must_use]
pub fn stamp(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
