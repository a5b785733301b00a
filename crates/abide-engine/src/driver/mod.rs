//! The engine as a program uses it: the machine in a thread, the store's writer in another, readers beside them.
//!
//! [`Engine`] is a cheap handle. Calls and writes go to the machine's thread; reads for people go straight to a reader.

mod black_box;
mod change;
mod live;
mod steady;
mod store_threads;
mod thread;

pub use change::{Change, Changes};
pub use live::LogFollower;

use crate::call::{Call, CallError};
use crate::clock::SystemClock;
use crate::halt::TurnError;
use crate::machine::{MachineOptions, Notice};
use crate::meter::{Counts, Meter};
use crate::object::{Exposure, Object};
use crate::registry::Registry;
use crate::telemetry::{LogsOnly, Telemetry, current_trace};
use abide_core::commit::Reply;
use abide_core::dead::DeadId;
use abide_core::job::{Finish, JobId, JobState, LeaseRef, NewJob};
use abide_core::json::{BadJson, Json};
use abide_core::limit::LimitPolicy;
use abide_core::limits::{ENQUEUE_ITEMS, OverBound, VALUE_BYTES, within};
use abide_core::log::Seq;
use abide_core::name::{Kind, LimitKey, QueueName};
use abide_core::object::ObjectKey;
use abide_core::seed::Secret;
use abide_core::ticket::Ticket;
use abide_core::time::{Clock, Time};
use abide_core::why::{Cause, why};
use abide_store::view::{JobView, TicketView};
use abide_store::write::{Enqueued, Finished, JobRefused, LeaseLost};
use abide_store::{Answer, Read, Store, StoreError, Write, Written};
use live::Live;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use store_threads::{ReadJob, Readers};
use thread::Message;
use tokio::sync::{broadcast, oneshot, watch};

/// How an engine runs.
#[derive(Clone)]
pub struct EngineOptions {
    /// How the machine behaves.
    pub machine: MachineOptions,
    /// Threads that read the store, at least 2: one of them answers people, the rest load objects.
    pub readers: usize,
    /// Where randomness starts; from the operating system if none.
    pub seed: Option<u64>,
    /// A file that notes which event is running, so that one which kills the process is found out. None in tests.
    pub black_box: Option<PathBuf>,
    /// How long stopping may take: half of it jobs may finish, then they are asked to stop, then handed back.
    pub drain_ms: u64,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where spans of attempts come from.
    pub telemetry: Arc<dyn Telemetry>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            machine: MachineOptions::default(),
            readers: 2,
            seed: None,
            black_box: None,
            drain_ms: 10_000,
            clock: Arc::new(SystemClock::new()),
            telemetry: Arc::new(LogsOnly),
        }
    }
}

/// An engine could not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store could not be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A thread could not be started.
    #[error("a thread of the engine could not be started: {0}")]
    Thread(std::io::Error),
    /// The operating system gave no randomness.
    #[error("the operating system gave no randomness: {0}")]
    Randomness(String),
    /// The black box could not be used.
    #[error("{path} cannot be written: {error}", path = path.display())]
    BlackBox {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// The engine did not answer a write or a read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something is larger than its bound.
    #[error(transparent)]
    OverBound(#[from] OverBound),
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

/// A running engine. Cheap to clone; [`Engine::stop`] ends it for all.
#[derive(Clone)]
pub struct Engine {
    inbox: mpsc::Sender<Message>,
    people: mpsc::Sender<ReadJob>,
    live: Arc<Live>,
    meter: Arc<Meter>,
    registry: Arc<Registry>,
    clock: Arc<dyn Clock>,
    /// Closed when the machine's thread ends.
    running: watch::Receiver<()>,
    // Locked once, by whoever stops the engine first.
    thread: Arc<std::sync::Mutex<Option<JoinHandle<()>>>>,
}

impl Engine {
    /// Starts an engine on a store. Must be called inside a tokio runtime: jobs run on it.
    pub fn start(
        mut store: Box<dyn Store>,
        registry: Registry,
        options: EngineOptions,
    ) -> Result<Engine, StartError> {
        let secret = match options.seed {
            Some(seed) => Secret::from(seed),
            None => {
                let mut key = [0; 16];
                getrandom::fill(&mut key).map_err(|e| StartError::Randomness(e.to_string()))?;
                Secret::new(key)
            }
        };
        let meter = Arc::new(Meter::new());
        let (witness, crashed) = black_box::open(options.black_box.as_deref(), &options.clock, &meter)?;
        let readers = Readers::open(&mut *store, options.readers)?;
        let live = Arc::new(Live::new());
        let registry = Arc::new(registry);
        let clock = options.clock.clone();
        let runtime = tokio::runtime::Handle::current();
        let people = readers.people();
        let (inbox, messages) = mpsc::channel();
        let (alive, running) = watch::channel(());
        let core = thread::Core::new(
            options,
            (*registry).clone(),
            witness,
            secret,
            runtime,
            live.clone(),
            meter.clone(),
            inbox.clone(),
            alive,
        );
        let thread = core.spawn(store, readers, messages, crashed).map_err(StartError::Thread)?;
        let thread = Arc::new(std::sync::Mutex::new(Some(thread)));
        Ok(Engine { inbox, people, live, meter, registry, clock, running, thread })
    }

    /// Calls an object. The reply comes when everything it could have seen is durable.
    pub async fn call(&self, call: Call) -> Result<Reply, CallError> {
        let (reply, answer) = oneshot::channel();
        if self.inbox.send(Message::Call(call, current_trace(), reply)).is_err() {
            return Err(CallError::Stopping);
        }
        answer.await.unwrap_or(Err(CallError::OutcomeUnknown))
    }

    /// Calls an object of a kind that this program knows, with its own types.
    pub async fn ask<O>(
        &self,
        name: &str,
        call: &O::Call,
    ) -> Result<crate::object::Answer<O::Reply>, CallError>
    where
        O: Object,
        O::Call: Serialize,
        O::Reply: DeserializeOwned,
    {
        let bad = |what: &str, e: BadJson| TurnError::BadValue { what: what.to_owned(), reason: e.0 };
        let object = ObjectKey::new(O::KIND, name).map_err(TurnError::from)?;
        let body = Json::encode(call).map_err(|e| bad("the call", e))?;
        match self.call(Call { object, body, key: None }).await? {
            Reply::Now(reply) => Ok(reply.decode::<O::Reply>().map_err(|e| bad("the reply", e))?.into()),
            Reply::Later(ticket) => Ok(crate::object::Answer::Later(ticket)),
        }
    }

    /// Has a write done.
    pub async fn write(&self, write: Write) -> Result<Written, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.inbox.send(Message::Ask(write, reply)).map_err(|_| EngineError::Stopped)?;
        match answer.await {
            Ok(written) => written.map_err(EngineError::Store),
            Err(_) => Err(StoreError::Ambiguous("the engine ended while it was written".into()).into()),
        }
    }

    /// Has a read done.
    pub async fn read(&self, read: Read) -> Result<Answer, EngineError> {
        let (reply, answer) = oneshot::channel();
        let now = self.now();
        self.people.send(ReadJob::ForPeople { now, read, reply }).map_err(|_| EngineError::Stopped)?;
        answer.await.map_err(|_| EngineError::Stopped)?.map_err(EngineError::Store)
    }

    /// Enqueues jobs. Durable when it answers.
    pub async fn enqueue(&self, mut jobs: Vec<NewJob>) -> Result<Vec<Enqueued>, EngineError> {
        within("jobs in one enqueue", ENQUEUE_ITEMS, jobs.len())?;
        let trace = current_trace();
        for job in &mut jobs {
            job.check()?;
            job.trace = job.trace.take().or_else(|| trace.clone());
        }
        match self.write(Write::Enqueue { jobs }).await? {
            Written::Enqueued(enqueued) => Ok(enqueued),
            other => unreachable!("the store answered an enqueue with {other:?}"),
        }
    }

    /// Ends an attempt of a job for a worker outside.
    pub async fn finish(
        &self,
        lease: LeaseRef,
        mut finish: Finish,
    ) -> Result<Result<Finished, LeaseLost>, EngineError> {
        finish.bound();
        match self.write(Write::Finish { lease, finish, seed: 0 }).await? {
            Written::Finished(finished) => Ok(finished),
            other => unreachable!("the store answered a finish with {other:?}"),
        }
    }

    /// Sends an object a message from outside. Durable when it answers; processed exactly once.
    pub async fn send(&self, to: ObjectKey, body: Json) -> Result<(), EngineError> {
        within("bytes in a message", VALUE_BYTES, body.len())?;
        self.write(Write::Send { to, body }).await.map(drop)
    }

    /// Asks a job not to run.
    pub async fn cancel(&self, job: JobId) -> Result<Result<JobState, JobRefused>, EngineError> {
        match self.write(Write::Cancel { job }).await? {
            Written::Moved(moved) => Ok(moved),
            other => unreachable!("the store answered a cancel with {other:?}"),
        }
    }

    /// Asks a job that is over to run again, with fresh attempts.
    pub async fn retry(&self, job: JobId) -> Result<Result<JobState, JobRefused>, EngineError> {
        match self.write(Write::Retry { job }).await? {
            Written::Moved(moved) => Ok(moved),
            other => unreachable!("the store answered a retry with {other:?}"),
        }
    }

    /// Pauses or resumes a queue.
    pub async fn set_paused(&self, queue: QueueName, paused: bool) -> Result<(), EngineError> {
        self.write(Write::SetPaused { queue, paused }).await.map(drop)
    }

    /// Sets or removes the policy of a limit key (`host:example.org`) or class (`host:*`).
    pub async fn set_limit(&self, key: LimitKey, policy: Option<LimitPolicy>) -> Result<(), EngineError> {
        self.write(Write::SetLimit { key, policy }).await.map(drop)
    }

    /// Runs a dead letter's event again. Whether there was such a dead letter.
    pub async fn replay_dead(&self, id: DeadId) -> Result<bool, EngineError> {
        match self.write(Write::ReplayDead { id }).await? {
            Written::Dead(found) => Ok(found),
            other => unreachable!("the store answered a replay with {other:?}"),
        }
    }

    /// The last entry of an object's log: follow from here to see only what comes.
    pub async fn log_head(&self, object: ObjectKey) -> Result<Seq, EngineError> {
        match self.read(Read::Object(object)).await? {
            Answer::Object(view) => Ok(view.map_or(Seq(0), |view| view.log_head)),
            other => unreachable!("the store answered about an object with {other:?}"),
        }
    }

    /// A job with its attempts.
    pub async fn job(&self, job: JobId) -> Result<Option<Box<JobView>>, EngineError> {
        match self.read(Read::Job(job)).await? {
            Answer::Job(view) => Ok(view),
            other => unreachable!("the store answered about a job with {other:?}"),
        }
    }

    /// Why a job is not running: every cause that holds.
    pub async fn why(&self, job: JobId) -> Result<Option<Vec<Cause>>, EngineError> {
        match self.read(Read::Why(job)).await? {
            Answer::Why(facts) => Ok(facts.map(|facts| why(&facts))),
            other => unreachable!("the store answered why with {other:?}"),
        }
    }

    /// Waits up to `wait` for a ticket's answer. None if there is no such ticket.
    pub async fn ticket(&self, ticket: &Ticket, wait: Duration) -> Result<Option<TicketView>, EngineError> {
        // Dropped last, also when whoever asked gives up: the waiter is then closed and forgotten.
        let _waiting = live::Waiter::new(&self.live, ticket);
        let resolved = self.live.wait_for_ticket(ticket);
        let Answer::Ticket(view) = self.read(Read::Ticket(ticket.clone())).await? else {
            unreachable!("the store answers about tickets in kind")
        };
        match view {
            Some(TicketView::Open) => match tokio::time::timeout(wait, resolved).await {
                Ok(Ok(resolution)) => Ok(Some(TicketView::Resolved(resolution))),
                Ok(Err(_)) | Err(_) => Ok(Some(TicketView::Open)),
            },
            Some(TicketView::Resolved(_)) | None => Ok(view),
        }
    }

    /// Follows an object's log past `after`, live.
    #[must_use]
    pub fn follow(&self, object: ObjectKey, after: Seq) -> LogFollower {
        LogFollower::new(self.clone(), object, after)
    }

    /// What happens, live and bounded: a slow listener misses some.
    #[must_use]
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.live.notices()
    }

    /// What changes, live and bounded, a batch at a time: a slow listener misses some.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Changes> {
        self.live.changes()
    }

    /// What was counted since the engine started.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.meter.read()
    }

    /// Who may call objects of a kind; none if there is no such kind.
    #[must_use]
    pub fn exposure(&self, kind: &Kind) -> Option<Exposure> {
        self.registry.handler(kind).map(|handler| handler.exposure())
    }

    /// The present, as the engine reads it.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.now().plus_ms(self.live.ahead_ms())
    }

    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// Resolves when the engine has ended: it was stopped, or one of its threads died.
    pub async fn ended(&self) {
        let mut running = self.running.clone();
        // Nothing is ever sent: the sender is dropped with the thread.
        while running.changed().await.is_ok() {}
    }

    /// Stops: no new calls, what is under way ends, jobs finish or are handed back, the store is closed.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.inbox.send(Message::Stop(done)).is_ok() {
            // The thread drops the sender when it ends, which is what is waited for.
            drop(stopped.await);
        }
        let thread = self.thread.lock().ok().and_then(|mut thread| thread.take());
        if let Some(thread) = thread {
            // A panic of the thread was reported by the panic hook.
            drop(tokio::task::spawn_blocking(move || thread.join()).await);
        }
    }
}
