//! The machine's thread: inputs in, turns run, outputs out to the store's threads, to jobs and to whoever waits.

use super::EngineOptions;
use super::change::{self, Change, Changes};
use super::live::Live;
use super::steady::Steady;
use super::store_threads::{ReadJob, Readers, Stopwatch, WriterJob, write_loop};
use crate::call::{Call, CallError};
use crate::machine::{AskId, CallId, Input, Machine, Notice, Output, Witness, WriteToken};
use crate::meter::Meter;
use crate::registry::Registry;
use crate::telemetry::{Telemetry, in_trace};
use crate::worker::{JobContext, Said};
use abide_core::commit::Reply;
use abide_core::event::EventRef;
use abide_core::job::{AttemptEnd, Finish, JobId, Lease, LeaseRef};
use abide_core::limits::CLOCK_JUMP_MS;
use abide_core::seed::Secret;
use abide_core::time::Time;
use abide_store::{Batch, Store, StoreError, Write, Written};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc as tokio_mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tracing::Instrument;

/// Turns between two looks at the inbox.
const TURNS: usize = 256;
/// Inputs taken in a row before turns run.
const INPUTS: usize = 1_024;
/// Once everything was asked to end: how long the last writes may take.
const LAST_WRITES_MS: i64 = 5_000;

/// What the thread is told.
pub(super) enum Message {
    Input(Input),
    Call(Call, Option<String>, oneshot::Sender<Result<Reply, CallError>>),
    Ask(Write, oneshot::Sender<Result<Written, StoreError>>),
    /// Stop; dropped when stopped.
    Stop(oneshot::Sender<()>),
}

/// The machine and everything its thread holds.
pub(super) struct Core {
    machine: Machine,
    pools: Registry,
    steady: Steady,
    runtime: Handle,
    live: Arc<Live>,
    meter: Arc<Meter>,
    telemetry: Arc<dyn Telemetry>,
    inbox: Sender<Message>,
    says: tokio_mpsc::UnboundedSender<(Lease, Said)>,
    answers: tokio_mpsc::UnboundedSender<Vec<Answer>>,
    calls: HashMap<CallId, oneshot::Sender<Result<Reply, CallError>>>,
    asks: HashMap<AskId, oneshot::Sender<Result<Written, StoreError>>>,
    jobs: HashMap<JobId, RunningJob>,
    next_id: u64,
    drain_ms: i64,
    stopping: Option<Stopping>,
    /// Dropped with the thread: whoever waits for its end hears of it.
    _alive: watch::Sender<()>,
}

struct RunningJob {
    lease: LeaseRef,
    stop: watch::Sender<bool>,
    task: AbortHandle,
}

/// How far stopping is.
struct Stopping {
    ask_jobs_at: Time,
    take_jobs_at: Time,
    give_up_at: Time,
    asked: bool,
    taken: bool,
    waiters: Vec<oneshot::Sender<()>>,
}

/// An answer with whoever waits for it. They may have given up.
enum Answer {
    ToCaller(oneshot::Sender<Result<Reply, CallError>>, Result<Reply, CallError>),
    ToAsker(oneshot::Sender<Result<Written, StoreError>>, Result<Written, StoreError>),
}

impl Answer {
    fn give(self) {
        match self {
            Answer::ToCaller(caller, answer) => drop(caller.send(answer)),
            Answer::ToAsker(asker, answer) => drop(asker.send(answer)),
        }
    }
}

/// Gives answers, on the runtime: waking a task from outside costs a lock and often a system call, so that is done once for
/// all answers of a batch.
async fn give_answers(mut batches: tokio_mpsc::UnboundedReceiver<Vec<Answer>>) {
    while let Some(answers) = batches.recv().await {
        for answer in answers {
            answer.give();
        }
    }
}

/// Where outputs go.
struct Doors {
    writer: Sender<WriterJob>,
    readers: Vec<Sender<ReadJob>>,
    next_reader: usize,
    /// A thread behind a door has died; its panic was reported by the panic hook.
    closed: bool,
}

impl Doors {
    fn write(&mut self, job: WriterJob) {
        self.closed |= self.writer.send(job).is_err();
    }

    fn write_all(&mut self, now: Time, writes: Vec<(WriteToken, Write)>) {
        if !writes.is_empty() {
            self.write(WriterJob::Write { now, writes });
        }
    }

    fn read(&mut self, job: ReadJob) {
        self.next_reader = (self.next_reader + 1) % self.readers.len();
        self.closed |= self.readers[self.next_reader].send(job).is_err();
    }
}

impl Core {
    #[expect(clippy::too_many_arguments, reason = "one call site, each of its own type")]
    pub(super) fn new(
        options: EngineOptions,
        registry: Registry,
        witness: Box<dyn Witness>,
        secret: Secret,
        runtime: Handle,
        live: Arc<Live>,
        meter: Arc<Meter>,
        inbox: Sender<Message>,
        alive: watch::Sender<()>,
    ) -> Core {
        let EngineOptions { machine, drain_ms, clock, telemetry, .. } = options;
        let (says, mut said) = tokio_mpsc::unbounded_channel::<(Lease, Said)>();
        let to_machine = inbox.clone();
        runtime.spawn(async move {
            while let Some((Lease { lease, .. }, word)) = said.recv().await {
                let input = match word {
                    Said::Progress(note) => Input::Progressed { lease, note },
                    Said::Vacated => Input::Vacated { lease },
                };
                if to_machine.send(Message::Input(input)).is_err() {
                    return;
                }
            }
        });
        let (answers, batches) = tokio_mpsc::unbounded_channel();
        runtime.spawn(give_answers(batches));
        Core {
            machine: Machine::new(machine, registry.clone(), witness, secret),
            pools: registry,
            steady: Steady::new(clock),
            runtime,
            live,
            meter,
            telemetry,
            inbox,
            says,
            answers,
            calls: HashMap::new(),
            asks: HashMap::new(),
            jobs: HashMap::new(),
            next_id: 0,
            drain_ms: i64::try_from(drain_ms).unwrap_or(i64::MAX),
            stopping: None,
            _alive: alive,
        }
    }

    /// Starts the machine's thread and the store's threads.
    pub(super) fn spawn(
        mut self,
        store: Box<dyn Store>,
        readers: Readers,
        messages: Receiver<Message>,
        crashed: Option<EventRef>,
    ) -> Result<JoinHandle<()>, std::io::Error> {
        let reading = readers.spawn(&self.inbox)?;
        let (writer, jobs) = channel();
        let (inbox, meter, clock) = (self.inbox.clone(), self.meter.clone(), self.steady.clock());
        let write = move || write_loop(store, &jobs, &inbox, &Stopwatch { meter, clock });
        let writing = std::thread::Builder::new().name("abide-write".into()).spawn(write)?;
        let mut doors = Doors { writer, readers: reading.doors, next_reader: 0, closed: false };
        std::thread::Builder::new().name("abide-turns".into()).spawn(move || {
            let now = self.steady.now().0;
            self.machine.input(Input::Start { crashed }, now);
            self.work(&messages, &mut doors);
            drop(doors);
            let waiters = self.stopping.take().map(|stopping| stopping.waiters);
            drop(self);
            drop(messages);
            // The writer closes the store when its door is closed. A panic of it was reported by the panic hook.
            drop(writing.join());
            drop(waiters);
        })
    }

    fn work(&mut self, messages: &Receiver<Message>, doors: &mut Doors) {
        let mut more = true;
        loop {
            let now = self.now();
            if !self.take_messages(messages, now, more) {
                return;
            }
            let now = self.now();
            more = self.machine.run(now, TURNS);
            self.put_out(doors, now);
            if doors.closed {
                tracing::error!(target: "store", "a thread of the store has died: the engine stops");
                return;
            }
            if self.stopping.is_some() && self.go_on_stopping(now, doors) {
                return;
            }
        }
    }

    /// The present; the machine hears of it if the clock jumped since it was last asked.
    fn now(&mut self) -> Time {
        let (now, jumped) = self.steady.now();
        if let Some(by_ms) = jumped {
            self.machine.input(Input::ClockJumped { by_ms }, now);
        }
        now
    }

    /// Takes what is in the inbox; waits for it if there is nothing else to do. False if every handle is gone.
    fn take_messages(&mut self, messages: &Receiver<Message>, now: Time, more: bool) -> bool {
        let first = if more {
            messages.try_recv().ok()
        } else {
            let stopping = self.stopping.as_ref().map(Stopping::next_at);
            match abide_core::time::earliest(self.machine.wake_at(), stopping) {
                None => match messages.recv() {
                    Ok(message) => Some(message),
                    Err(_) => return false,
                },
                Some(at) => {
                    let wait_ms = u64::try_from(at.since(now)).unwrap_or(0);
                    let first = match messages.recv_timeout(Duration::from_millis(wait_ms)) {
                        Ok(message) => Some(message),
                        Err(RecvTimeoutError::Timeout) => None,
                        Err(RecvTimeoutError::Disconnected) => return false,
                    };
                    self.notice_freeze(at);
                    first
                }
            }
        };
        let now = self.now();
        let rest = std::iter::from_fn(|| messages.try_recv().ok()).take(INPUTS);
        for message in first.into_iter().chain(rest) {
            self.take(message, now);
        }
        true
    }

    /// The process was stopped for a while if it wakes much later than it wanted to: then no lease runs out for that.
    fn notice_freeze(&mut self, wanted: Time) {
        let now = self.now();
        let late_ms = now.since(wanted);
        if late_ms > CLOCK_JUMP_MS {
            self.machine.input(Input::ClockJumped { by_ms: late_ms }, now);
        }
    }

    fn take(&mut self, message: Message, now: Time) {
        match message {
            Message::Input(mut input) => {
                if let Input::Wrote { writes, result, .. } = &mut input {
                    self.observe(writes, result);
                }
                if let Input::Wrote { result: Ok(batch), .. } = &input {
                    self.steady.seen(batch.at);
                    self.live.set_ahead_ms(self.steady.ahead_ms());
                }
                if let Input::Ended { lease, .. } = &input {
                    let is_it = |job: &RunningJob| job.lease == *lease;
                    if self.jobs.get(&lease.job).is_some_and(is_it) {
                        self.jobs.remove(&lease.job);
                    }
                }
                self.machine.input(input, now);
            }
            Message::Call(call, trace, reply) => {
                self.next_id += 1;
                let id = CallId(self.next_id);
                self.calls.insert(id, reply);
                self.machine.input(Input::Call(id, call, trace), now);
            }
            Message::Ask(write, reply) => {
                self.next_id += 1;
                let id = AskId(self.next_id);
                self.asks.insert(id, reply);
                self.machine.input(Input::Ask(id, write), now);
            }
            Message::Stop(done) => {
                self.machine.input(Input::Drain, now);
                let drain_ms = self.drain_ms;
                let stopping = self.stopping.get_or_insert_with(|| Stopping {
                    ask_jobs_at: now.plus_ms(drain_ms / 2),
                    take_jobs_at: now.plus_ms(drain_ms),
                    give_up_at: now.plus_ms(drain_ms).plus_ms(LAST_WRITES_MS),
                    asked: false,
                    taken: false,
                    waiters: Vec::new(),
                });
                stopping.waiters.push(done);
            }
        }
    }

    /// Sends outputs where they go; writes together, and answers after them, so that the writer is at work meanwhile.
    fn put_out(&mut self, doors: &mut Doors, now: Time) {
        let (mut writes, mut answers, mut leased) = (Vec::new(), Vec::new(), Vec::new());
        for output in self.machine.outputs() {
            match output {
                Output::Write(token, write) => writes.push((token, write)),
                Output::Reopen => {
                    doors.write_all(now, std::mem::take(&mut writes));
                    doors.write(WriterJob::Reopen);
                }
                Output::Read(token, read) => doors.read(ReadJob::ForMachine { now, token, read }),
                Output::Reply(id, answer) => {
                    answers.extend(self.calls.remove(&id).map(|caller| Answer::ToCaller(caller, answer)));
                }
                Output::Told(id, answer) => {
                    answers.extend(self.asks.remove(&id).map(|asker| Answer::ToAsker(asker, answer)));
                }
                Output::Run { pool, lease } => leased.push((pool, lease)),
                Output::Stop(job) => {
                    if let Some(job) = self.jobs.get(&job) {
                        job.stop.send_replace(true);
                    }
                }
                Output::Notice(notice) => {
                    report(&notice);
                    self.tell_dead(&notice, now);
                    self.live.tell(notice);
                }
            }
        }
        self.dispatch(leased);
        // Before the answers: whoever has one is not waiting any more.
        self.meter.set_calls_waiting(self.calls.len());
        doors.write_all(now, writes);
        if !answers.is_empty() {
            // A runtime that is gone has nobody who waits.
            drop(self.answers.send(answers));
        }
    }

    /// Counts what a batch did and tells whoever watches.
    fn observe(&self, writes: &[Write], result: &mut Result<Batch, StoreError>) {
        self.meter.wrote(result);
        if let Ok(batch) = result
            && self.live.wants_changes()
        {
            self.live.tell_changes(change::of(writes, batch));
        }
    }

    fn tell_dead(&self, notice: &Notice, at: Time) {
        if let Notice::DeadLetter { object, error } = notice {
            let dead = Change::Dead { object: object.clone(), error: error.clone() };
            self.live.tell_changes(Changes { at, changes: [dead].into() });
        }
    }

    /// Starts jobs that were leased together, each in its pool.
    fn dispatch(&mut self, leased: Vec<(usize, Lease)>) {
        if leased.is_empty() {
            return;
        }
        let span = tracing::info_span!(target: "queue", "orchestrator.dispatch", leased = leased.len());
        for (pool, lease) in leased {
            self.run_job(pool, lease);
        }
        drop(span);
    }

    fn run_job(&mut self, pool: usize, lease: Lease) {
        let worker = self.pools.pools()[pool].worker.clone();
        let (stop, stopped) = watch::channel(false);
        let lease_ref = lease.lease;
        let context = JobContext::new(lease, self.says.clone(), stopped);
        let (meter, leased) = (self.meter.clone(), tokio::time::Instant::now());
        let span = self.telemetry.attempt(context.lease());
        let trace = context.lease().trace.clone();
        let attempt = async move {
            meter.began(context.lease().queue.as_str(), leased.elapsed());
            worker.run(context).await
        };
        let attempt = self.runtime.spawn(in_trace(trace, attempt).instrument(span));
        let task = attempt.abort_handle();
        let inbox = self.inbox.clone();
        self.runtime.spawn(async move {
            let finish = match attempt.await {
                Ok(finish) => finish,
                Err(error) if error.is_cancelled() => AttemptEnd::HandedBack.into(),
                Err(_) => crate::worker::failed("the worker panicked"),
            };
            // An engine that is gone takes no ends; the lease runs out or is voided at the next start.
            drop(inbox.send(Message::Input(Input::Ended { lease: lease_ref, finish })));
        });
        self.jobs.insert(lease_ref.job, RunningJob { lease: lease_ref, stop, task });
    }

    /// Whether everything has ended or time is up.
    fn go_on_stopping(&mut self, now: Time, doors: &mut Doors) -> bool {
        let Some(stopping) = &mut self.stopping else { return false };
        if !stopping.asked && now >= stopping.ask_jobs_at {
            stopping.asked = true;
            for job in self.jobs.values() {
                job.stop.send_replace(true);
            }
        }
        if !stopping.taken && now >= stopping.take_jobs_at {
            stopping.taken = true;
            for (_, job) in self.jobs.drain() {
                job.task.abort();
                let finish: Finish = AttemptEnd::HandedBack.into();
                self.machine.input(Input::Ended { lease: job.lease, finish }, now);
            }
            self.put_out(doors, now);
        }
        let up = self.stopping.as_ref().is_some_and(|stopping| now >= stopping.give_up_at);
        up || self.machine.is_idle()
    }
}

impl Stopping {
    fn next_at(&self) -> Time {
        match (self.asked, self.taken) {
            (false, _) => self.ask_jobs_at,
            (true, false) => self.take_jobs_at,
            (true, true) => self.give_up_at,
        }
    }
}

fn report(notice: &Notice) {
    match notice {
        Notice::TurnFailed { object, error } => {
            tracing::warn!(target: "object", %object, error, "a turn failed and is tried again");
        }
        Notice::DeadLetter { object, error } => {
            tracing::error!(target: "object", %object, error, "an event is a dead letter");
        }
        Notice::SlowTurn { object, took_ms } => {
            tracing::warn!(target: "object", %object, took_ms, "a turn took long");
        }
        Notice::StoreFailed(error) => tracing::error!(target: "store", %error, "the store failed"),
        Notice::StoreRecovered => tracing::info!(target: "store", "the store works again"),
        Notice::ClockJumped { by_ms } => tracing::warn!(target: "clock", by_ms, "the clock jumped"),
        Notice::NoHandler(object) => {
            tracing::warn!(target: "object", %object, "an event waits for a kind that is not registered");
        }
        Notice::Log(..) | Notice::Ticket(..) | Notice::Ready(..) | Notice::ReadyAt(_) => {}
    }
}
