//! Retry: how long to wait before the next attempt.

use crate::seed::Seed;
use serde::{Deserialize, Serialize};

/// Exponential backoff with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backoff {
    /// Before the second attempt.
    pub base_ms: i64,
    /// Never longer than this.
    pub cap_ms: i64,
}

impl Backoff {
    /// What a queue without a policy of its own does: 1 s, doubling, up to 10 min.
    pub const JOB: Backoff = Backoff { base_ms: 1_000, cap_ms: 600_000 };
    /// What a failed turn does: 2 s, doubling.
    pub const TURN: Backoff = Backoff { base_ms: 2_000, cap_ms: 600_000 };

    /// The wait after the `failures`-th failure (1 for the first): base · 2^(failures−1), capped, then moved by up to a
    /// tenth of itself either way.
    #[must_use]
    pub fn delay_ms(&self, failures: u32, seed: &mut Seed) -> i64 {
        let doublings = failures.saturating_sub(1).min(40);
        let base = self.base_ms.max(0);
        let whole = base.saturating_mul(1_i64 << doublings).min(self.cap_ms.max(0));
        let tenth = whole / 10;
        let moved = i64::try_from(seed.below(2 * tenth.unsigned_abs() + 1)).unwrap_or(0) - tenth;
        (whole + moved).min(self.cap_ms.max(0)).max(0)
    }
}
