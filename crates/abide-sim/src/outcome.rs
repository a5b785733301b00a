//! What a run comes to: a report, or a failure that says which promise was broken.

use crate::counts::Counts;
use crate::plan::Plan;
use std::fmt;

/// A run in which every promise was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Events that happened.
    pub events: u64,
    /// Engines that died.
    pub crashes: u64,
    /// How long it took in the world's own time.
    pub virtual_ms: i64,
    /// A digest of the history: the same for the same seed and plan.
    pub digest: u64,
    /// How often each fault and transition happened.
    pub counts: Counts,
    /// The history, if the plan asks for it.
    pub lines: Vec<String>,
}

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{promise}: {what}")]
pub struct Violation {
    /// Which promise.
    pub promise: &'static str,
    /// What was seen instead.
    pub what: String,
}

/// Says so if something that must be true is not.
pub(crate) fn holds(
    promise: &'static str,
    is_true: bool,
    what: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if is_true { Ok(()) } else { Err(Violation { promise, what: what() }) }
}

/// A run in which a promise was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The plan that it failed with.
    pub plan: Box<Plan>,
    /// What was broken.
    pub violation: Violation,
    /// Events up to then.
    pub events: u64,
    /// The history, if the plan asks for it.
    pub lines: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, plan, violation, events, lines: _ } = self;
        writeln!(f, "seed {seed} failed after {events} events: {violation}")?;
        write!(f, "run it again with: {}", plan.replay_command(*seed))
    }
}

impl std::error::Error for Failure {}
