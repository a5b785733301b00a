//! Fetching a link's page: outside work.

use crate::limits::{PAGE_BYTES, PAGE_MS};
use crate::page::{self, Failure, Outcome, Verdict};
use abide_core::job::{AttemptEnd, CoolDown, Finish, RetryWish};
use abide_core::name::LimitKey;
use abide_engine::worker::{done, failed_for_good};
use abide_engine::{JobContext, Worker};
use abide_fetch::{Ask, FetchError, Fetcher};
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::Semaphore;
use url::Url;

/// What a job of the fetch queue carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FetchPayload {
    /// Which link.
    pub link_id: String,
    /// Its URL.
    pub url: String,
    /// Which attempt of the link.
    pub attempt: u32,
}

/// The worker of the fetch queue. It is given more jobs than it may fetch at a time, so that the next page is asked for the
/// moment that one has come, while that one is read and its end is written.
#[derive(Debug, Clone)]
pub struct Fetch {
    fetcher: Fetcher,
    lane: Arc<Semaphore>,
}

impl Fetch {
    /// One that fetches through `fetcher`, so many pages at a time.
    #[must_use]
    pub fn new(fetcher: Fetcher, lane: usize) -> Fetch {
        Fetch { fetcher, lane: Arc::new(Semaphore::new(lane)) }
    }

    async fn attempt(self, mut job: JobContext) -> Finish {
        let payload: FetchPayload = match job.payload() {
            Ok(payload) => payload,
            Err(error) => return failed_for_good(format!("the payload cannot be read: {error}")),
        };
        let is_last = job.lease().failures + 1 >= job.lease().max_attempts;
        let fetched = tokio::select! {
            fetched = self.fetch(&payload.url) => fetched,
            () = job.stopped() => return AttemptEnd::HandedBack.into(),
        };
        match fetched {
            Ok(fetched) => done(&fetched.read().await),
            Err(error) => finish(&error, is_last),
        }
    }

    async fn fetch(&self, url: &str) -> Result<Fetched, FetchError> {
        let _place = self.lane.acquire().await.expect("nobody closes it");
        fetch(&self.fetcher, url, PAGE_BYTES, PAGE_MS).await
    }
}

impl Worker for Fetch {
    fn run(&self, job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        Box::pin(self.clone().attempt(job))
    }
}

/// What a failed fetch means for its job: another attempt while it may help, else an outcome.
fn finish(error: &FetchError, is_last: bool) -> Finish {
    let failure = Failure::from(error);
    let rest = error.rest();
    let cool_down = rest.and_then(|rest| {
        let key = LimitKey::new(format!("host:{}", rest.host)).ok()?;
        Some(CoolDown { key, for_ms: rest.wait_ms })
    });
    let mut finish = if failure.verdict == Verdict::Transient && !is_last {
        let retry = rest.map_or(RetryWish::ByPolicy, |rest| RetryWish::AfterMs(rest.wait_ms));
        AttemptEnd::Error { reason: format!("{}: {error}", failure.code), retry }.into()
    } else {
        done(&Outcome::Failed(failure))
    };
    finish.cool_down.extend(cool_down);
    finish
}

/// What a server gave.
pub(super) enum Fetched {
    /// A page, which is to be read.
    Page { url: Url, content_type: Option<String>, body: Bytes },
    /// None, for this reason.
    None(Failure),
}

impl Fetched {
    /// Reads the page.
    pub(super) async fn read(self) -> Outcome {
        let (url, content_type, body) = match self {
            Fetched::Page { url, content_type, body } => (url, content_type, body),
            Fetched::None(failure) => return Outcome::Failed(failure),
        };
        let read = tokio::task::spawn_blocking(move || page::read(&url, content_type.as_deref(), &body));
        // A page that the reader chokes on is one that cannot be read.
        read.await.unwrap_or_else(|_| Outcome::Failed(Failure::unreadable(Verdict::Permanent)))
    }
}

/// Fetches a page.
pub(super) async fn fetch(
    fetcher: &Fetcher,
    url: &str,
    bytes_max: u64,
    total_ms: u64,
) -> Result<Fetched, FetchError> {
    let mut ask = Ask { bytes_max, total_ms, ..Ask::page(url) };
    ask.headers
        .insert(ACCEPT, HeaderValue::from_static("text/html,application/xhtml+xml;q=0.9,text/plain;q=0.5"));
    let reply = fetcher.open(&ask).await?;
    if reply.headers().get("cf-mitigated").is_some() {
        return Ok(Fetched::None(Failure { verdict: Verdict::Blocked, ..Failure::status(reply.status()) }));
    }
    let reply = reply.success()?;
    let content_type = reply.header(CONTENT_TYPE).map(str::to_owned);
    let url = reply.url().clone();
    Ok(Fetched::Page { url, content_type, body: reply.body().await? })
}
