//! What all who ask models share: a limiter for each endpoint and model, which says how many questions at a time and rests when it
//! is asked to, and what they spend and may spend.

use crate::client::Endpoint;
use crate::limits::LIMITERS;
use crate::purse::Purse;
use crate::spend::{Ledger, Price, Spent};
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

    /// What was spent on each model since the process began, by everybody who asked it.
    #[must_use]
    pub fn spent(&self) -> BTreeMap<String, Spent> {
        let by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let mut spent: BTreeMap<String, Spent> = BTreeMap::new();
        for ((_, model), limiter) in by_name.iter() {
            let of_model = spent.entry(model.clone()).or_default();
            *of_model = of_model.plus(limiter.ledger.spent(limiter.price));
        }
        spent
    }

    /// The limiter of a model; made with its room for questions and its price if there is none yet.
    pub(crate) fn of(&self, endpoint: &Endpoint) -> Arc<Limiter> {
        let Endpoint { base_url, model, concurrency, price, .. } = endpoint;
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        if by_name.len() >= LIMITERS {
            by_name.retain(|_, limiter| Arc::strong_count(limiter) > 1);
        }
        let key = (base_url.clone(), model.clone());
        by_name.entry(key).or_insert_with(|| Arc::new(Limiter::new(*concurrency, *price))).clone()
    }
}

#[derive(Debug)]
pub(crate) struct Limiter {
    room: Arc<Semaphore>,
    /// Read and written in one step, never across an `await`.
    rest_until: Mutex<Option<Instant>>,
    ledger: Ledger,
    price: Price,
}

impl Limiter {
    fn new(concurrency: usize, price: Price) -> Limiter {
        let room = Arc::new(Semaphore::new(concurrency.max(1)));
        Limiter { room, rest_until: Mutex::new(None), ledger: Ledger::default(), price }
    }

    /// Counts what is spent on its model.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
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
