//! robots.txt: what a host allows, remembered within a bound.
//!
//! By RFC 9309 a file that is not there (4xx, too many redirects) allows everything, and one that the server fails to give
//! (5xx) shuts the host until it is asked again. So does one that it does not give because it was asked too often (429): there
//! may well be one.

use crate::error::FetchError;
use crate::limits::{CRAWL_DELAY_MS, ROBOTS_HOSTS, ROBOTS_KEPT_BYTES};
use abide_core::time::Time;
use robotxt::{Agent, Robots};
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OnceCell;
use url::Url;

/// What one host's robots.txt says to this crawler. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Policy {
    /// These rules.
    Rules(Arc<Robots>),
    /// Nothing for now: the server failed, or was asked too often.
    Unreachable {
        /// With this status.
        status: u16,
    },
}

impl Policy {
    /// What follows from the reply to the request for the file.
    #[must_use]
    pub fn of_reply(status: u16, body: &[u8], product: &str) -> Policy {
        match status {
            200..=299 => Policy::Rules(Arc::new(Robots::parse(body, Agent::Exact(product)))),
            429 | 500.. => Policy::Unreachable { status },
            _ => Policy::allow_all(),
        }
    }

    /// Everything is allowed.
    #[must_use]
    pub fn allow_all() -> Policy {
        Policy::Rules(Arc::new(Robots::allow_all()))
    }

    /// Whether `url` may be fetched; nothing if it is not known for now.
    #[must_use]
    pub fn allows(&self, url: &Url) -> Option<bool> {
        match self {
            Policy::Rules(robots) => Some(robots.is_url_allowed(url)),
            Policy::Unreachable { .. } => None,
        }
    }

    /// How far apart requests should be, at most [`CRAWL_DELAY_MS`].
    #[must_use]
    pub fn crawl_delay_ms(&self) -> Option<i64> {
        let Policy::Rules(robots) = self else { return None };
        let delay_ms = i64::try_from(robots.crawl_delay()?.as_millis()).unwrap_or(i64::MAX);
        (delay_ms > 0).then_some(delay_ms.min(CRAWL_DELAY_MS))
    }
}

/// The name by which robots files address a crawler: the letters, `-` and `_` that its user agent begins with.
#[must_use]
pub fn product_token(user_agent: &str) -> &str {
    let end = user_agent.find(|c: char| !(c.is_ascii_alphabetic() || matches!(c, '-' | '_')));
    &user_agent[..end.unwrap_or(user_agent.len())]
}

/// A policy and how long it is believed.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) policy: Policy,
    pub(crate) expires_at: Time,
    /// Of the file it came from.
    pub(crate) bytes: usize,
}

/// Policies by origin. Whoever asks first fetches, the others wait for it; the lock is held only to find the place, never
/// across an `await`.
#[derive(Debug, Default)]
pub(crate) struct RobotsCache {
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    by_origin: BTreeMap<String, Slot>,
    next_stamp: u64,
}

#[derive(Debug)]
struct Slot {
    held: Arc<OnceCell<Held>>,
    /// Rises with each slot: the oldest goes first.
    stamp: u64,
}

impl RobotsCache {
    /// The policy of `origin`: as it is known at `now`, or as `fetch` finds it.
    pub(crate) async fn get(
        &self,
        origin: &str,
        now: Time,
        fetch: impl Future<Output = Result<Held, FetchError>>,
    ) -> Result<Held, FetchError> {
        let slot = self.lock().place(origin, now);
        if let Some(held) = slot.get() {
            return Ok(held.clone());
        }
        let held = slot.get_or_try_init(|| fetch).await?.clone();
        self.lock().shed();
        Ok(held)
    }

    /// The policy of `origin` if it is known at `now`.
    pub(crate) fn peek(&self, origin: &str, now: Time) -> Option<Policy> {
        let slots = self.lock();
        let held = slots.by_origin.get(origin)?.held.get()?;
        (held.expires_at > now).then(|| held.policy.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Slots> {
        // Each step leaves the map whole, so a panic elsewhere under the lock spoils nothing.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    fn place(&mut self, origin: &str, now: Time) -> Arc<OnceCell<Held>> {
        if let Some(slot) = self.by_origin.get(origin)
            && slot.held.get().is_none_or(|held| held.expires_at > now)
        {
            return slot.held.clone();
        }
        let held = Arc::new(OnceCell::new());
        self.next_stamp += 1;
        self.by_origin.insert(origin.to_owned(), Slot { held: held.clone(), stamp: self.next_stamp });
        self.shed();
        held
    }

    fn shed(&mut self) {
        let bytes = |slot: &Slot| slot.held.get().map_or(0, |held| held.bytes);
        let mut total: usize = self.by_origin.values().map(bytes).sum();
        while self.by_origin.len() > ROBOTS_HOSTS || total > ROBOTS_KEPT_BYTES {
            let oldest = self.by_origin.iter().min_by_key(|(_, slot)| slot.stamp);
            let Some(origin) = oldest.map(|(origin, _)| origin.clone()) else { break };
            total -= self.by_origin.remove(&origin).as_ref().map_or(0, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &[u8] = b"User-agent: abide\nDisallow: /no\nAllow: /no/but\nCrawl-delay: 2\n\n\
        User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /stars\nCrawl-delay: 1000\n";

    #[test]
    fn the_rfc_decides_by_status() {
        let allows = |status, path: &str| {
            let url = Url::parse("http://example.org").unwrap().join(path).unwrap();
            Policy::of_reply(status, FILE, "abide").allows(&url)
        };
        for (status, path, expected) in [
            (200, "/", Some(true)),
            (200, "/no", Some(false)),
            (200, "/no/page?q=1", Some(false)),
            (200, "/no/but/this", Some(true)),
            (200, "/stars", Some(true)),
            (200, "/robots.txt", Some(true)),
            (204, "/no", Some(false)),
            (304, "/no", Some(true)),
            (401, "/no", Some(true)),
            (403, "/no", Some(true)),
            (404, "/no", Some(true)),
            (429, "/no", None),
            (500, "/", None),
            (503, "/no", None),
        ] {
            assert_eq!(allows(status, path), expected, "{status} {path}");
        }
    }

    #[test]
    fn the_crawl_delay_is_capped() {
        let delay = |product| Policy::of_reply(200, FILE, product).crawl_delay_ms();
        assert_eq!(delay("abide"), Some(2_000));
        assert_eq!(delay("unnamed"), Some(CRAWL_DELAY_MS));
        assert_eq!(delay("other"), None);
    }

    #[test]
    fn the_product_token_is_what_robots_files_name() {
        for (user_agent, expected) in [
            ("abide/0.1", "abide"),
            ("Abide-Bot_x (+mailto:a@b)", "Abide-Bot_x"),
            ("1x", ""),
            ("abide", "abide"),
        ] {
            assert_eq!(product_token(user_agent), expected);
        }
    }

    fn held(bytes: usize) -> Held {
        Held { policy: Policy::allow_all(), expires_at: Time(100), bytes }
    }

    #[tokio::test]
    async fn a_file_is_fetched_once_until_it_expires_or_fails() {
        let cache = RobotsCache::default();
        let gone = || FetchError::Redirects { host: "a".into() };
        assert!(cache.get("a", Time(0), async { Err(gone()) }).await.is_err());
        assert!(cache.peek("a", Time(0)).is_none());
        cache.get("a", Time(0), async { Ok(held(1)) }).await.unwrap();
        cache.get("a", Time(99), async { panic!("known") }).await.unwrap();
        assert!(cache.peek("a", Time(99)).is_some());
        assert!(cache.peek("a", Time(100)).is_none());
        assert!(cache.get("a", Time(100), async { Err(gone()) }).await.is_err());
    }

    #[tokio::test]
    async fn memory_of_files_is_bounded() {
        let cache = RobotsCache::default();
        for number in 0..100 {
            let origin = format!("origin-{number}");
            cache.get(&origin, Time(0), async { Ok(held(1024 * 1024)) }).await.unwrap();
        }
        assert_eq!(cache.lock().by_origin.len(), 32);
        assert!(cache.peek("origin-99", Time(0)).is_some());
        assert!(cache.peek("origin-67", Time(0)).is_none());
    }
}
