//! Processing an item of mode `queue`: the only outside work of this service.

use crate::limits::DELAY_MS;
use crate::report::Report;
use crate::stamp::{Tag, stamp};
use crate::work::QueueMessage;
use abide_core::job::{AttemptEnd, Finish};
use abide_core::time::{Clock, Time};
use abide_engine::worker::{done, failed_for_good};
use abide_engine::{JobContext, Worker};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// The worker of the work queue.
pub struct Process {
    clock: Arc<dyn Clock>,
}

impl Process {
    /// A worker that stamps with this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Process {
        Process { clock }
    }
}

impl Worker for Process {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        Box::pin(run(self.clock.clone(), job))
    }
}

async fn run(clock: Arc<dyn Clock>, mut job: JobContext) -> Finish {
    let picked_up_at = clock.now();
    let message: QueueMessage = match job.payload() {
        Ok(message) => message,
        Err(error) => return failed_for_good(format!("the payload cannot be read: {error}")),
    };
    tokio::select! {
        () = tokio::time::sleep(delay(&message)) => done(&report(message, picked_up_at, clock.now())),
        () = job.stopped() => AttemptEnd::HandedBack.into(),
    }
}

/// How long processing takes.
#[must_use]
pub fn delay(message: &QueueMessage) -> Duration {
    Duration::from_millis(message.payload.delay.whole().clamp(0, DELAY_MS).unsigned_abs())
}

/// What the worker says of an item that it took at one time and was through with at another.
#[must_use]
pub fn report(message: QueueMessage, picked_up_at: Time, completed_at: Time) -> Report {
    let mut timestamps = message.timestamps;
    stamp(&mut timestamps, Tag::ConsumerPickedUp, picked_up_at);
    stamp(&mut timestamps, Tag::ProcessingStarted, picked_up_at);
    stamp(&mut timestamps, Tag::ProcessingCompleted, completed_at);
    Report::processed(timestamps)
}
