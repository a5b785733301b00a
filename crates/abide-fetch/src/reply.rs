//! A reply whose body is read in pieces, within bounds.

use crate::ask::Ask;
use crate::breaker::Event;
use crate::content_range::ContentRange;
use crate::error::{FetchError, Phase};
use crate::fetcher::{Fetcher, host};
use crate::places::Place;
use crate::retry_after::retry_after_ms;
use bytes::{Bytes, BytesMut};
use reqwest::StatusCode;
use reqwest::header::{CONTENT_LENGTH, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use url::Url;

/// The reply of the last hop. Its breaker hears how the body ended.
#[derive(Debug)]
pub struct Reply {
    url: Url,
    response: reqwest::Response,
    fetcher: Fetcher,
    /// Held until the body has come.
    place: Option<Place>,
    /// Bytes of the whole, and those that are not in this body.
    bound: u64,
    before: u64,
    deadline: Instant,
    received: u64,
    latency: Duration,
    is_told: bool,
}

impl Reply {
    pub(crate) fn new(
        fetcher: &Fetcher,
        url: Url,
        response: reqwest::Response,
        place: Option<Place>,
        ask: &Ask,
        deadline: Instant,
        latency: Duration,
    ) -> Result<Reply, FetchError> {
        let fetcher = fetcher.clone();
        // Whoever is asked for the rest may send all of it instead, or another part.
        let is_rest = response.status() == StatusCode::PARTIAL_CONTENT
            && ContentRange::of(response.headers()).is_some_and(|range| range.first == ask.bytes_before);
        let before = if is_rest { ask.bytes_before } else { 0 };
        let (bound, received, is_told) = (ask.bytes_max, 0, false);
        let mut reply =
            Reply { url, response, fetcher, place, bound, before, deadline, received, latency, is_told };
        match reply.status() {
            408 | 429 | 500 | 502 | 503 | 504 => {
                let retry_after_ms = reply.retry_after_ms();
                reply.tell(Event::Failed { retry_after_ms });
            }
            200 | 206 => {}
            _ => reply.tell(Event::Succeeded),
        }
        let whole = reply.announced().map(|announced| announced.saturating_add(before));
        match whole.filter(|_| reply.is_success()) {
            Some(announced) if announced > bound => {
                Err(FetchError::Announced { host: reply.host(), announced, bound })
            }
            Some(_) | None => Ok(reply),
        }
    }

    /// Where it came from in the end.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The status code.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Whether the status is a success.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// From its request to its head.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.latency
    }

    /// The headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// A header that is text.
    #[must_use]
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers().get(name)?.to_str().ok().map(str::trim)
    }

    /// The announced length of the body, as it is sent.
    #[must_use]
    pub fn announced(&self) -> Option<u64> {
        self.header(CONTENT_LENGTH)?.parse().ok()
    }

    /// Itself if the status is a success.
    pub fn success(self) -> Result<Reply, FetchError> {
        if self.is_success() { Ok(self) } else { Err(self.status_error()) }
    }

    /// The error that its status is.
    #[must_use]
    pub fn status_error(&self) -> FetchError {
        let retry_after_ms = self.retry_after_ms();
        FetchError::Status { host: self.host(), status: self.status(), retry_after_ms }
    }

    /// The next piece of the body; nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        let result = self.next_chunk().await;
        if !matches!(result, Ok(Some(_))) {
            self.place = None;
        }
        match &result {
            Ok(Some(_)) => {}
            Ok(None) => self.tell(Event::Succeeded),
            Err(error) if error.blames_host() => self.tell(Event::Failed { retry_after_ms: None }),
            Err(_) => self.tell(Event::Succeeded),
        }
        result
    }

    /// The whole body.
    pub async fn body(mut self) -> Result<Bytes, FetchError> {
        let mut body = BytesMut::new();
        while let Some(piece) = self.chunk().await? {
            body.extend_from_slice(&piece);
        }
        Ok(body.freeze())
    }

    async fn next_chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        let idle_at = Instant::now() + Duration::from_millis(self.fetcher.options().idle_ms);
        let host = self.host();
        let announced = self.announced();
        let Ok(piece) = timeout_at(idle_at.min(self.deadline), self.response.chunk()).await else {
            let phase = if Instant::now() >= self.deadline { Phase::Total } else { Phase::Idle };
            return Err(FetchError::Timeout { host, phase });
        };
        let piece = match (piece, announced) {
            (Ok(piece), _) => piece,
            (Err(_), Some(announced)) if self.received < announced => {
                return Err(FetchError::Cut { host, announced, received: self.received });
            }
            (Err(error), _) => return Err(FetchError::of_request(&host, error)),
        };
        if let Some(piece) = &piece {
            self.received = self.received.saturating_add(piece.len() as u64);
            if self.before.saturating_add(self.received) > self.bound {
                return Err(FetchError::TooLarge { host, bound: self.bound });
            }
        }
        Ok(piece)
    }

    fn retry_after_ms(&self) -> Option<i64> {
        let value = self.header(RETRY_AFTER).filter(|_| matches!(self.status(), 429 | 503))?;
        retry_after_ms(value, self.fetcher.clock().now())
    }

    fn host(&self) -> String {
        host(&self.url)
    }

    fn tell(&mut self, event: Event) {
        if !self.is_told {
            self.is_told = true;
            self.fetcher.tell(&self.url, event);
        }
    }
}

impl Drop for Reply {
    /// A body that nobody wanted to the end does not blame the host.
    fn drop(&mut self) {
        self.tell(Event::Succeeded);
    }
}
