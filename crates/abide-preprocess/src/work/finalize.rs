//! Delivery: a finished batch to whoever waits for it, until it is taken.

use crate::calls::{Call, OutputAnswer};
use crate::file::ProcessableFile;
use crate::jobs::Finished;
use crate::limits::MANIFEST_BYTES;
use crate::manifest::{self, Fields, TREE};
use crate::message::QueueMessage;
use crate::refusal::No;
use crate::service::Service;
use abide_blob::Key;
use abide_core::job::{AttemptEnd, Finish, RetryWish};
use abide_engine::worker::{Worker, done, failed, failed_for_good, skipped};
use abide_engine::{CallError, JobContext, Refusal};
use abide_fetch::certificates;
use abide_fetch::retry_after::retry_after_ms;
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// How long one delivery may take.
const TAKES: Duration = Duration::from_secs(120);

/// Delivers finished batches.
#[derive(Clone)]
pub(crate) struct Finalize {
    pub(crate) service: Service,
    pub(crate) worker_url: String,
}

impl Worker for Finalize {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let finalize = self.clone();
        Box::pin(async move {
            match job.payload::<Finished>() {
                Ok(finished) => finalize.deliver(&finished).await,
                Err(error) => failed_for_good(error.to_string()),
            }
        })
    }
}

/// Why there is nothing to deliver.
enum Undelivered {
    /// Trying again may help.
    Now(String),
    /// The batch goes on: it is delivered when it is done again.
    Outdated(String),
}

impl Finalize {
    async fn deliver(&self, finished: &Finished) -> Finish {
        let (files, tree) = match self.made(finished).await {
            Ok(made) => made,
            Err(Undelivered::Now(reason)) => return failed(reason),
            Err(Undelivered::Outdated(reason)) => return skipped(reason),
        };
        let message = &finished.message;
        let (batch, count) = (&message.batch_id, files.len());
        let url = format!("{}/api/batches/{batch}/enqueue-processed", self.worker_url.trim_end_matches('/'));
        let client = match certificates::client(|| reqwest::Client::builder().timeout(TAKES)) {
            Ok(client) => client,
            Err(error) => return failed(error.to_string()),
        };
        let now = self.service.site().await.engine.now();
        match client.post(&url).json(&body(message, tree, files)).send().await {
            Ok(response) if response.status().is_success() => done(&serde_json::json!({ "files": count })),
            Ok(response) => {
                let status = response.status();
                let wait = response.headers().get(reqwest::header::RETRY_AFTER);
                let wait_ms = wait.and_then(|text| retry_after_ms(text.to_str().ok()?, now));
                let retry = wait_ms.map_or(RetryWish::ByPolicy, RetryWish::AfterMs);
                let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
                AttemptEnd::Error { reason: format!("{url} answered {status}: {said}"), retry }.into()
            }
            Err(error) => failed(format!("{url} cannot be reached: {error}")),
        }
    }

    /// The files, and what the manifest says of their directories.
    async fn made(&self, finished: &Finished) -> Result<(Vec<ProcessableFile>, Fields), Undelivered> {
        let tree = if finished.has_tree {
            let read = manifest_tree(&self.service, &finished.message).await;
            read.map_err(Undelivered::Now)?
        } else {
            Fields::new()
        };
        let site = self.service.site().await;
        let (mut files, mut after) = (Vec::new(), None);
        loop {
            let page = Call::Handover { finishes: finished.finishes, after };
            let answer = site.ask::<OutputAnswer>(finished.message.batch_id.as_str(), &page).await;
            let answer = answer.map_err(|error| match error {
                CallError::Refused(no) if no.code == No::NotFinished.code() => {
                    Undelivered::Outdated(no.message)
                }
                error => Undelivered::Now(error.to_string()),
            })?;
            files.extend(answer.output);
            match answer.next {
                Some(next) => after = Some(next),
                None => return Ok((files, tree)),
            }
        }
    }
}

/// The entities of directories that are in a manifest: they are asked for when they are needed, however many there are.
async fn manifest_tree(service: &Service, message: &QueueMessage) -> Result<Fields, String> {
    let key = Key::new(&message.manifest_r2_key).map_err(|error| error.to_string())?;
    let bytes = service.buckets().staging.get_bytes(&key, MANIFEST_BYTES).await;
    manifest::tree(&bytes.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// The files, and what older and newer receivers ask for beside them: what the message says counts, then the manifest.
fn body(message: &QueueMessage, mut tree: Fields, files: Vec<ProcessableFile>) -> Value {
    let mut body = Fields::new();
    body.insert("files".to_owned(), serde_json::json!(files));
    for field in TREE {
        if let Some(value) = message.rest.get(field).cloned().or_else(|| tree.remove(field)) {
            body.insert(field.to_owned(), value);
        }
    }
    Value::Object(body)
}
