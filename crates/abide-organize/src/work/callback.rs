//! The job that delivers a callback over HTTP.

use super::paper::of_batch;
use crate::contract::CallbackPayload;
use crate::jobs::Delivery;
use crate::limits::CALLBACK_MS;
use crate::service::{Service, Site};
use abide_core::job::{AttemptEnd, Finish, RetryWish};
use abide_engine::worker::{done, failed, failed_for_good};
use abide_engine::{JobContext, Worker};
use abide_fetch::certificates;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use std::pin::Pin;
use std::time::Duration;

/// Characters of an answer that are kept when it is no success.
const SAID_CHARS: usize = 300;
/// Bytes of an answer that are read.
const SAID_BYTES: usize = 4 * 1024;
/// The longest rest that a receiver may ask for, in seconds.
const REST_S: i64 = 3_600;

/// What would end a segment of a path, or not be one.
const NOT_IN_PATHS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'`');

/// Delivers callbacks.
#[derive(Clone)]
pub(crate) struct Callback(pub(crate) Service);

impl Worker for Callback {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let callback = self.clone();
        Box::pin(async move {
            let delivery: Delivery = match job.payload() {
                Ok(delivery) => delivery,
                Err(error) => return failed_for_good(format!("the payload cannot be read: {error}")),
            };
            let delivered = async { deliver(&callback.0.site().await, &delivery).await };
            tokio::select! {
                finish = delivered => finish,
                () = job.stopped() => AttemptEnd::HandedBack.into(),
            }
        })
    }
}

async fn deliver(site: &Site, delivery: &Delivery) -> Finish {
    let batch = utf8_percent_encode(&delivery.batch_id, NOT_IN_PATHS);
    let url = format!("{}/callback/organizer/{batch}", site.orchestrator_url);
    let client = certificates::client(|| {
        reqwest::Client::builder()
            .timeout(Duration::from_millis(CALLBACK_MS))
            .redirect(reqwest::redirect::Policy::none())
    });
    let client = match client {
        Ok(client) => client,
        Err(error) => return failed(error.to_string()),
    };
    let batch = of_batch(&site.engine, &delivery.batch_id).await;
    let payload = CallbackPayload { batch, ..delivery.payload.clone() };
    let mut request = client.post(&url).json(&payload);
    if let Some(token) = &site.token {
        request = request.bearer_auth(token);
    }
    match request.send().await {
        Ok(response) if response.status().is_success() => done(&response.status().as_u16()),
        Ok(mut response) => {
            let status = response.status();
            let wait = response.headers().get(reqwest::header::RETRY_AFTER);
            let wait = wait.and_then(|text| text.to_str().ok()?.parse::<i64>().ok());
            let retry = wait.map_or(RetryWish::ByPolicy, |s| RetryWish::AfterMs(s.clamp(0, REST_S) * 1_000));
            let mut said = Vec::new();
            while let Ok(Some(piece)) = response.chunk().await {
                said.extend_from_slice(&piece);
                if said.len() > SAID_BYTES {
                    break;
                }
            }
            let said: String = String::from_utf8_lossy(&said).chars().take(SAID_CHARS).collect();
            AttemptEnd::Error { reason: format!("{url} answered {status}: {said}"), retry }.into()
        }
        Err(error) => failed(format!("{url} cannot be reached: {}", error.without_url())),
    }
}
