//! What a link would show, for whoever is about to save it.

use super::fetch::fetch;
use crate::identity::Identity;
use crate::limits::{
    PREVIEW_BYTES, PREVIEW_MS, PREVIEW_USERS, PREVIEW_WINDOW_MS, PREVIEWS, PREVIEWS_PER_USER,
};
use crate::page::{Metadata, Outcome};
use abide_core::time::Time;
use abide_fetch::{FetchError, Fetcher};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;

/// Looks at pages, a few at a time and so many a minute for each user. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Preview {
    fetcher: Fetcher,
    places: Arc<Semaphore>,
    // Locked while a preview is counted.
    counts: Arc<Mutex<Counts>>,
}

/// Previews of each user since their window began.
#[derive(Debug, Default)]
struct Counts(HashMap<String, (Time, u32)>);

impl Counts {
    /// Counts one more, if it may be.
    fn count(&mut self, user: &str, now: Time) -> Result<(), NoPreview> {
        let is_open = |began: Time| now.since(began) < PREVIEW_WINDOW_MS;
        if self.0.len() >= PREVIEW_USERS && !self.0.contains_key(user) {
            self.0.retain(|_, (began, _)| is_open(*began));
            if self.0.len() >= PREVIEW_USERS {
                return Err(NoPreview::Busy);
            }
        }
        let (began, count) = self.0.entry(user.to_owned()).or_insert((now, 0));
        if !is_open(*began) {
            (*began, *count) = (now, 0);
        }
        if *count >= PREVIEWS_PER_USER {
            return Err(NoPreview::TooMany { wait_ms: PREVIEW_WINDOW_MS - now.since(*began) });
        }
        *count += 1;
        Ok(())
    }
}

/// Why there is nothing to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPreview {
    /// The URL is none that may be fetched.
    #[error("{0}")]
    BadTarget(String),
    /// The host did not answer in time.
    #[error("{0}")]
    Timeout(String),
    /// The host gave no page.
    #[error("{0}")]
    NoPage(String),
    /// This user has looked often enough for now.
    #[error("a user may ask for {PREVIEWS_PER_USER} previews a minute: try again in a while")]
    TooMany {
        /// How long they have to wait.
        wait_ms: i64,
    },
    /// Others are looking.
    #[error("{PREVIEWS} previews are under way, as many as may: try again in a moment")]
    Busy,
}

impl Preview {
    /// One that fetches through `fetcher`.
    #[must_use]
    pub fn new(fetcher: Fetcher) -> Preview {
        Preview { fetcher, places: Arc::new(Semaphore::new(PREVIEWS)), counts: Arc::default() }
    }

    /// What a link to `url` would show `user`.
    pub async fn of(&self, user: &str, url: &str, now: Time) -> Result<Metadata, NoPreview> {
        let Identity { url, .. } =
            Identity::of(url).map_err(|error| NoPreview::BadTarget(error.to_string()))?;
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).count(user, now)?;
        let Ok(_place) = self.places.try_acquire() else { return Err(NoPreview::Busy) };
        match fetch(&self.fetcher, &url, PREVIEW_BYTES, PREVIEW_MS).await {
            Ok(fetched) => match fetched.read().await {
                Outcome::Ok(page) | Outcome::Empty(page) => Ok(page.metadata),
                Outcome::Failed(failure) => {
                    let text =
                        format!("{url} gave no page that can be read: {} ({})", failure.code, failure.why);
                    Err(if failure.code == "fetch:timeout" {
                        NoPreview::Timeout(text)
                    } else {
                        NoPreview::NoPage(text)
                    })
                }
                Outcome::NotAsked { why, .. } => Err(NoPreview::NoPage(why)),
            },
            Err(FetchError::Refused(refused)) => Err(NoPreview::BadTarget(refused.to_string())),
            Err(error @ FetchError::Timeout { .. }) => Err(NoPreview::Timeout(error.to_string())),
            Err(error) => Err(NoPreview::NoPage(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_sixty_a_minute_and_another_has_their_own() {
        let mut counts = Counts::default();
        for n in 0..60 {
            assert_eq!(counts.count("a", Time(n)), Ok(()), "{n}");
        }
        assert_eq!(counts.count("a", Time(20_000)), Err(NoPreview::TooMany { wait_ms: 40_000 }));
        assert_eq!(counts.count("b", Time(20_000)), Ok(()));
        assert_eq!(counts.count("a", Time(60_000)), Ok(()));
    }

    #[test]
    fn users_who_are_counted_are_bounded_and_forgotten() {
        let mut counts = Counts::default();
        for n in 0..PREVIEW_USERS {
            assert_eq!(counts.count(&n.to_string(), Time(0)), Ok(()));
        }
        assert_eq!(counts.count("one more", Time(59_999)), Err(NoPreview::Busy));
        assert_eq!(counts.count("one more", Time(60_000)), Ok(()));
        assert_eq!(counts.0.len(), 1);
    }
}
