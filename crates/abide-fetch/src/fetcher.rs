//! The fetcher: one request out, through the guard, hop by hop.

use crate::ask::{Ask, BodyForm};
use crate::breaker::{Event, Verdict};
use crate::caps::Caps;
use crate::client::{BuildError, Connection, client, noting_dials};
use crate::error::{FetchError, Phase};
use crate::guard::Guard;
use crate::hosts::{Hosts, Pace};
use crate::limits::{
    PACE_WAIT_MS, PLACE_AGAIN_MS, PLACE_WAIT_MS, POOLED, REDIRECTS, ROBOTS_BYTES, ROBOTS_KEPT_MS, ROBOTS_MS,
    ROBOTS_UNREACHABLE_MS,
};
use crate::options::{FetchOptions, RobotsRule};
use crate::places::{Came, Place, Places};
use crate::reply::Reply;
use crate::robots::{Held, Policy, RobotsCache, product_token};
use abide_core::host_key::host_key;
use abide_core::time::{Clock, Time};
use bytes::Bytes;
use reqwest::Client;
use reqwest::header::{ACCEPT_ENCODING, AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;
use tracing::field::Empty;
use url::Url;

/// Fetches what data names. Cheap to clone; clones share connections, breakers and robots files.
#[derive(Clone)]
pub struct Fetcher {
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    options: FetchOptions,
    clock: Arc<dyn Clock>,
    /// Gives bodies as they are sent.
    as_sent: Client,
    /// Undoes gzip and brotli; the bound is on what comes out.
    decoded: Client,
    hosts: Hosts,
    places: Places,
    caps: watch::Sender<Knows>,
    robots: RobotsCache,
}

/// Who knows how many requests a host may have.
#[derive(Clone)]
enum Knows {
    Nobody,
    SomebodySoon,
    Somebody(Arc<dyn Caps>),
}

/// What a fetch is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// Somebody wants it.
    Asked,
    /// It is the robots file of a host that somebody asks, who has a place there.
    RobotsFile,
}

/// A small document.
#[derive(Debug, Clone)]
pub struct Page {
    /// Where it came from in the end.
    pub url: Url,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// A robots file to come. Boxed, because a fetch asks for a robots file, which is a fetch.
type FetchingRobots<'a> = Pin<Box<dyn Future<Output = Result<Held, FetchError>> + Send + 'a>>;

impl Fetcher {
    /// A fetcher behind `guard`.
    pub fn new(guard: Guard, options: FetchOptions, clock: Arc<dyn Clock>) -> Result<Fetcher, BuildError> {
        let as_sent = client(&guard, &options, |builder| builder.no_gzip().no_brotli())?;
        let decoded = client(&guard, &options, |builder| builder)?;
        let (hosts, places, robots) = (Hosts::default(), Places::default(), RobotsCache::default());
        let caps = watch::Sender::new(Knows::Nobody);
        let shared = Shared { guard, options, clock, as_sent, decoded, hosts, places, caps, robots };
        Ok(Fetcher { shared: Arc::new(shared) })
    }

    /// The guard it stands behind.
    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.shared.guard
    }

    /// Sends a GET and follows redirects. Any status but a redirect is a reply.
    pub async fn open(&self, ask: &Ask) -> Result<Reply, FetchError> {
        self.open_for(Purpose::Asked, ask).await
    }

    /// Fetches a small document whole; a status that is no success is an error.
    pub async fn page(&self, url: &str) -> Result<Page, FetchError> {
        let reply = self.open(&Ask::page(url)).await?.success()?;
        let (url, headers) = (reply.url().clone(), reply.headers().clone());
        Ok(Page { url, headers, body: reply.body().await? })
    }

    /// How far apart the host of `url` wants its requests, if its robots file has been read.
    #[must_use]
    pub fn crawl_delay_ms(&self, url: &str) -> Option<i64> {
        let url = self.shared.guard.url(url).ok()?;
        self.shared.robots.peek(&origin(&url), self.elapsed())?.crawl_delay_ms()
    }

    /// How much longer the host of `url` is left alone, because it failed too often or asked for it.
    #[must_use]
    pub fn resting_ms(&self, url: &str) -> Option<i64> {
        let url = self.shared.guard.url(url).ok()?;
        let until = self.shared.hosts.resting_until(&host(&url))?;
        Some(until.since(self.elapsed())).filter(|wait_ms| *wait_ms > 0)
    }

    /// From now on `caps` says how many requests may be with a host to which a redirect leads. What it does not know is as
    /// the options have it.
    pub fn ask_caps(&self, caps: Arc<dyn Caps>) {
        self.shared.caps.send_replace(Knows::Somebody(caps));
    }

    /// Somebody will say it: whoever is led anywhere before waits for that, though not for long.
    pub fn expect_caps(&self) {
        self.shared.caps.send_replace(Knows::SomebodySoon);
    }

    /// The host at which the fetch of `url` waits for a place: a redirect led it, or others, there.
    #[must_use]
    pub fn waits_at(&self, url: &str) -> Option<String> {
        self.shared.places.waits_at(url)
    }

    pub(crate) fn options(&self) -> &FetchOptions {
        &self.shared.options
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    pub(crate) fn tell(&self, url: &Url, event: Event) -> Verdict {
        self.shared.hosts.tell(&host(url), event, self.elapsed())
    }

    async fn open_for(&self, purpose: Purpose, ask: &Ask) -> Result<Reply, FetchError> {
        let deadline = Instant::now() + Duration::from_millis(ask.total_ms);
        let asked = self.shared.guard.url(&ask.url)?;
        let mut url = asked.clone();
        let mut headers = ask.headers.clone();
        for _ in 0..=REDIRECTS {
            let place = match purpose {
                Purpose::Asked => Some(self.enter(&url, &asked, ask, deadline).await?),
                Purpose::RobotsFile => None,
            };
            if purpose == Purpose::Asked && self.shared.options.robots == RobotsRule::Obey {
                self.obey_robots(&url, ask, deadline).await?;
            }
            self.ask_breaker(&url)?;
            let asked_at = Instant::now();
            let response = self.request(&url, ask, headers.clone(), deadline).await.inspect_err(|error| {
                if error.blames_host() {
                    self.tell(&url, Event::Failed { retry_after_ms: None });
                }
            })?;
            let Some(location) = redirect_location(&response) else {
                return Reply::new(self, url, response, place, ask, deadline, asked_at.elapsed());
            };
            self.tell(&url, Event::Succeeded);
            let next = self.shared.guard.redirect(&url, &location)?;
            if next.origin() != url.origin() {
                drop_credentials(&mut headers);
            }
            // What was had at this host is free before the next one is waited for.
            url = next;
        }
        Err(FetchError::Redirects { host: host(&url) })
    }

    /// A place at the host of `url`, to which the fetch of `asked` has come. It waits for one only so long.
    async fn enter(&self, url: &Url, asked: &Url, ask: &Ask, deadline: Instant) -> Result<Place, FetchError> {
        let host = host(url);
        let is_led = host != self::host(asked);
        let came = if is_led { Came::Led { cap: self.cap_of(&host).await } } else { Came::Directly };
        let began = Instant::now();
        let longest = began + Duration::from_millis(PLACE_WAIT_MS);
        let entering = self.shared.places.enter(&host, came, &ask.url);
        let entered = timeout_at(longest.min(deadline), entering).await;
        let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        if waited_ms > 0 {
            tracing::debug!(
                name: "host_concurrency_wait_ms",
                target: "fetch",
                host,
                host_concurrency_wait_ms = waited_ms,
            );
        }
        entered.map_err(|_| FetchError::Crowded { host, wait_ms: PLACE_AGAIN_MS })
    }

    /// How many requests may be with a host to which a redirect leads.
    async fn cap_of(&self, host: &str) -> usize {
        let mut knows = self.shared.caps.subscribe();
        let asking = async {
            let knows = knows.wait_for(|knows| !matches!(knows, Knows::SomebodySoon)).await.ok()?.clone();
            match knows {
                Knows::Somebody(caps) => caps.of(host).await,
                Knows::Nobody | Knows::SomebodySoon => None,
            }
        };
        let soon = Instant::now() + Duration::from_millis(PLACE_WAIT_MS);
        timeout_at(soon, asking).await.ok().flatten().unwrap_or(self.shared.options.per_host)
    }

    /// Sends one request, in a span of its own. The span names the host and never the URL, which may hold a secret.
    async fn request(
        &self,
        url: &Url,
        ask: &Ask,
        headers: HeaderMap,
        deadline: Instant,
    ) -> Result<reqwest::Response, FetchError> {
        let span = tracing::info_span!(
            target: "fetch",
            "http.request",
            otel.kind = "client",
            resolver = ask.resolver,
            host = host(url),
            http.status_code = Empty,
            error.type = Empty,
        );
        let answer = self.send(url, ask.body, headers, deadline).instrument(span.clone()).await;
        match &answer {
            Ok(response) => span.record("http.status_code", response.status().as_u16()),
            Err(error) => span.record("error.type", error.reason().as_str()),
        };
        answer
    }

    async fn send(
        &self,
        url: &Url,
        body: BodyForm,
        mut headers: HeaderMap,
        deadline: Instant,
    ) -> Result<reqwest::Response, FetchError> {
        let client = match body {
            BodyForm::AsSent => {
                headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
                &self.shared.as_sent
            }
            BodyForm::Decoded => &self.shared.decoded,
        };
        let headers_at = Instant::now() + Duration::from_millis(self.shared.options.headers_ms);
        let sent = timeout_at(headers_at.min(deadline), send_until_fresh(client, url, &headers)).await;
        let Ok(response) = sent else {
            let phase = if Instant::now() >= deadline { Phase::Total } else { Phase::Headers };
            return Err(FetchError::Timeout { host: host(url), phase });
        };
        let response = response?;
        if let Some(peer) = response.remote_addr() {
            self.shared.guard.address(url.host_str().unwrap_or_default(), peer.ip())?;
        }
        Ok(response)
    }

    fn ask_breaker(&self, url: &Url) -> Result<(), FetchError> {
        match self.tell(url, Event::Asked) {
            Verdict::Pass => Ok(()),
            Verdict::Wait { until } => {
                Err(FetchError::BreakerOpen { host: host(url), wait_ms: until.since(self.elapsed()).max(1) })
            }
        }
    }

    async fn obey_robots(&self, url: &Url, ask: &Ask, deadline: Instant) -> Result<(), FetchError> {
        let origin = origin(url);
        let late = |_| FetchError::Timeout { host: host(url), phase: Phase::Total };
        let asked = self.shared.robots.get(&origin, self.elapsed(), self.fetch_robots(url, ask));
        let held = timeout_at(deadline, asked).await.map_err(late)??;
        match held.policy {
            Policy::Unreachable { status } => {
                let wait_ms = held.expires_at.since(self.elapsed()).max(1);
                return Err(FetchError::RobotsUnreachable { host: host(url), status, wait_ms });
            }
            Policy::Rules(_) if held.policy.allows(url) != Some(true) => {
                return Err(FetchError::Robots {
                    host: host(url),
                    path: url.path().chars().take(200).collect(),
                });
            }
            Policy::Rules(_) => {}
        }
        let Some(delay_ms) = held.policy.crawl_delay_ms() else { return Ok(()) };
        match self.shared.hosts.pace(&host(url), delay_ms, PACE_WAIT_MS, self.elapsed()) {
            Pace::TooLong(wait_ms) => Err(FetchError::Paced { host: host(url), wait_ms }),
            Pace::In(wait_ms) => {
                let turn = tokio::time::sleep(Duration::from_millis(wait_ms.unsigned_abs()));
                timeout_at(deadline, turn).await.map_err(late)
            }
        }
    }

    /// Reads the robots file of the host of `url`. What keeps it from being read keeps `url` from being read too, and is
    /// given as it is; only a file that is said to be where nobody may go counts as not there.
    fn fetch_robots<'a>(&'a self, url: &'a Url, asked: &Ask) -> FetchingRobots<'a> {
        let (bytes_max, total_ms, resolver) = (u64::MAX, ROBOTS_MS, asked.resolver.clone());
        let ask = Ask { bytes_max, total_ms, resolver, ..Ask::page(origin(url) + "/robots.txt") };
        Box::pin(async move {
            let mut reply = match self.open_for(Purpose::RobotsFile, &ask).await {
                Ok(reply) => reply,
                Err(FetchError::Redirects { .. }) => return Ok(self.held(Policy::allow_all(), 0)),
                Err(FetchError::Refused(refused)) if !refused.is_about(url) => {
                    return Ok(self.held(Policy::allow_all(), 0));
                }
                Err(error) => return Err(error),
            };
            let mut body = Vec::new();
            while reply.is_success() && body.len() < ROBOTS_BYTES {
                let Some(piece) = reply.chunk().await? else { break };
                body.extend_from_slice(&piece);
            }
            body.truncate(ROBOTS_BYTES);
            let product = product_token(&self.shared.options.user_agent);
            Ok(self.held(Policy::of_reply(reply.status(), &body, product), body.len()))
        })
    }

    fn held(&self, policy: Policy, bytes: usize) -> Held {
        let kept_ms = match policy {
            Policy::Rules(_) => ROBOTS_KEPT_MS,
            Policy::Unreachable { .. } => ROBOTS_UNREACHABLE_MS,
        };
        Held { policy, expires_at: self.elapsed().plus_ms(kept_ms), bytes }
    }

    /// The present on the axis that never runs backwards.
    fn elapsed(&self) -> Time {
        Time(self.shared.clock.elapsed_ms())
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("options", &self.shared.options).finish_non_exhaustive()
    }
}

/// Sends a GET, and again if the connection was kept from an earlier request and broke before it brought an answer: then
/// the server had closed it, and there may be more of its sort, but never more than are kept.
async fn send_until_fresh(
    client: &Client,
    url: &Url,
    headers: &HeaderMap,
) -> Result<reqwest::Response, FetchError> {
    let mut kept = POOLED;
    loop {
        let request = client.get(url.clone()).headers(headers.clone());
        let (sent, connection) = noting_dials(request.send()).await;
        match sent.map_err(|error| FetchError::of_request(&host(url), error)) {
            Err(FetchError::Broken { .. }) if connection == Connection::Reused && kept > 0 => kept -= 1,
            sent => return sent,
        }
    }
}

fn redirect_location(response: &reqwest::Response) -> Option<String> {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308).then_some(())?;
    let location = response.headers().get(LOCATION)?;
    Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
}

fn drop_credentials(headers: &mut HeaderMap) {
    let is_secret = |name: &HeaderName, value: &HeaderValue| {
        value.is_sensitive() || *name == AUTHORIZATION || *name == COOKIE
    };
    let kept = headers.iter().filter(|(name, value)| !is_secret(name, value));
    *headers = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
}

fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// The host as limit keys have it.
pub(crate) fn host(url: &Url) -> String {
    host_key(url.as_str()).unwrap_or_default()
}
