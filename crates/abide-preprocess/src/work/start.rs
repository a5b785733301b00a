//! Messages of the queue: each starts its batch.

use super::to_dead_messages;
use crate::calls::{Call, StartAnswer};
use crate::limits::MANIFEST_ATTEMPTS;
use crate::message::QueueMessage;
use crate::service::Service;
use abide_core::job::Finish;
use abide_engine::worker::{Worker, done, failed, failed_for_good};
use abide_engine::{CallError, JobContext};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// Starts batches.
#[derive(Clone)]
pub(crate) struct Start(pub(crate) Service);

impl Worker for Start {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(async move {
            let site = service.site().await;
            let message = job.payload::<Value>().map_err(|error| error.to_string());
            let message =
                message.and_then(|body| QueueMessage::read(&body).map_err(|error| error.to_string()));
            let dead = |reason: String| async {
                let payload = job.lease().payload.clone();
                to_dead_messages(&site, job.job().0, payload, &reason).await;
                failed_for_good(reason)
            };
            let message = match message {
                Ok(message) => message,
                Err(reason) => return dead(reason).await,
            };
            let batch = message.batch_id.to_string();
            match site.ask::<StartAnswer>(&batch, &Call::Start(Box::new(message))).await {
                Ok(started) => done(&started),
                Err(CallError::Refused(no)) => dead(no.message).await,
                Err(error) if job.lease().failures + 1 >= MANIFEST_ATTEMPTS => dead(error.to_string()).await,
                Err(error) => failed(error.to_string()),
            }
        })
    }
}
