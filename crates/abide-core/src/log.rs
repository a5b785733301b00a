//! Logs: an append-only sequence of entries that an object owns.

use crate::json::Json;
use crate::limits::LOG_PAGE_BYTES;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// The place of an entry in its log: 1, 2, 3 … without gaps. As a cursor: the last entry that was seen, 0 for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub i64);

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Its place.
    pub seq: Seq,
    /// When the turn that appended it ran.
    pub at: Time,
    /// What it says.
    pub value: Json,
}

/// Counts the bytes of a page of entries while it is filled.
#[derive(Debug, Default)]
pub struct PageBytes {
    bytes: usize,
}

impl PageBytes {
    /// Whether this entry still belongs to the page. The first one always does.
    pub fn takes(&mut self, entry: &LogEntry) -> bool {
        let is_first = self.bytes == 0;
        self.bytes += entry.value.len();
        is_first || self.bytes <= LOG_PAGE_BYTES
    }
}
