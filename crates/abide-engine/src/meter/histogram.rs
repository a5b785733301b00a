//! How many of something were how large.

/// Upper bounds of times, in microseconds: 100 µs to 1 h.
pub(super) const TIMES_US: &[u64] = &[
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
    3_600_000_000,
];
/// Upper bounds of sizes.
pub(super) const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048];

/// A histogram with fixed bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is past the last.
    counts: Vec<u64>,
    sum: u64,
}

impl Histogram {
    /// An empty one of times.
    #[must_use]
    pub fn of_times() -> Histogram {
        Histogram::new(TIMES_US)
    }

    /// An empty one of sizes.
    #[must_use]
    pub fn of_sizes() -> Histogram {
        Histogram::new(SIZES)
    }

    fn new(bounds: &'static [u64]) -> Histogram {
        Histogram { bounds, counts: vec![0; bounds.len() + 1], sum: 0 }
    }

    /// Notes one.
    pub fn note(&mut self, value: u64) {
        let place = self.bounds.partition_point(|bound| *bound < value);
        self.counts[place] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// Notes a time in milliseconds; one that is negative counts as none.
    pub fn note_ms(&mut self, ms: i64) {
        self.note(u64::try_from(ms).unwrap_or(0).saturating_mul(1_000));
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How much they were together.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Each bound with how many were at most that large.
    pub fn cumulative(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bounds.iter().zip(&self.counts).scan(0, |so_far, (bound, count)| {
            *so_far += count;
            Some((*bound, *so_far))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Histogram;

    #[test]
    fn a_value_counts_at_the_first_bound_that_is_not_smaller() {
        let mut sizes = Histogram::of_sizes();
        for value in [0, 1, 2, 3, 2_048, 2_049] {
            sizes.note(value);
        }
        let up_to: Vec<(u64, u64)> = sizes.cumulative().collect();
        assert_eq!(up_to[..3], [(1, 2), (2, 3), (4, 4)]);
        assert_eq!(up_to.last(), Some(&(2_048, 5)));
        assert_eq!((sizes.count(), sizes.sum()), (6, 4_103));
    }
}
