//! Staging that is not needed any more.

use crate::jobs::BatchOrder;
use crate::service::Service;
use abide_blob::Key;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::{Worker, done, failed, failed_for_good};
use std::future::Future;
use std::pin::Pin;

/// Empties staging.
#[derive(Clone)]
pub(crate) struct Sweep(pub(crate) Service);

impl Worker for Sweep {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(async move {
            let order: BatchOrder = match job.payload() {
                Ok(order) => order,
                Err(error) => return failed_for_good(error.to_string()),
            };
            let prefix = match Key::new(order.message.prefix().trim_end_matches('/')) {
                Ok(prefix) => prefix,
                Err(error) => return failed_for_good(error.to_string()),
            };
            match service.buckets().staging.delete_all(&prefix).await {
                Ok(deleted) => done(&serde_json::json!({ "deleted": deleted })),
                Err(error) => failed(error.to_string()),
            }
        })
    }
}
