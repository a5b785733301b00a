//! Fetching a link's page: outside work.

use crate::limits::{ATTEMPTS, PAGE_BYTES, PAGE_MS, QUICK_BYTES};
use crate::page::{self, Failure, Outcome, Verdict};
use abide_core::job::{AttemptEnd, CoolDown, Finish, RetryWish};
use abide_core::name::LimitKey;
use abide_core::time::Time;
use abide_engine::worker::{done, failed_for_good};
use abide_engine::{JobContext, Worker};
use abide_fetch::{Ask, FetchError, Fetcher};
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
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
    /// How often jobs before this one asked in vain.
    #[serde(default)]
    pub failures: u32,
    /// Since when the host has been left alone, if the job before this one could not ask it.
    #[serde(default)]
    pub waits_since: Option<Time>,
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
        let failures = payload.failures + job.lease().failures;
        let fetched = tokio::select! {
            fetched = self.fetch(&payload.url) => fetched,
            () = job.stopped() => return AttemptEnd::HandedBack.into(),
        };
        match fetched {
            Ok(fetched) => {
                if fetched.bytes() > QUICK_BYTES && self.fetcher.resting_ms(&payload.url).is_none() {
                    job.vacate();
                }
                tokio::select! {
                    biased;
                    outcome = fetched.read() => done(&outcome),
                    () = job.stopped() => AttemptEnd::HandedBack.into(),
                }
            }
            Err(error) => finish(&error, failures, payload.waits_since),
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

/// What a failed fetch means for its job, of which there were so many before: another attempt while it may help, else an
/// outcome. A host that was not asked has not failed.
fn finish(error: &FetchError, failures: u32, since: Option<Time>) -> Finish {
    let failure = Failure::from(error);
    let rest = error.rest();
    let cool_down = rest.and_then(|rest| {
        let key = LimitKey::new(format!("host:{}", rest.host)).ok()?;
        Some(CoolDown { key, for_ms: rest.wait_ms })
    });
    let mut finish = match error {
        FetchError::BreakerOpen { wait_ms, .. }
        | FetchError::Paced { wait_ms, .. }
        | FetchError::Crowded { wait_ms, .. } => {
            done(&Outcome::NotAsked { wait_ms: *wait_ms, failures, since, why: failure.why })
        }
        _ if failure.verdict == Verdict::Transient && failures + 1 < ATTEMPTS => {
            let retry = rest.map_or(RetryWish::ByPolicy, |rest| RetryWish::AfterMs(rest.wait_ms));
            AttemptEnd::Error { reason: format!("{}: {error}", failure.code), retry }.into()
        }
        _ => done(&Outcome::Failed(failure)),
    };
    finish.cool_down.extend(cool_down);
    finish
}

/// What a server gave.
pub(super) enum Fetched {
    /// A page, which is to be read before the deadline.
    Page { url: Url, content_type: Option<String>, body: Bytes, deadline: Instant },
    /// None, for this reason.
    None(Failure),
}

impl Fetched {
    /// Bytes that are to be read.
    fn bytes(&self) -> usize {
        match self {
            Fetched::Page { body, .. } => body.len(),
            Fetched::None(_) => 0,
        }
    }

    /// Reads the page.
    pub(super) async fn read(self) -> Outcome {
        let (url, content_type, body, deadline) = match self {
            Fetched::Page { url, content_type, body, deadline } => (url, content_type, body, deadline),
            Fetched::None(failure) => return Outcome::Failed(failure),
        };
        within(deadline, move || page::read(&url, content_type.as_deref(), &body)).await
    }
}

/// Fetches a page. It is there, and read, within `total_ms`.
pub(super) async fn fetch(
    fetcher: &Fetcher,
    url: &str,
    bytes_max: u64,
    total_ms: u64,
) -> Result<Fetched, FetchError> {
    let deadline = Instant::now() + Duration::from_millis(total_ms);
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
    Ok(Fetched::Page { url, content_type, body: reply.body().await?, deadline })
}

/// What `read` says, if it says it before the deadline. Reading is bounded, so that what is not waited for ends by itself.
async fn within(deadline: Instant, read: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
    match tokio::time::timeout_at(deadline, tokio::task::spawn_blocking(read)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => Outcome::Failed(Failure::unreadable(Verdict::Permanent, "the reader choked on it")),
        Err(_) => {
            let why = "it came so late, or is so intricate, that there was no time to read it";
            Outcome::Failed(Failure::timeout(Verdict::Permanent, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn a_page_that_is_not_read_in_time_is_not_waited_for() {
        let (release, held) = mpsc::channel::<()>();
        let read = move || {
            // Ends when the test does.
            let _released = held.recv();
            Outcome::Failed(Failure::status(200))
        };
        let outcome = within(Instant::now(), read).await;
        drop(release);
        assert!(matches!(outcome, Outcome::Failed(Failure { code, .. }) if code == "fetch:timeout"));
    }

    #[test]
    fn a_host_that_was_not_asked_has_not_failed() {
        let open = FetchError::BreakerOpen { host: "example.org".to_owned(), wait_ms: 60_000 };
        let finish = finish(&open, 2, None);
        let AttemptEnd::Done { result } = finish.end else { panic!("{:?}", finish.end) };
        let outcome: Outcome = result.decode().expect("an outcome was written");
        assert!(matches!(outcome, Outcome::NotAsked { wait_ms: 60_000, failures: 2, .. }), "{outcome:?}");
        assert_eq!(finish.cool_down[0].key.as_str(), "host:example.org");
    }

    #[test]
    fn the_third_failure_is_the_last_and_says_what_the_host_said() {
        let error = || FetchError::Status { host: "h".to_owned(), status: 500, retry_after_ms: None };
        assert!(matches!(finish(&error(), 1, None).end, AttemptEnd::Error { .. }));
        let AttemptEnd::Done { result } = finish(&error(), 2, None).end else { panic!("not over") };
        assert!(matches!(result.decode(), Ok(Outcome::Failed(Failure { code, .. })) if code == "fetch:500"));
    }
}
