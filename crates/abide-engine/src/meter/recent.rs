//! How many of something there were in the last minute.

use abide_core::time::Time;

/// Seconds that are kept apart.
const SECONDS: usize = 60;

/// A count for each of the last 60 seconds in which there was something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recent {
    /// The second, since 1970, with its count; at the place of the second modulo [`SECONDS`].
    seconds: [(i64, u64); SECONDS],
}

impl Default for Recent {
    fn default() -> Recent {
        Recent { seconds: [(i64::MIN, 0); SECONDS] }
    }
}

impl Recent {
    /// Notes one.
    pub(super) fn note(&mut self, at: Time) {
        let second = second_of(at);
        let place = usize::try_from(second.rem_euclid(SECONDS as i64)).expect("less than a minute");
        let (kept, count) = &mut self.seconds[place];
        if *kept != second {
            (*kept, *count) = (second, 0);
        }
        *count += 1;
    }

    /// How many there were in the minute before `now`.
    #[must_use]
    pub fn last_minute(&self, now: Time) -> u64 {
        self.within_a_minute(now).map(|(_, count)| count).sum()
    }

    /// How many there were in a second: over the last minute, or since the first one in it.
    #[must_use]
    pub fn rate(&self, now: Time) -> f64 {
        let Some(first) = self.within_a_minute(now).map(|(second, _)| second).min() else { return 0.0 };
        let ms = now.0 - first * 1_000;
        self.last_minute(now) as f64 * 1_000.0 / ms.max(1_000) as f64
    }

    fn within_a_minute(&self, now: Time) -> impl Iterator<Item = (i64, u64)> {
        let now = second_of(now);
        let is_recent = move |second: i64| second > now.saturating_sub(SECONDS as i64) && second <= now;
        self.seconds.iter().copied().filter(move |(second, _)| is_recent(*second))
    }
}

fn second_of(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::Recent;
    use abide_core::time::Time;

    #[test]
    fn a_minute_later_they_are_forgotten() {
        let mut recent = Recent::default();
        for at in [0, 999, 1_000, 30_000] {
            recent.note(Time(at));
        }
        let seen =
            [0, 1_000, 59_999, 60_000, 61_000, 89_999, 90_000].map(|now| recent.last_minute(Time(now)));
        assert_eq!(seen, [2, 3, 4, 2, 1, 1, 0]);
        recent.note(Time(60_000));
        assert_eq!(recent.last_minute(Time(60_000)), 3, "the place of second 0 is used again");
    }

    #[test]
    fn the_rate_is_told_from_the_first_seconds_on() {
        let mut recent = Recent::default();
        assert_eq!(recent.rate(Time(5_000)), 0.0);
        for at in (5_000..9_000).step_by(100) {
            recent.note(Time(at));
        }
        let seen = [5_500, 9_000, 15_000, 64_999, 65_000, 70_000].map(|now| recent.rate(Time(now)));
        assert_eq!(seen[1..3], [10.0, 4.0]);
        assert!(seen[3] > 0.6 && seen[4] > 0.5 && seen[5] == 0.0, "{seen:?}");
    }
}
