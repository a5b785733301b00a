//! `Content-Range`: which bytes of a file a reply has.

use reqwest::header::{CONTENT_RANGE, HeaderMap};

/// `Content-Range: bytes 100-199/200`.
pub(crate) struct ContentRange {
    pub(crate) first: u64,
    last: u64,
    /// Not for `*`.
    total: Option<u64>,
}

impl ContentRange {
    /// That of a reply, if it says so in a way that can be understood.
    pub(crate) fn of(headers: &HeaderMap) -> Option<ContentRange> {
        let value = headers.get(CONTENT_RANGE)?.to_str().ok()?.trim();
        let (range, total) = value.strip_prefix("bytes ")?.trim().split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let total = match total.trim() {
            "*" => None,
            total => Some(total.parse().ok()?),
        };
        Some(ContentRange { first: first.trim().parse().ok()?, last: last.trim().parse().ok()?, total })
    }

    /// Bytes in all, if it is all that is missing behind `offset`, of a file with `total` bytes. Of a file of which nobody knows
    /// how long it is, anything could be missing.
    pub(crate) fn total_if_rest(&self, offset: u64, total: Option<u64>) -> Option<u64> {
        let end = self.last.checked_add(1)?;
        let whole = self.total.or(total)?;
        let is_rest = self.first == offset && self.first <= self.last;
        (is_rest && whole == end && total.is_none_or(|total| total == end)).then_some(end)
    }
}
