//! Changing an entity that others change as well.

use crate::answer::{Made, Shown};
use crate::content::ContentId;
use crate::error::EntityError;
use crate::id::EntityId;
use crate::request::Append;
use crate::store::EntityStore;
use std::time::Duration;

const RETRIES: u32 = 10;
const BASE_MS: u64 = 100;
const CAP_MS: u64 = 5_000;
/// A wait is longer or shorter by up to so many percent.
const JITTER_PERCENT: u64 = 30;

/// Makes a version with what `change` makes of the newest one, again with the next one if somebody else was faster.
///
/// What cannot succeed by repeating is given up at once; everything else after ten retries.
pub async fn update(
    store: &dyn EntityStore,
    id: &EntityId,
    mut change: impl FnMut(&Shown) -> Append + Send,
) -> Result<Made, EntityError> {
    let mut retry = 0;
    loop {
        let made = match store.get(id).await {
            Ok(shown) => store.append(id, change(&shown)).await,
            Err(error) => Err(error),
        };
        match made {
            Err(error) if error.is_retryable() && retry < RETRIES => rest(&mut retry).await?,
            other => return other,
        }
    }
}

/// An entity after [`update_if`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Updated {
    /// Its tip.
    pub tip: ContentId,
    /// Its version.
    pub ver: u32,
    /// Whether that version is a new one.
    pub is_changed: bool,
}

/// The same as [`update`], but makes no version if `change` sees nothing to change.
pub async fn update_if(
    store: &dyn EntityStore,
    id: &EntityId,
    mut change: impl FnMut(&Shown) -> Option<Append> + Send,
) -> Result<Updated, EntityError> {
    let mut retry = 0;
    loop {
        let changed = match store.get(id).await {
            Ok(shown) => match change(&shown) {
                None => return Ok(Updated { tip: shown.tip, ver: shown.ver, is_changed: false }),
                Some(append) => store.append(id, append).await,
            },
            Err(error) => Err(error),
        };
        match changed {
            Ok(made) => return Ok(Updated { tip: made.tip, ver: made.ver, is_changed: true }),
            Err(error) if error.is_retryable() && retry < RETRIES => rest(&mut retry).await?,
            Err(error) => return Err(error),
        }
    }
}

async fn rest(retry: &mut u32) -> Result<(), EntityError> {
    tokio::time::sleep(wait(*retry)?).await;
    *retry += 1;
    Ok(())
}

/// How long to wait before the next try.
fn wait(retry: u32) -> Result<Duration, EntityError> {
    let ms = BASE_MS.saturating_mul(1 << retry.min(16)).min(CAP_MS);
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| EntityError::Backend(format!("no randomness for a wait: {error}")))?;
    let spread = 2 * ms * JITTER_PERCENT / 100;
    let wait = ms - spread / 2 + u64::from_le_bytes(random) % (spread + 1);
    Ok(Duration::from_millis(wait))
}
