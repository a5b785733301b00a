//! Requests to an organizer of somebody else, which calls back.

use super::{WorkError, run};
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_organize::contract::ProcessRequest;
use serde_json::{Value, json};
use std::pin::Pin;
use std::time::Duration;

/// How long it may take to be taken.
const TAKES: Duration = Duration::from_secs(30);

/// Brings requests to `{organizer_url}/process`.
#[derive(Clone)]
pub(crate) struct Dispatch {
    pub(crate) organizer_url: String,
}

impl Worker for Dispatch {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let url = format!("{}/process", self.organizer_url.trim_end_matches('/'));
        Box::pin(run(job, |request: ProcessRequest| async move { dispatch(&url, &request).await }))
    }
}

async fn dispatch(url: &str, request: &ProcessRequest) -> Result<Value, WorkError> {
    let later = |error: reqwest::Error| WorkError::Later(format!("{url} cannot be reached: {error}"));
    let client = reqwest::Client::builder().timeout(TAKES).build().map_err(later)?;
    let response = client.post(url).json(request).send().await.map_err(later)?;
    let status = response.status();
    if status.is_success() {
        return Ok(json!({ "chunk_id": request.chunk_id }));
    }
    let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
    let reason = format!("{url} answered {status}: {said}");
    if status.is_client_error() && status.as_u16() != 429 {
        return Err(WorkError::Never(reason));
    }
    Err(WorkError::Later(reason))
}
