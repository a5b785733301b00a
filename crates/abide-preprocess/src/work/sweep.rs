//! Staging that is not needed any more.

use crate::calls::{Call, FilePage, OutputAnswer, TaskPage, TasksAnswer};
use crate::jobs::BatchOrder;
use crate::limits::PAGE_ITEMS;
use crate::message::QueueMessage;
use crate::service::Service;
use abide_blob::Key;
use abide_core::job::{AttemptEnd, Finish};
use abide_engine::JobContext;
use abide_engine::worker::{Worker, done, failed, failed_for_good};
use std::future::Future;
use std::pin::Pin;

/// Empties staging.
#[derive(Clone)]
pub(crate) struct Sweep(pub(crate) Service);

impl Worker for Sweep {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let service = self.0.clone();
        Box::pin(async move {
            let order: BatchOrder = match job.payload() {
                Ok(order) => order,
                Err(error) => return failed_for_good(error.to_string()),
            };
            let swept = tokio::select! {
                () = job.stopped() => return AttemptEnd::HandedBack.into(),
                swept = sweep(&service, &order.message) => swept,
            };
            match swept {
                Ok(deleted) => done(&serde_json::json!({ "deleted": deleted })),
                Err(reason) => failed(reason),
            }
        })
    }
}

/// Deletes what is of a batch: all of a folder that has its name, and of any other what it brought and made.
async fn sweep(service: &Service, message: &QueueMessage) -> Result<u64, String> {
    let staging = &service.buckets().staging;
    let prefix = Key::new(message.prefix().trim_end_matches('/')).map_err(|error| error.to_string())?;
    if prefix.as_str().rsplit('/').next() == Some(message.batch_id.as_str()) {
        return staging.delete_all(&prefix).await.map_err(|error| error.to_string());
    }
    let (site, batch) = (service.site().await, message.batch_id.as_str());
    let mut deleted = delete(service, &message.manifest_r2_key).await?;
    let mut after = None;
    loop {
        let page = Call::Tasks(TaskPage { after, limit: Some(PAGE_ITEMS), ..TaskPage::default() });
        let answer: TasksAnswer = site.ask(batch, &page).await.map_err(|error| error.to_string())?;
        for task in answer.tasks {
            deleted += delete(service, &task.input_r2_key).await?;
        }
        after = answer.next;
        if after.is_none() {
            break;
        }
    }
    let mut after = None;
    loop {
        let page = Call::Output(FilePage { after, limit: Some(PAGE_ITEMS) });
        let answer: OutputAnswer = site.ask(batch, &page).await.map_err(|error| error.to_string())?;
        for file in answer.output {
            deleted += delete(service, &file.r2_key).await?;
        }
        after = answer.next;
        if after.is_none() {
            return Ok(deleted);
        }
    }
}

async fn delete(service: &Service, key: &str) -> Result<u64, String> {
    let key = Key::new(key).map_err(|error| error.to_string())?;
    service.buckets().staging.delete(&key).await.map(|()| 1).map_err(|error| error.to_string())
}
