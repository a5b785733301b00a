//! Changing an entity that others change as well.

use crate::answer::{Made, Shown};
use crate::content::ContentId;
use crate::error::EntityError;
use crate::id::EntityId;
use crate::request::Append;
use crate::store::EntityStore;
use std::time::Duration;

/// How often something is repeated, and after how long.
#[derive(Debug, Clone, Copy)]
struct Pace {
    retries: u32,
    base_ms: u64,
    cap_ms: u64,
}

/// The other side does not answer, or not now.
const UNAVAILABLE: Pace = Pace { retries: 10, base_ms: 100, cap_ms: 5_000 };
/// Somebody else was faster. Each time one of all has won, so it is repeated often, and soon.
const RACE: Pace = Pace { retries: 200, base_ms: 4, cap_ms: 500 };
/// A wait is longer or shorter by up to so many percent.
const JITTER_PERCENT: u64 = 60;

/// Makes a version with what `change` makes of the newest one, again with the next one if somebody else was faster.
///
/// What cannot succeed by repeating is given up at once; a store that does not answer after ten retries.
pub async fn update(
    store: &dyn EntityStore,
    id: &EntityId,
    mut change: impl FnMut(&Shown) -> Append + Send,
) -> Result<Made, EntityError> {
    let mut tries = Tries::default();
    loop {
        let made = match store.get(id).await {
            Ok(shown) => store.append(id, change(&shown)).await,
            Err(error) => Err(error),
        };
        match made {
            Err(error) => tries.rest(error).await?,
            made => return made,
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
    let mut tries = Tries::default();
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
            Err(error) => tries.rest(error).await?,
        }
    }
}

/// What went wrong so far.
#[derive(Debug, Default)]
struct Tries {
    races: u32,
    failures: u32,
}

impl Tries {
    /// Waits before the next try; the error, if there is none.
    async fn rest(&mut self, error: EntityError) -> Result<(), EntityError> {
        let (pace, tries) = match &error {
            EntityError::Cas(_) => (RACE, &mut self.races),
            error if error.is_retryable() => (UNAVAILABLE, &mut self.failures),
            _ => return Err(error),
        };
        if *tries >= pace.retries {
            return Err(error);
        }
        tokio::time::sleep(wait(pace, *tries)?).await;
        *tries += 1;
        Ok(())
    }
}

/// How long to wait before the next try.
fn wait(pace: Pace, retry: u32) -> Result<Duration, EntityError> {
    let ms = pace.base_ms.saturating_mul(1 << retry.min(16)).min(pace.cap_ms);
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| EntityError::Backend(format!("no randomness for a wait: {error}")))?;
    let spread = 2 * ms * JITTER_PERCENT / 100;
    let wait = ms - spread / 2 + u64::from_le_bytes(random) % (spread + 1);
    Ok(Duration::from_millis(wait))
}
