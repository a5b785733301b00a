//! Jobs of a batch: what the outside is asked to do, and the words in which it is asked.

use crate::calls::AttemptRef;
use crate::file::ProcessableFile;
use crate::limits::{DELIVERY_ATTEMPTS, LAUNCH_ATTEMPTS, MANIFEST_ATTEMPTS, SWEEP_ATTEMPTS};
use crate::message::{BatchId, QueueMessage};
use crate::options::PhaseSettings;
use crate::task::Task;
use abide_blob::Signer;
use abide_core::job::{BadJob, NewJob};
use abide_core::name::{LimitKey, UniqueKey};
use abide_core::object::Incarnation;
use abide_core::retry::Backoff;
use abide_core::time::Time;
use serde::{Deserialize, Serialize};

/// The queue of messages that start batches.
pub const MESSAGES: &str = "arke-preprocess-jobs";
/// The kind of the jobs in it.
pub const START: &str = "start";
/// The queue of messages that could not start one.
pub const DEAD_MESSAGES: &str = "preprocess-dlq";
/// The queue of everything that batches ask for.
pub const QUEUE: &str = "preprocess";
/// The kind of the job that reads a manifest.
pub const MANIFEST: &str = "manifest";
/// The kind of the job that delivers a finished batch.
pub const FINALIZE: &str = "finalize";
/// The kind of the job that empties staging.
pub const SWEEP: &str = "sweep";
/// The unique key of the job that reads the manifest.
pub(crate) const MANIFEST_KEY: &str = "manifest";
/// And of the one that empties staging.
pub(crate) const SWEEP_KEY: &str = "sweep";

/// What reads a manifest or empties staging is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BatchOrder {
    /// Of which batch.
    pub message: QueueMessage,
    /// In which life.
    pub life: Option<Incarnation>,
}

/// What a launcher is told: one attempt of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Of which batch.
    pub batch_id: BatchId,
    /// Which attempt of which task, in which life.
    pub attempt: AttemptRef,
    /// What is to be done: `tiff`, `pdf`, `image`.
    pub tag: String,
    /// The file.
    pub input: ProcessableFile,
    /// What variants of an image are known by.
    pub asset_id: String,
    /// How long it may take.
    pub timeout_ms: i64,
    /// The memory that it gets.
    pub memory_mb: u32,
}

/// How a machine or process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ended", rename_all = "snake_case")]
pub enum Ended {
    /// Well. Whether it called back, the batch knows.
    Exited,
    /// Not well, or it was stopped.
    Failed {
        /// Why.
        reason: String,
    },
    /// Not well, and no other attempt would end otherwise.
    Hopeless {
        /// Why.
        reason: String,
    },
    /// Not well, on a machine that has no room.
    NoRoom {
        /// Why.
        reason: String,
    },
}

/// What the next in line is told of a finished batch: its files are read from here, by page.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Preprocessed {
    /// It.
    pub preprocessed: Finished,
}

/// What whoever may have taken a delivery here is asked before staging is emptied. It answers when it reads nothing of it any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MayEmpty {
    /// As the batch was finished for the how manieth time.
    pub may_empty: u32,
}

/// A finished batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The message that began it.
    pub message: QueueMessage,
    /// For the how manieth time: a task that is tried again finishes it again.
    pub finishes: u32,
    /// Whether its manifest has entities of directories.
    #[serde(default)]
    pub has_tree: bool,
}

/// The job that reads a batch's manifest.
pub(crate) fn manifest(message: &QueueMessage, life: Incarnation) -> Result<NewJob, BadJob> {
    let order = BatchOrder { message: message.clone(), life: Some(life) };
    let unique_key = Some(UniqueKey::new(MANIFEST_KEY)?);
    let backoff = Some(Backoff { base_ms: 2_000, cap_ms: 30_000 });
    let job = NewJob::of(QUEUE, MANIFEST, &order)?;
    Ok(NewJob { unique_key, backoff, max_attempts: Some(MANIFEST_ATTEMPTS), ..job })
}

/// The unique key of the job that delivers a batch that was finished so often.
pub(crate) fn finalize_key(finishes: u32) -> String {
    format!("finalize/{finishes}")
}

/// The job that delivers a finished batch.
pub(crate) fn finalize(finished: &Finished) -> Result<NewJob, BadJob> {
    let unique_key = Some(UniqueKey::new(finalize_key(finished.finishes))?);
    let backoff = Some(Backoff { base_ms: 1_000, cap_ms: 600_000 });
    let job = NewJob::of(QUEUE, FINALIZE, finished)?;
    Ok(NewJob { unique_key, backoff, max_attempts: Some(DELIVERY_ATTEMPTS), ..job })
}

/// The job that empties a batch's staging.
pub(crate) fn sweep(message: &QueueMessage) -> Result<NewJob, BadJob> {
    let order = BatchOrder { message: message.clone(), life: None };
    let unique_key = Some(UniqueKey::new(SWEEP_KEY)?);
    let job = NewJob::of(QUEUE, SWEEP, &order)?;
    Ok(NewJob { unique_key, max_attempts: Some(SWEEP_ATTEMPTS), ..job })
}

pub(crate) fn order(
    batch_id: &BatchId,
    life: Incarnation,
    task: &Task,
    tag: &str,
    settings: PhaseSettings,
) -> Order {
    Order {
        batch_id: batch_id.clone(),
        attempt: AttemptRef { life, task_id: task.task_id.clone(), attempt: task.attempt },
        tag: tag.to_owned(),
        input: task.input.clone(),
        asset_id: task.asset_id.clone(),
        timeout_ms: settings.task_timeout_ms,
        memory_mb: settings.memory_mb,
    }
}

/// The limit that all launches of one tag share: their spawn rate, and their rest after a 429.
pub fn launch_limit(tag: &str) -> String {
    format!("launch:{tag}")
}

/// The job that runs a machine or process for one attempt.
pub(crate) fn run(order: &Order, run_at: Time) -> Result<NewJob, BadJob> {
    let key = format!("{}/{}", order.attempt.task_id, order.attempt.attempt);
    let job = NewJob::of(QUEUE, &order.tag, order)?;
    Ok(NewJob {
        unique_key: Some(UniqueKey::new(key)?),
        run_at: Some(run_at),
        limit_keys: vec![LimitKey::new(launch_limit(&order.tag))?],
        max_attempts: Some(LAUNCH_ATTEMPTS),
        backoff: Some(Backoff { base_ms: 1_000, cap_ms: 30_000 }),
        ..job
    })
}

fn signed_parts(batch: &str, attempt: &AttemptRef) -> [String; 5] {
    let AttemptRef { life, task_id, attempt } = attempt;
    ["callback".to_owned(), batch.to_owned(), life.0.to_string(), task_id.clone(), attempt.to_string()]
}

/// The signature of an attempt's callback.
#[must_use]
pub fn sign(signer: &Signer, batch: &str, attempt: &AttemptRef) -> String {
    let parts = signed_parts(batch, attempt);
    signer.sign(&parts.each_ref().map(String::as_str))
}

/// Whether a signature is that of an attempt's callback.
pub(crate) fn verify(signer: &Signer, batch: &str, attempt: &AttemptRef, signature: &str) -> bool {
    let parts = signed_parts(batch, attempt);
    signer.verify(&parts.each_ref().map(String::as_str), signature)
}
