//! How many jobs of a queue are in which state, in the words of people who run queues.

use serde::{Deserialize, Serialize};

use crate::reach::{Client, Path, ReachError};

/// A queue as the server counts it.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct QueueDocument {
    pub(super) policy: PolicyDocument,
    pub(super) counts: EngineCounts,
    /// Jobs that ended in a second, lately.
    pub(super) rate: f64,
}

/// What matters here of a queue's policy.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(super) struct PolicyDocument {
    pub(super) paused: bool,
}

/// By the engine's states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub(super) struct EngineCounts {
    scheduled: u64,
    ready: u64,
    running: u64,
    done: u64,
    skipped: u64,
    failed: u64,
    cancelled: u64,
}

/// By the states that people know. `total` is the sum of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Scheduled, ready, or waiting at a limit.
    pub(super) queued: u64,
    /// With a worker.
    pub(super) in_progress: u64,
    pub(super) done: u64,
    pub(super) skipped: u64,
    /// Used up its attempts.
    pub(super) error: u64,
    pub(super) cancelled: u64,
    pub(super) total: u64,
}

impl From<EngineCounts> for Counts {
    fn from(counts: EngineCounts) -> Counts {
        let EngineCounts { scheduled, ready, running, done, skipped, failed, cancelled } = counts;
        Counts {
            queued: scheduled + ready,
            in_progress: running,
            done,
            skipped,
            error: failed,
            cancelled,
            total: scheduled + ready + running + done + skipped + failed + cancelled,
        }
    }
}

impl Counts {
    /// Jobs that are not over.
    pub(super) fn left(&self) -> u64 {
        self.queued + self.in_progress
    }
}

/// The queue now. One that nobody has used or set is empty.
pub(super) async fn read(client: &Client, queue: &str) -> Result<QueueDocument, ReachError> {
    match client.get(&Path::v1(["queues", queue])).await {
        Err(ReachError::Refused { code, .. }) if code == "unknown_queue" => Ok(QueueDocument {
            policy: PolicyDocument::default(),
            counts: EngineCounts::default(),
            rate: 0.0,
        }),
        answer => answer,
    }
}
