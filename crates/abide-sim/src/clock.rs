//! The clock of one engine: skewed, jumping, and made steady the way the engine's driver does it.

use abide_core::limits::CLOCK_JUMP_MS;
use abide_core::time::Time;

/// Wall time of one engine.
#[derive(Debug)]
pub(crate) struct NodeClock {
    /// How far its wall clock is from the world's time.
    skew_ms: i64,
    /// Added to wall time: it was set back, or the store has seen later times.
    ahead_ms: i64,
    latest: Time,
}

impl NodeClock {
    pub(crate) fn new(skew_ms: i64, world: Time) -> NodeClock {
        NodeClock { skew_ms, ahead_ms: 0, latest: world.plus_ms(skew_ms) }
    }

    /// The engine's present.
    pub(crate) fn now(&mut self, world: Time) -> Time {
        self.latest = self.latest.max(world.plus_ms(self.skew_ms + self.ahead_ms));
        self.latest
    }

    /// The wall clock is set. Whether that is far enough to count as a jump.
    pub(crate) fn jump(&mut self, by_ms: i64) -> bool {
        self.skew_ms += by_ms;
        let jumped = by_ms.abs() > CLOCK_JUMP_MS;
        if jumped {
            self.ahead_ms = (self.ahead_ms - by_ms).max(0);
        }
        jumped
    }

    /// The store has used this time. If it is far ahead, time goes on from there instead of standing still.
    pub(crate) fn seen(&mut self, at: Time) {
        let ahead = at.since(self.latest);
        if ahead > CLOCK_JUMP_MS {
            self.ahead_ms += ahead;
        }
        self.latest = self.latest.max(at);
    }

    /// How long until this clock shows `at`, if it goes on as it does.
    pub(crate) fn until(&mut self, world: Time, at: Time) -> i64 {
        self.now(world);
        at.since(world.plus_ms(self.skew_ms + self.ahead_ms)).max(0)
    }
}
