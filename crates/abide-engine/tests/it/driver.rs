//! The threads around the machine, with a store and a clock that the test holds.

use crate::objects::{Do, Puppet};
use abide_core::job::{JobId, JobState, NewJob};
use abide_core::json::Json;
use abide_core::name::{JobKind, QueueName, WorkerId};
use abide_core::time::{Clock, Time};
use abide_engine::machine::Notice;
use abide_engine::worker::{JobContext, done};
use abide_engine::{Call, CallError, Engine, EngineError, EngineOptions, Registry};
use abide_store::memory::MemoryStore;
use abide_store::write::Claim;
use abide_store::{Batch, Reader, Store, StoreError, Write, Written};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;

const BEGAN: i64 = 1_000_000_000;
const HOUR: i64 = 3_600_000;

/// Stands still unless it is moved.
#[derive(Default)]
struct Hand {
    elapsed_ms: AtomicI64,
    set_by_ms: AtomicI64,
}

impl Hand {
    fn new() -> Arc<Hand> {
        Arc::default()
    }

    fn pass(&self, ms: i64) {
        self.elapsed_ms.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the wall clock to another time.
    fn jump(&self, ms: i64) {
        self.set_by_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Time {
        Time(BEGAN + self.elapsed_ms() + self.set_by_ms.load(Ordering::SeqCst))
    }

    fn elapsed_ms(&self) -> i64 {
        self.elapsed_ms.load(Ordering::SeqCst)
    }
}

type OnWrite = Box<dyn FnMut(&[Write]) -> Option<StoreError> + Send>;
type OnReopen = Box<dyn FnMut() -> Result<(), StoreError> + Send>;

/// A store that asks the test before it writes or is opened again.
struct Asking {
    inner: MemoryStore,
    on_write: OnWrite,
    on_reopen: OnReopen,
}

impl Store for Asking {
    fn write(&mut self, now: Time, batch: &[Write]) -> Result<Batch, StoreError> {
        match (self.on_write)(batch) {
            None => self.inner.write(now, batch),
            Some(error) => Err(error),
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.inner.reader()
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        (self.on_reopen)()?;
        self.inner.reopen()
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.object(Puppet).unwrap();
    registry
}

fn at(clock: &Arc<Hand>) -> EngineOptions {
    EngineOptions { clock: clock.clone(), ..EngineOptions::default() }
}

fn job() -> NewJob {
    NewJob::new(QueueName::new("q").unwrap(), JobKind::new("work").unwrap(), Json::null())
}

async fn call(engine: &Engine, what: Do) -> Result<(), CallError> {
    let body = Json::encode(&what).unwrap();
    engine.call(Call { object: "puppet/a".parse().unwrap(), body, key: None }).await.map(drop)
}

/// What would otherwise never end fails.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future).await.unwrap()
}

fn send(to: &str) -> Write {
    Write::Send { to: to.parse().unwrap(), body: Json::encode(&Do::Now).unwrap() }
}

#[tokio::test(flavor = "multi_thread")]
async fn time_goes_on_from_what_the_store_has_seen() {
    let mut store = MemoryStore::new();
    store.write(Time(BEGAN + HOUR), &[send("puppet/b")]).unwrap();
    let clock = Hand::new();
    let engine = Engine::start(Box::new(store), registry(), at(&clock)).unwrap();
    call(&engine, Do::Now).await.unwrap();
    assert_eq!(engine.now(), Time(BEGAN + HOUR));
    clock.pass(1_000);
    assert_eq!(engine.now(), Time(BEGAN + HOUR + 1_000));
    engine.stop().await;
}

/// A job that somebody outside has leased.
async fn leased(engine: &Engine, lease_ms: i64) -> JobId {
    let id = engine.enqueue(vec![job()]).await.unwrap()[0].job();
    let claim = Claim {
        worker: WorkerId::new("outside").unwrap(),
        life: None,
        queues: vec![QueueName::new("q").unwrap()],
        kinds: vec![JobKind::new("work").unwrap()],
        max: 1,
        lease_ms,
        seed: 0,
        key: None,
    };
    let Written::Claimed(claimed) = engine.write(Write::Claim(claim)).await.unwrap() else { panic!() };
    assert_eq!(claimed.leases.len(), 1);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_takes_back_no_lease_for_that() {
    let clock = Hand::new();
    let engine = Engine::start(Box::new(MemoryStore::new()), registry(), at(&clock)).unwrap();
    let id = leased(&engine, HOUR).await;
    // So little past the lease's end that it does not look as if the process had stood still.
    clock.jump(HOUR + 1_000);
    assert_eq!(engine.write(Write::ReleaseExpired).await.unwrap(), Written::Released(Vec::new()));
    assert_eq!(engine.job(id).await.unwrap().unwrap().state, JobState::Running);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stood_still_takes_back_no_lease_for_that() {
    let clock = Hand::new();
    let engine = Engine::start(Box::new(MemoryStore::new()), registry(), at(&clock)).unwrap();
    let mut notices = engine.notices();
    let id = leased(&engine, 50).await;
    clock.pass(60_000);
    soon(async { while !matches!(notices.recv().await.unwrap(), Notice::ClockJumped { .. }) {} }).await;
    assert_eq!(engine.write(Write::ReleaseExpired).await.unwrap(), Written::Released(Vec::new()));
    assert_eq!(engine.job(id).await.unwrap().unwrap().state, JobState::Running);
    engine.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_while_the_store_cannot_be_opened_is_not_lost() {
    let go = Arc::new(Notify::new());
    let mut registry = registry();
    let until = go.clone();
    let worker = move |_: JobContext| {
        let until = until.clone();
        async move {
            until.notified().await;
            done(&())
        }
    };
    registry.worker("q", "work", 1, worker).unwrap();
    let is_turn = |batch: &[Write]| batch.iter().any(|write| matches!(write, Write::Commit(_)));
    let mut failures = 1;
    let store = Asking {
        inner: MemoryStore::new(),
        on_write: Box::new(move |batch| {
            is_turn(batch).then(|| StoreError::Ambiguous("the answer was lost".into()))
        }),
        on_reopen: Box::new(move || {
            // The job ends while the store is away: its end waits for the writer.
            go.notify_one();
            failures -= 1;
            if failures >= 0 { Err(StoreError::Unavailable("not yet".into())) } else { Ok(()) }
        }),
    };
    let engine = Engine::start(Box::new(store), registry, EngineOptions::default()).unwrap();
    let id = engine.enqueue(vec![job()]).await.unwrap()[0].job();
    while engine.job(id).await.unwrap().unwrap().state != JobState::Running {
        tokio::task::yield_now().await;
    }
    assert_eq!(call(&engine, Do::Add("n".into(), 1)).await, Err(CallError::OutcomeUnknown));
    soon(async {
        while engine.job(id).await.unwrap().unwrap().state == JobState::Running {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let view = engine.job(id).await.unwrap().unwrap();
    assert_eq!((view.state, view.attempts.len()), (JobState::Done, 1));
    engine.stop().await;
}

/// Holds up the write of a message to `puppet/gate`, rejects batches of several messages, and loses the answer to the
/// first that comes alone.
fn splitting(entered: Sender<()>, gate: Receiver<()>) -> OnWrite {
    let mut lost = false;
    // A receiver is not shared between threads; the store is only used by the writer.
    let gate = Mutex::new(gate);
    Box::new(move |batch| {
        let sends: Vec<&str> = batch
            .iter()
            .filter_map(
                |write| if let Write::Send { to, .. } = write { Some(to.name.as_str()) } else { None },
            )
            .collect();
        if sends.contains(&"gate") {
            entered.send(()).unwrap();
            gate.lock().unwrap().recv().unwrap();
            return None;
        }
        if sends.len() > 1 {
            return Some(StoreError::Rejected("one of them cannot be".into()));
        }
        let is_first = !sends.is_empty() && !lost;
        lost |= is_first;
        is_first.then(|| StoreError::Ambiguous("the answer was lost".into()))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_half_of_a_batch_hears_of_it_when_the_first_is_ambiguous() {
    let (entered, has_entered) = channel();
    let (open, gate) = channel();
    let store = Asking {
        inner: MemoryStore::new(),
        on_write: splitting(entered, gate),
        on_reopen: Box::new(|| Ok(())),
    };
    let engine = Engine::start(Box::new(store), registry(), EngineOptions::default()).unwrap();
    call(&engine, Do::Get("n".into())).await.unwrap();
    let ask = |to: &'static str| {
        let engine = engine.clone();
        async move { engine.write(send(to)).await }
    };
    let held = tokio::spawn(ask("puppet/gate"));
    tokio::task::spawn_blocking(move || has_entered.recv().unwrap()).await.unwrap();
    let mut first = Box::pin(ask("puppet/first"));
    let mut second = Box::pin(ask("puppet/second"));
    assert!(futures_pending(&mut first).await && futures_pending(&mut second).await);
    // The machine answers this without the store, so both writes are behind the one that is held up.
    call(&engine, Do::Get("n".into())).await.unwrap();
    open.send(()).unwrap();
    held.await.unwrap().unwrap();
    assert!(matches!(soon(first).await, Err(EngineError::Store(StoreError::Ambiguous(_)))));
    assert!(matches!(soon(second).await, Err(EngineError::Store(StoreError::Unavailable(_)))));
    engine.stop().await;
}

/// Lets a future begin; whether it waits.
async fn futures_pending<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|cx| {
        let pending = std::pin::Pin::new(&mut *future).poll(cx).is_pending();
        std::task::Poll::Ready(pending)
    })
    .await
}
