//! Instants and the clock that gives them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An instant: milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// The first instant.
    pub const ZERO: Time = Time(0);
    /// Later than everything.
    pub const MAX: Time = Time(i64::MAX);

    /// This instant moved by `ms`, without overflow.
    #[must_use]
    pub const fn plus_ms(self, ms: i64) -> Time {
        Time(self.0.saturating_add(ms))
    }

    /// Milliseconds from `earlier` to this instant; negative if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where the present comes from. The engine's `clock.rs` holds the one that reads the machine's.
pub trait Clock: Send + Sync {
    /// Wall time.
    fn now(&self) -> Time;
    /// Milliseconds that never run backwards, from an arbitrary start; compared with [`Clock::now`] to see jumps.
    fn elapsed_ms(&self) -> i64;
    /// The same in microseconds, as fine as the clock has it.
    fn elapsed_us(&self) -> i64 {
        self.elapsed_ms().saturating_mul(1_000)
    }
}

/// The earlier of two instants that may be missing.
#[must_use]
pub fn earliest(a: Option<Time>, b: Option<Time>) -> Option<Time> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (Some(t), None) | (None, Some(t)) => Some(t),
        (None, None) => None,
    }
}
