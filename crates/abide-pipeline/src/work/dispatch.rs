//! Requests to services of somebody else, which call back.

use super::contents::filled;
use super::{WorkError, run};
use crate::orders::AwayOrder;
use crate::service::{Service, ServiceUrls};
use crate::status::PhaseName;
use abide_core::job::Finish;
use abide_engine::JobContext;
use abide_engine::worker::Worker;
use abide_fetch::certificates;
use abide_organize::contract::ProcessRequest;
use serde::Serialize;
use serde_json::json;
use std::pin::Pin;
use std::time::Duration;

/// How long it may take to be taken.
const TAKES: Duration = Duration::from_secs(30);

/// Brings requests to `{organizer_url}/process`.
#[derive(Clone)]
pub(crate) struct Dispatch {
    pub(crate) service: Service,
    pub(crate) organizer_url: String,
    pub(crate) token: Option<String>,
}

impl Worker for Dispatch {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let url = format!("{}/process", self.organizer_url.trim_end_matches('/'));
        let (service, token) = (self.service.clone(), self.token.clone());
        Box::pin(run(job, |request: ProcessRequest| async move {
            let request = filled(service.site().await.entities.as_ref(), request).await?;
            dispatch(&url, token.as_deref(), &request).await?;
            Ok(json!({ "chunk_id": request.chunk_id }))
        }))
    }
}

/// Brings requests to the service of their phase.
#[derive(Clone)]
pub(crate) struct DispatchAway(pub(crate) ServiceUrls);

impl Worker for DispatchAway {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let urls = self.0.clone();
        Box::pin(run(job, |AwayOrder { phase, request }: AwayOrder| async move {
            let url = match phase {
                PhaseName::Ocr => &urls.ocr,
                PhaseName::Pinax => &urls.pinax,
                PhaseName::Description => &urls.description,
                PhaseName::Discovery | PhaseName::Reorganization | PhaseName::Cheimarros => "",
            };
            if url.is_empty() {
                return Err(WorkError::Never(format!("no service for {} is configured", phase.as_str())));
            }
            dispatch(&format!("{}/process", url.trim_end_matches('/')), None, &request).await?;
            Ok(json!({ "chunk_id": request.chunk_id }))
        }))
    }
}

async fn dispatch(url: &str, token: Option<&str>, request: &impl Serialize) -> Result<(), WorkError> {
    let later = |error: reqwest::Error| WorkError::Later(format!("{url} cannot be reached: {error}"));
    let client = certificates::client(|| reqwest::Client::builder().timeout(TAKES)).map_err(later)?;
    let mut posted = client.post(url).json(request);
    if let Some(token) = token {
        posted = posted.bearer_auth(token);
    }
    let response = posted.send().await.map_err(later)?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    let said: String = response.text().await.unwrap_or_default().chars().take(300).collect();
    let reason = format!("{url} answered {status}: {said}");
    if status.is_client_error() && status.as_u16() != 429 {
        return Err(WorkError::Never(reason));
    }
    Err(WorkError::Later(reason))
}
