//! Delivery: a finished batch to whoever waits for it, until it is taken.

use crate::calls::{Call, FilePage, OutputAnswer};
use crate::file::ProcessableFile;
use crate::jobs::BatchOrder;
use crate::limits::PAGE_ITEMS;
use crate::message::QueueMessage;
use crate::service::Service;
use abide_core::job::{AttemptEnd, Finish, RetryWish};
use abide_engine::JobContext;
use abide_engine::worker::{Worker, done, failed, failed_for_good};
use abide_fetch::retry_after::retry_after_ms;
use serde_json::{Map, Value};
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// What the message brought and is given back.
const ECHOED: [&str; 4] = ["root_pi", "node_pis", "node_tips", "node_versions"];
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
            match job.payload::<BatchOrder>() {
                Ok(order) => finalize.deliver(&order.message).await,
                Err(error) => failed_for_good(error.to_string()),
            }
        })
    }
}

impl Finalize {
    async fn deliver(&self, message: &QueueMessage) -> Finish {
        let files = match self.files(message).await {
            Ok(files) => files,
            Err(reason) => return failed(reason),
        };
        let (batch, count) = (&message.batch_id, files.len());
        let url = format!("{}/api/batches/{batch}/enqueue-processed", self.worker_url.trim_end_matches('/'));
        let client = match reqwest::Client::builder().timeout(TAKES).build() {
            Ok(client) => client,
            Err(error) => return failed(error.to_string()),
        };
        let now = self.service.site().await.engine.now();
        match client.post(&url).json(&body(message, files)).send().await {
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

    async fn files(&self, message: &QueueMessage) -> Result<Vec<ProcessableFile>, String> {
        let site = self.service.site().await;
        let mut files = Vec::new();
        let mut after = None;
        loop {
            let page = Call::Output(FilePage { after, limit: Some(PAGE_ITEMS) });
            let answer = site.ask::<OutputAnswer>(message.batch_id.as_str(), &page).await;
            let answer = answer.map_err(|error| error.to_string())?;
            files.extend(answer.output);
            match answer.next {
                Some(next) => after = Some(next),
                None => return Ok(files),
            }
        }
    }
}

/// The files, and what older and newer receivers ask for beside them.
fn body(message: &QueueMessage, files: Vec<ProcessableFile>) -> Value {
    let mut body = Map::new();
    body.insert("files".to_owned(), serde_json::json!(files));
    for field in ECHOED {
        if let Some(value) = message.rest.get(field) {
            body.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(body)
}
