//! Lanes: how jobs wait at a limit without a claim ever having to look at them.
//!
//! A lane is the jobs of one queue and kind that carry one limit key. A ready job is either *offered* (a claim sees it)
//! or *parked* under one key that blocks it (a claim does not). While a lane has parked jobs, either its key is full or
//! at least one job of the lane is offered, so nothing waits at a limit that has room.

use crate::limit::Room;

/// How many parked jobs of one lane are offered at most at a time.
pub const OFFERED: u64 = 1_000;

/// One lane's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lane {
    /// Ready jobs that a claim sees.
    pub offered: u64,
    /// Ready jobs that are parked under the key.
    pub parked: u64,
}

impl Lane {
    /// Whether a job that becomes ready has to park here.
    #[must_use]
    pub fn must_park(&self, room: Room) -> bool {
        match room {
            Room::Full(_) => true,
            Room::For(starts) => self.parked > 0 || self.offered >= u64::from(starts),
        }
    }

    /// Whether the first parked job is to be offered.
    #[must_use]
    pub fn should_offer(&self, room: Room) -> bool {
        match room {
            Room::Full(_) => false,
            Room::For(starts) => self.parked > 0 && self.offered < u64::from(starts).min(OFFERED),
        }
    }
}
