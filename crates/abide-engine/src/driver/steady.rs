//! Time for an engine: wall time that never stands still for long and never runs backwards.

use abide_core::limits::CLOCK_JUMP_MS;
use abide_core::time::{Clock, Time};
use std::sync::Arc;

/// Wall time plus what is needed to go on from the latest time that was ever used.
pub(super) struct Steady {
    clock: Arc<dyn Clock>,
    /// Added to wall time: it was set back, or the store has seen later times.
    ahead_ms: i64,
    wall: Time,
    elapsed_ms: i64,
    latest: Time,
}

impl Steady {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Steady {
        let (wall, elapsed_ms) = (clock.now(), clock.elapsed_ms());
        Steady { clock, ahead_ms: 0, wall, elapsed_ms, latest: wall }
    }

    /// The present, and by how much the clock jumped since it was last asked, if it did.
    pub(super) fn now(&mut self) -> (Time, Option<i64>) {
        let (wall, elapsed_ms) = (self.clock.now(), self.clock.elapsed_ms());
        let jump = wall.since(self.wall) - (elapsed_ms - self.elapsed_ms);
        (self.wall, self.elapsed_ms) = (wall, elapsed_ms);
        let jumped = (jump.abs() > CLOCK_JUMP_MS).then_some(jump);
        if let Some(jump) = jumped {
            self.ahead_ms = (self.ahead_ms - jump).max(0);
        }
        self.latest = self.latest.max(wall.plus_ms(self.ahead_ms));
        (self.latest, jumped)
    }

    /// What it reads.
    pub(super) fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// How far the present is ahead of wall time.
    pub(super) fn ahead_ms(&self) -> i64 {
        self.ahead_ms
    }

    /// The store has used this time. If it is far ahead, time goes on from there instead of standing still.
    pub(super) fn seen(&mut self, at: Time) {
        let ahead = at.since(self.latest);
        if ahead > CLOCK_JUMP_MS {
            self.ahead_ms += ahead;
        }
        self.latest = self.latest.max(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Wall time and elapsed time, set by hand.
    struct Fake(Mutex<(i64, i64)>);

    impl Clock for Fake {
        fn now(&self) -> Time {
            Time(self.0.lock().unwrap().0)
        }
        fn elapsed_ms(&self) -> i64 {
            self.0.lock().unwrap().1
        }
    }

    /// Each step: wall time, elapsed time, and the present and jump that come of it.
    fn check(steps: &[(i64, i64, i64, Option<i64>)]) {
        let fake = Arc::new(Fake(Mutex::new((100_000, 0))));
        let mut steady = Steady::new(fake.clone());
        for (wall, elapsed, now, jump) in steps {
            *fake.0.lock().unwrap() = (*wall, *elapsed);
            assert_eq!(steady.now(), (Time(*now), *jump), "at wall {wall}, elapsed {elapsed}");
        }
    }

    #[test]
    fn ordinary_time_is_wall_time() {
        check(&[(101_000, 1_000, 101_000, None), (101_500, 1_500, 101_500, None)]);
    }

    #[test]
    fn a_clock_set_back_a_little_stands_still_and_one_set_back_far_goes_on() {
        check(&[(98_000, 500, 100_000, None), (100_500, 3_000, 100_500, None)]);
        check(&[(40_000, 1_000, 101_000, Some(-61_000)), (41_000, 2_000, 102_000, None)]);
    }

    #[test]
    fn a_clock_set_forward_is_believed() {
        check(&[(200_000, 1_000, 200_000, Some(99_000)), (201_000, 2_000, 201_000, None)]);
        check(&[(40_000, 1_000, 101_000, Some(-61_000)), (102_000, 2_000, 102_000, Some(61_000))]);
    }

    #[test]
    fn time_goes_on_from_what_the_store_has_seen() {
        let fake = Arc::new(Fake(Mutex::new((100_000, 0))));
        let mut steady = Steady::new(fake.clone());
        steady.seen(Time(500_000));
        *fake.0.lock().unwrap() = (101_000, 1_000);
        assert_eq!(steady.now().0, Time(501_000));
    }
}
