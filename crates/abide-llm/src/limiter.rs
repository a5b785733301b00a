//! What all who ask models share: a limiter for each endpoint and model, which says how many questions at a time and rests when it
//! is asked to, and what they may spend.

use crate::limits::LIMITERS;
use crate::purse::Purse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The limiters of a process. Cheap to clone; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Limiters {
    /// Looked up when a client is made, never across an `await`.
    by_name: Arc<Mutex<ByName>>,
    purse: Arc<OnceLock<Purse>>,
}

/// Limiters by endpoint and model.
type ByName = BTreeMap<(String, String), Arc<Limiter>>;

impl Limiters {
    /// What everybody may spend: `budget_micros`, unless there is a purse already.
    #[must_use]
    pub fn purse_of(&self, budget_micros: u64) -> Purse {
        self.purse.get_or_init(|| Purse::new(budget_micros)).clone()
    }

    /// What everybody may spend, if that is bounded.
    #[must_use]
    pub fn purse(&self) -> Option<Purse> {
        self.purse.get().cloned()
    }

    /// The limiter of `model` at `endpoint`; made with room for `concurrency` questions if there is none yet.
    pub(crate) fn of(&self, endpoint: &str, model: &str, concurrency: usize) -> Arc<Limiter> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if by_name.len() >= LIMITERS {
            by_name.retain(|_, limiter| Arc::strong_count(limiter) > 1);
        }
        let key = (endpoint.to_owned(), model.to_owned());
        by_name.entry(key).or_insert_with(|| Arc::new(Limiter::new(concurrency))).clone()
    }
}

#[derive(Debug)]
pub(crate) struct Limiter {
    room: Arc<Semaphore>,
    /// Read and written in one step, never across an `await`.
    rest_until: Mutex<Option<Instant>>,
}

impl Limiter {
    fn new(concurrency: usize) -> Limiter {
        Limiter { room: Arc::new(Semaphore::new(concurrency.max(1))), rest_until: Mutex::new(None) }
    }

    /// Waits for room and until the endpoint has rested.
    pub(crate) async fn enter(&self) -> OwnedSemaphorePermit {
        let permit = self.room.clone().acquire_owned().await.expect("the semaphore is never closed");
        while let Some(until) = self.resting() {
            tokio::time::sleep_until(until).await;
        }
        permit
    }

    /// Leaves the endpoint alone for a while.
    pub(crate) fn rest(&self, ms: i64) {
        let until = Instant::now() + Duration::from_millis(ms.max(0).unsigned_abs());
        let mut rest_until = self.rest_until.lock().unwrap_or_else(PoisonError::into_inner);
        *rest_until = Some(rest_until.map_or(until, |earlier| earlier.max(until)));
    }

    fn resting(&self) -> Option<Instant> {
        let rest_until = *self.rest_until.lock().unwrap_or_else(PoisonError::into_inner);
        rest_until.filter(|until| *until > Instant::now())
    }
}
