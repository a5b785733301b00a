//! Messages of the queue: each starts its batch.

use super::{WorkError, run};
use crate::calls::{Call, StartAnswer};
use crate::message::IngestMessage;
use crate::service::Service;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use serde_json::Value;
use std::pin::Pin;

/// Starts batches.
#[derive(Clone)]
pub(crate) struct Start(pub(crate) Service);

impl Worker for Start {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(run(job, |body: Value| async move {
            let message = IngestMessage::read(&body).map_err(|error| WorkError::Never(error.to_string()))?;
            let batch = message.batch_id.to_string();
            let site = service.site().await;
            Ok(site.ask::<StartAnswer>(&batch, &Call::Start(Box::new(message))).await?)
        }))
    }
}
