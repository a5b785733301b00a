//! Work items as everybody outside sees them.

use crate::millis::Millis;
use crate::mode::Mode;
use crate::stamp::Stamp;
use abide_core::job::JobId;
use abide_core::json::Json;
use abide_core::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names a work item: a random UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkId(pub String);

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where an item is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It will be begun.
    Pending,
    /// It is on its way through the queue or the processor.
    Processing,
    /// It has its result.
    Completed,
    /// It has an error.
    Failed,
}

/// What an item is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPayload {
    /// What to process.
    pub message: String,
    /// How long processing takes.
    pub delay: Millis,
    /// Timestamps that came with the submission.
    pub timestamps: Vec<Stamp>,
}

/// An item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkItem {
    /// Which.
    pub id: WorkId,
    /// What it is about.
    pub payload: WorkPayload,
    /// Where it is.
    pub status: Status,
    /// Higher starts first, in mode `queue`.
    pub priority: i32,
    /// How it is processed.
    pub mode: Mode,
    /// How often it was begun, this time included.
    pub attempt: u32,
    /// When it came.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// What came of it, if it is completed: a [`ProcessorResult`], or what a worker gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The job that used up its attempts, if that is why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead_letter: Option<DeadLetter>,
    /// Where it passed when.
    pub timestamps: Vec<Stamp>,
    /// From the first timestamp to the last, if it is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_taken: Option<Millis>,
}

/// The dead letter of an item: the job can be looked at and replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// Which job.
    pub job: JobId,
    /// Its last attempt.
    pub attempt: u32,
    /// Why that failed.
    pub reason: String,
}

/// What came of processing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessorResult {
    /// That it was.
    pub processed: bool,
    /// What was processed.
    pub input: WorkPayload,
    /// When.
    pub processed_at: Time,
    /// How many items the processor had counted with this one.
    pub process_count: i64,
    /// The same for people.
    pub message: String,
    /// Where the item passed when.
    pub timestamps: Vec<Stamp>,
}

/// What a job of the work queue carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueMessage {
    /// Which item.
    pub work_id: WorkId,
    /// What it is about.
    pub payload: WorkPayload,
    /// The name of its coordinator.
    pub coordinator_id: String,
    /// Where it passed when, so far.
    pub timestamps: Vec<Stamp>,
    /// Which attempt of the item this is.
    pub attempt: u32,
    /// Proves it, for a worker that posts its result.
    pub proof: String,
}
