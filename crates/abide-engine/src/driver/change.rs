//! What became durable, as people who watch see it.

use abide_core::dead::DeadId;
use abide_core::name::QueueName;
use abide_core::object::{ObjectKey, Version};
use abide_core::time::Time;
use abide_store::write::{Batch, JobMove, Write, Written};
use std::sync::Arc;

/// Something changed, and it is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A job went from one state to another.
    Job(JobMove),
    /// An object was committed.
    Object {
        /// Which.
        object: ObjectKey,
        /// Its version; none if it was deleted.
        version: Option<Version>,
    },
    /// A queue was paused or resumed.
    Queue {
        /// Which.
        queue: QueueName,
        /// Whether its jobs stay.
        paused: bool,
    },
    /// An event of an object became a dead letter.
    Dead {
        /// Whose.
        object: ObjectKey,
        /// Why.
        error: String,
    },
    /// A dead letter was replayed or dropped.
    DeadGone {
        /// Which.
        id: DeadId,
    },
}

/// What one batch changed.
#[derive(Debug, Clone)]
pub struct Changes {
    /// When.
    pub at: Time,
    /// What, in order: first the jobs, then the rest.
    pub changes: Arc<[Change]>,
}

/// Takes from a batch what people want to see.
pub(super) fn of(writes: &[Write], batch: &mut Batch) -> Changes {
    let moves = std::mem::take(&mut batch.woken.moves).into_iter().map(Change::Job);
    let others = writes.iter().zip(&batch.written).filter_map(|(write, written)| one(write, written));
    Changes { at: batch.at, changes: moves.chain(others).collect() }
}

fn one(write: &Write, written: &Written) -> Option<Change> {
    match (write, written) {
        (Write::Commit(commit), Written::Committed(Ok(receipt))) => {
            Some(Change::Object { object: commit.object.clone(), version: receipt.version })
        }
        (Write::SetPaused { queue, paused }, Written::Set) => {
            Some(Change::Queue { queue: queue.clone(), paused: *paused })
        }
        (Write::SetQueue { queue, policy }, Written::Set) => {
            Some(Change::Queue { queue: queue.clone(), paused: policy.paused })
        }
        (Write::ReplayDead { id } | Write::DropDead { id }, Written::Dead(true)) => {
            Some(Change::DeadGone { id: *id })
        }
        _ => None,
    }
}
