//! A batch's state: one small row, written with every task that it counts.

use abide_core::time::Time;
use abide_engine::Record;
use serde::{Deserialize, Serialize};

/// Where a batch is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Its manifest is being read; so many files have come.
    Loading {
        /// How many.
        have: u64,
    },
    /// Tasks of this phase run.
    Phase {
        /// Its place in the chain.
        index: usize,
    },
    /// Every task is over.
    Done,
    /// It has ended for this reason, and only a new message begins it again.
    Error {
        /// Why.
        error: String,
        /// The phase that ran then, if that is known.
        #[serde(default)]
        phase: Option<usize>,
    },
}

/// What became of the delivery of a finished batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// It is tried.
    Pending,
    /// It was taken.
    Delivered,
    /// It was given up; its job can be retried.
    Dead,
}

/// Tasks of one phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// All.
    pub total: u64,
    /// Completed.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// With launchers.
    pub live: u64,
    /// Of these, those that a worker has begun; the others wait for a place.
    #[serde(default)]
    pub begun: u64,
}

impl Counts {
    /// Whether all are over.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.completed + self.failed == self.total
    }

    /// Those that nobody has begun yet.
    #[must_use]
    pub const fn waiting(&self) -> u64 {
        self.total - self.completed - self.failed - self.live
    }
}

/// Inputs by how they ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// All.
    pub total: u64,
    /// Tasks about them are not over.
    pub open: u64,
    /// Converted.
    pub converted: u64,
    /// Taken by no phase.
    pub passed_through: u64,
    /// Failed.
    pub failed: u64,
}

impl Ledger {
    /// The count of an end.
    pub(crate) fn of(&mut self, end: &crate::file::InputEnd) -> &mut u64 {
        use crate::file::InputEnd;
        match end {
            InputEnd::Open => &mut self.open,
            InputEnd::Converted => &mut self.converted,
            InputEnd::PassedThrough { .. } => &mut self.passed_through,
            InputEnd::Failed { .. } => &mut self.failed,
        }
    }
}

/// The row `batch`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Where it is.
    #[serde(flatten)]
    pub step: Step,
    /// What the keys of its files begin with.
    pub prefix: String,
    /// When its message came.
    pub started_at: Time,
    /// When something last changed.
    pub updated_at: Time,
    /// When it was done.
    pub completed_at: Option<Time>,
    /// Tasks by phase.
    pub counts: Vec<Counts>,
    /// Inputs.
    pub ledger: Ledger,
    /// Failures of the phase itself, one after the other.
    pub phase_retry_count: u32,
    /// Nothing is begun before this.
    pub paused_until: Option<Time>,
    /// A message to itself says to begin tasks.
    pub ticking: bool,
    /// How often it was finished: each time is delivered.
    pub finishes: u32,
    /// What became of the last delivery.
    pub delivery: Option<Delivery>,
    /// Whether ids of assets follow from the batch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stable_assets: bool,
    /// Whether its manifest has entities of directories.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_tree: bool,
    /// Whether its staging was emptied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_swept: bool,
}

impl Record for State {}

impl State {
    /// That of a batch whose message just came.
    #[must_use]
    pub fn new(phases: usize, prefix: String, now: Time) -> State {
        State {
            step: Step::Loading { have: 0 },
            prefix,
            started_at: now,
            updated_at: now,
            completed_at: None,
            counts: vec![Counts::default(); phases],
            ledger: Ledger::default(),
            phase_retry_count: 0,
            paused_until: None,
            ticking: false,
            finishes: 0,
            delivery: None,
            stable_assets: false,
            has_tree: false,
            is_swept: false,
        }
    }

    /// The first phase whose tasks are not all over.
    #[must_use]
    pub fn unfinished(&self) -> Option<usize> {
        self.counts.iter().position(|counts| !counts.is_over())
    }

    /// Which phase's tasks people are told of: the one that runs, or the last that had any.
    #[must_use]
    pub fn shown(&self) -> usize {
        match self.step {
            Step::Phase { index } => index,
            Step::Error { phase: Some(index), .. } => index,
            Step::Loading { .. } => 0,
            Step::Done | Step::Error { phase: None, .. } => {
                self.counts.iter().rposition(|counts| counts.total > 0).unwrap_or(0)
            }
        }
    }
}
