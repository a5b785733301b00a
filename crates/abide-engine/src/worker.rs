//! Workers: what runs jobs in the process.

use abide_core::job::{AttemptEnd, Finish, JobId, Lease, RetryWish};
use abide_core::json::{BadJson, Json};
use abide_core::limits::{OverBound, PROGRESS_BYTES, within};
use abide_core::name::{JobKind, QueueName};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Runs jobs of one kind. Anything with I/O is here; what it says at its end takes effect once.
pub trait Worker: Send + Sync + 'static {
    /// Runs one attempt. It may run more than once for a job (a crash, an expired lease), so make its effects outside
    /// idempotent: [`JobContext::job`] and the payload are the same each time.
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>>;
}

impl<F, R> Worker for F
where
    F: Fn(JobContext) -> R + Send + Sync + 'static,
    R: Future<Output = Finish> + Send + 'static,
{
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        Box::pin(self(job))
    }
}

/// Workers of one queue and kind.
#[derive(Clone)]
pub struct Pool {
    /// From which queue.
    pub queue: QueueName,
    /// Of which kind.
    pub kind: JobKind,
    /// How many at a time.
    pub slots: usize,
    /// How many in all, if that is bounded: no job more is taken. Attempts that end as if they had not been do not count.
    pub in_all: Option<u64>,
    /// What runs them.
    pub worker: Arc<dyn Worker>,
}

/// A progress note that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgressError {
    /// It cannot be written as JSON.
    #[error(transparent)]
    BadJson(#[from] BadJson),
    /// It is too long.
    #[error(transparent)]
    OverBound(#[from] OverBound),
}

/// What a worker says while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// How far it is.
    Progress(Json),
    /// That it is through with what the job's limit keys guard.
    Vacated,
}

/// One attempt of a job, as its worker sees it.
#[derive(Debug)]
pub struct JobContext {
    lease: Lease,
    says: mpsc::UnboundedSender<(Lease, Said)>,
    stop: watch::Receiver<bool>,
}

impl JobContext {
    /// The attempt that `lease` allows, for whoever runs a worker: in the engine, or beside one as its remote worker. What it
    /// says goes to `says`; `true` in `stop` asks the worker to stop.
    #[must_use]
    pub fn new(
        lease: Lease,
        says: mpsc::UnboundedSender<(Lease, Said)>,
        stop: watch::Receiver<bool>,
    ) -> JobContext {
        JobContext { lease, says, stop }
    }

    /// Which job.
    #[must_use]
    pub fn job(&self) -> JobId {
        self.lease.lease.job
    }

    /// Which attempt: 1 for the first.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.lease.lease.attempt
    }

    /// Everything about the attempt.
    #[must_use]
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// What the job is about.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, BadJson> {
        self.lease.payload.decode()
    }

    /// Notes how far it is, for people. The last note counts.
    pub fn progress<V: Serialize>(&self, note: &V) -> Result<(), ProgressError> {
        let note = Json::encode(note)?;
        within("bytes in a progress note", PROGRESS_BYTES, note.len())?;
        // An engine that stops does not take notes any more, and the job is handed back anyway.
        drop(self.says.send((self.lease.clone(), Said::Progress(note))));
        Ok(())
    }

    /// Frees the places of the job's limit keys for others, while this goes on with what needs none: a host whose last byte
    /// has come is free while the file is put in its place. Only once it has asked for the last time; an attempt that
    /// fails afterwards takes them again.
    pub fn vacate(&self) {
        // An engine that stops frees everything.
        drop(self.says.send((self.lease.clone(), Said::Vacated)));
    }

    /// Resolves when the job should stop: it was cancelled, lost its lease, or the engine is stopping.
    pub async fn stopped(&mut self) {
        // An engine that is gone counts as one that says stop.
        drop(self.stop.wait_for(|stop| *stop).await);
    }

    /// Whether it should stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }
}

/// A job's work is done; `result` is what came of it.
pub fn done<V: Serialize>(result: &V) -> Finish {
    match Json::encode(result) {
        Ok(result) => AttemptEnd::Done { result }.into(),
        Err(e) => failed_for_good(format!("the result cannot be written as JSON: {}", e.0)),
    }
}

/// There was nothing to do.
pub fn skipped(reason: impl Into<String>) -> Finish {
    AttemptEnd::Skipped { reason: reason.into() }.into()
}

/// It failed; it is tried again by policy.
pub fn failed(reason: impl Into<String>) -> Finish {
    AttemptEnd::Error { reason: reason.into(), retry: RetryWish::ByPolicy }.into()
}

/// It failed, and trying again cannot help.
pub fn failed_for_good(reason: impl Into<String>) -> Finish {
    AttemptEnd::Error { reason: reason.into(), retry: RetryWish::Never }.into()
}
