//! Queues: named streams of jobs with a policy.

use crate::job::JobState;
use crate::limits::JOB_ATTEMPTS;
use crate::retry::Backoff;
use serde::{Deserialize, Serialize};

/// What a queue does with its jobs. Concurrency and rate are the policy of the limit key `queue:{name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueuePolicy {
    /// Whether jobs start.
    pub paused: bool,
    /// Failures after which a job is a dead letter, unless the job says otherwise.
    pub max_attempts: u32,
    /// The wait between attempts, unless the job says otherwise.
    pub backoff: Backoff,
    /// How long finished jobs keep payload and history; none for ever.
    pub retain_ms: Option<i64>,
    /// How long dead letters are kept; none for ever.
    pub retain_failed_ms: Option<i64>,
    /// How long after a job's end its unique key is kept; none for ever.
    pub forget_keys_after_ms: Option<i64>,
}

impl Default for QueuePolicy {
    fn default() -> QueuePolicy {
        QueuePolicy {
            paused: false,
            max_attempts: JOB_ATTEMPTS,
            backoff: Backoff::JOB,
            retain_ms: Some(30 * 24 * 60 * 60 * 1000),
            retain_failed_ms: None,
            forget_keys_after_ms: None,
        }
    }
}

/// Jobs of a queue by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct QueueCounts {
    /// Waiting for their time.
    pub scheduled: u64,
    /// Could start now, or wait at a limit.
    pub ready: u64,
    /// Leased.
    pub running: u64,
    /// Done.
    pub done: u64,
    /// Ended without effect and without error.
    pub skipped: u64,
    /// Dead letters.
    pub failed: u64,
    /// Cancelled.
    pub cancelled: u64,
}

impl QueueCounts {
    /// How many are in a state.
    #[must_use]
    pub const fn of(&self, state: JobState) -> u64 {
        match state {
            JobState::Scheduled => self.scheduled,
            JobState::Ready => self.ready,
            JobState::Running => self.running,
            JobState::Done => self.done,
            JobState::Skipped => self.skipped,
            JobState::Failed => self.failed,
            JobState::Cancelled => self.cancelled,
        }
    }

    /// The count of a state.
    pub const fn of_mut(&mut self, state: JobState) -> &mut u64 {
        match state {
            JobState::Scheduled => &mut self.scheduled,
            JobState::Ready => &mut self.ready,
            JobState::Running => &mut self.running,
            JobState::Done => &mut self.done,
            JobState::Skipped => &mut self.skipped,
            JobState::Failed => &mut self.failed,
            JobState::Cancelled => &mut self.cancelled,
        }
    }
}
