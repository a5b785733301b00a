//! What a link would show, for whoever is about to save it.

use super::fetch::fetch;
use crate::identity::Identity;
use crate::limits::{PREVIEW_BYTES, PREVIEW_MS, PREVIEWS};
use crate::page::{Metadata, Outcome};
use abide_fetch::{FetchError, Fetcher};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Looks at pages, a few at a time. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Preview {
    fetcher: Fetcher,
    places: Arc<Semaphore>,
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
    /// Others are looking.
    #[error("{PREVIEWS} previews are under way, as many as may: try again in a moment")]
    Busy,
}

impl Preview {
    /// One that fetches through `fetcher`.
    #[must_use]
    pub fn new(fetcher: Fetcher) -> Preview {
        Preview { fetcher, places: Arc::new(Semaphore::new(PREVIEWS)) }
    }

    /// What a link to `url` would show.
    pub async fn of(&self, url: &str) -> Result<Metadata, NoPreview> {
        let Identity { url, .. } =
            Identity::of(url).map_err(|error| NoPreview::BadTarget(error.to_string()))?;
        let Ok(_place) = self.places.try_acquire() else { return Err(NoPreview::Busy) };
        match fetch(&self.fetcher, &url, PREVIEW_BYTES, PREVIEW_MS).await {
            Ok(Outcome::Ok(page) | Outcome::Empty(page)) => Ok(page.metadata),
            Ok(Outcome::Failed(failure)) => {
                Err(NoPreview::NoPage(format!("{url} gave no page that can be read: {}", failure.code)))
            }
            Err(FetchError::Refused(refused)) => Err(NoPreview::BadTarget(refused.to_string())),
            Err(error @ FetchError::Timeout { .. }) => Err(NoPreview::Timeout(error.to_string())),
            Err(error) => Err(NoPreview::NoPage(error.to_string())),
        }
    }
}
