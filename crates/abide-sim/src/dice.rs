//! Chances, drawn from a seed.

use abide_core::seed::Seed;

/// A stream of chances, independent of the other streams of a run.
#[derive(Debug)]
pub(crate) struct Dice(Seed);

impl Dice {
    pub(crate) fn new(seed: Seed) -> Dice {
        Dice(seed)
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.0.below(times) == 0
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = u64::try_from(high.saturating_sub(low)).unwrap_or(0);
        low + i64::try_from(self.0.below(span + 1)).unwrap_or(0)
    }

    /// An index below `len`.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.0.below(len as u64) as usize
    }

    /// One of `choices`.
    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// A seed for something else.
    pub(crate) fn seed(&mut self) -> u64 {
        self.0.next_u64()
    }
}
