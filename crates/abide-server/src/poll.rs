//! The long poll of remote workers: claim, or wait until claiming may give something.

use crate::access::Credentials;
use crate::app::App;
use crate::error::{ApiError, stopping};
use crate::role::Role;
use abide_core::job::{AttemptEnd, Lease};
use abide_core::name::{IdempotencyKey, JobKind, QueueName, WorkerId};
use abide_core::time::Time;
use abide_engine::machine::Notice;
use abide_store::write::{Claim, Claimed, WorkerCard};
use abide_store::{Write, Written};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often a worker that keeps asking is written down as being there.
const CARD_EVERY_MS: i64 = 20_000;
/// Workers not heard of for this long are forgotten here; the store forgets them by itself.
const CARD_KEPT_MS: i64 = 60_000;

/// What a remote worker asks for.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    /// Who asks.
    pub(crate) worker: WorkerId,
    /// From these queues.
    pub(crate) queues: Vec<QueueName>,
    /// Of these kinds.
    pub(crate) kinds: Vec<JobKind>,
    /// At most this many.
    pub(crate) max: usize,
    /// For this long.
    pub(crate) lease_ms: i64,
    /// Its name for this claim, if it may ask again.
    pub(crate) key: Option<IdempotencyKey>,
}

/// Claims jobs; if there are none, waits up to `wait` for some.
pub(crate) async fn poll(
    app: &App,
    ask: &Ask,
    wait: Duration,
    credentials: &Credentials,
) -> Result<Vec<Lease>, ApiError> {
    let mut notices = app.engine().notices();
    introduce(app, ask).await?;
    let until = Instant::now() + wait;
    let mut place = None;
    loop {
        if app.drain().has_begun() {
            return Err(stopping());
        }
        credentials.still_allow(app, Role::Operate).await?;
        let claimed = claim(app, ask).await?;
        if !claimed.leases.is_empty() || Instant::now() >= until {
            return Ok(claimed.leases);
        }
        if claimed.more {
            continue;
        }
        if place.is_none() {
            place = Some(app.wait_place()?);
        }
        let wake = claimed.next_at.map_or(until, |at| until.min(Instant::now() + time_to(app, at)));
        tokio::select! {
            () = announced(app, &mut notices, ask, wake) => {}
            () = app.drain().begun() => {}
        }
    }
}

fn time_to(app: &App, at: Time) -> Duration {
    Duration::from_millis(at.since(app.engine().now()).max(1).unsigned_abs())
}

/// Claims once. If the worker has hung up by the time the claim is durable, its jobs are handed back, unless the claim has
/// a key: then it may ask for them again, or has done so already.
async fn claim(app: &App, ask: &Ask) -> Result<Claimed, ApiError> {
    let Ask { worker, queues, kinds, max, lease_ms, key } = ask.clone();
    let may_ask_again = key.is_some();
    // The engine draws the seed, whoever asks.
    let claim = Write::Claim(Claim { worker, life: None, queues, kinds, max, lease_ms, seed: 0, key });
    let (sender, receiver) = oneshot::channel();
    let app = app.clone();
    tokio::spawn(async move {
        let claimed = app.write(claim).await.map(|written| match written {
            Written::Claimed(claimed) => claimed,
            other => unreachable!("the store answered a claim with {other:?}"),
        });
        if let Err(Ok(unwanted)) = sender.send(claimed)
            && !may_ask_again
        {
            hand_back(&app, unwanted.leases).await;
        }
    });
    receiver.await.unwrap_or_else(|_| Err(stopping()))
}

async fn hand_back(app: &App, leases: Vec<Lease>) {
    for lease in leases {
        let finish = AttemptEnd::HandedBack.into();
        // If this fails too, the lease runs out.
        drop(app.write(Write::Finish { lease: lease.lease, finish, seed: 0 }).await);
    }
}

/// Resolves at `wake`, or before when jobs that were asked for may have become ready.
async fn announced(app: &App, notices: &mut Receiver<Notice>, ask: &Ask, mut wake: Instant) {
    loop {
        let notice = tokio::select! {
            notice = notices.recv() => notice,
            () = tokio::time::sleep_until(wake) => return,
        };
        match notice {
            Ok(Notice::Ready(queue, kind)) if ask.queues.contains(&queue) && ask.kinds.contains(&kind) => {
                return;
            }
            Ok(Notice::ReadyAt(at)) => wake = wake.min(Instant::now() + time_to(app, at)),
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return,
            // The engine is gone: the next claim says so.
            Err(RecvError::Closed) => return,
        }
    }
}

/// The workers that were written down lately, so that this is not done at every poll.
#[derive(Debug, Default)]
pub(crate) struct KnownWorkers {
    // Locked for a map operation at a time, by polls.
    seen: Mutex<HashMap<WorkerId, Card>>,
}

#[derive(Debug, PartialEq, Eq)]
struct Card {
    queues: Vec<QueueName>,
    kinds: Vec<JobKind>,
    at: Time,
}

impl KnownWorkers {
    /// Whether the worker is to be written down now; if so, it counts as written.
    fn is_news(&self, ask: &Ask, now: Time) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, card| now.since(card.at) < CARD_KEPT_MS);
        let is_known = seen.get(&ask.worker).is_some_and(|card| {
            now.since(card.at) < CARD_EVERY_MS && card.queues == ask.queues && card.kinds == ask.kinds
        });
        if !is_known {
            let card = Card { queues: ask.queues.clone(), kinds: ask.kinds.clone(), at: now };
            seen.insert(ask.worker.clone(), card);
        }
        !is_known
    }

    fn forget(&self, worker: &WorkerId) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(worker);
    }
}

async fn introduce(app: &App, ask: &Ask) -> Result<(), ApiError> {
    let now = app.engine().now();
    if !app.workers().is_news(ask, now) {
        return Ok(());
    }
    let Ask { worker, queues, kinds, .. } = ask.clone();
    let card = WorkerCard { worker, life: None, queues, kinds, seen_at: now };
    let written = app.write(Write::SetWorker(card)).await;
    if written.is_err() {
        app.workers().forget(&ask.worker);
    }
    written.map(drop)
}
