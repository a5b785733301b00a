//! A world for testing objects: the real engine on a store in memory, with virtual time and no threads.
//!
//! ```
//! use abide_engine::testing::{World, day};
//! # use abide_engine::{Answer, Halt, Nothing, Object, Turn, object::NoRefusal};
//! # struct Counter;
//! # impl Object for Counter {
//! #     const KIND: &'static str = "counter";
//! #     type Call = i64;
//! #     type Reply = i64;
//! #     type Message = Nothing;
//! #     type Refusal = NoRefusal;
//! #     fn call(&self, turn: &mut Turn<'_>, by: i64) -> Result<Answer<i64>, Halt<NoRefusal>> {
//! #         let count = turn.get::<i64>("count")?.unwrap_or(0) + by;
//! #         turn.put("count", &count)?;
//! #         Ok(count.into())
//! #     }
//! # }
//! let mut world = World::new();
//! world.object(Counter);
//! assert_eq!(world.call::<i64>("counter/a", &2).unwrap(), 2);
//! world.crash();
//! world.pass(day(30));
//! assert_eq!(world.call::<i64>("counter/a", &3).unwrap(), 5);
//! assert_eq!(world.commits().len(), 2);
//! ```

use crate::call::{Call, CallError};
use crate::machine::{CallId, Input, Machine, MachineOptions, NoWitness, Notice, Output};
use crate::object::Object;
use crate::record::{self, Record};
use crate::registry::Registry;
use crate::worker::{JobContext, skipped};
use abide_core::commit::{Commit, Reply};
use abide_core::dead::{DeadId, DeadLetter};
use abide_core::job::{Finish, Lease};
use abide_core::json::Json;
use abide_core::log::Seq;
use abide_core::name::IdempotencyKey;
use abide_core::object::ObjectKey;
use abide_core::time::Time;
use abide_store::memory::MemoryStore;
use abide_store::read::{Got, Load, Want};
use abide_store::view::TicketView;
use abide_store::{Answer, Read, Store, StoreError, Write, Written};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// Milliseconds of so many seconds.
#[must_use]
pub const fn second(count: i64) -> i64 {
    count * 1_000
}

/// Milliseconds of so many minutes.
#[must_use]
pub const fn minute(count: i64) -> i64 {
    second(60) * count
}

/// Milliseconds of so many hours.
#[must_use]
pub const fn hour(count: i64) -> i64 {
    minute(60) * count
}

/// Milliseconds of so many days.
#[must_use]
pub const fn day(count: i64) -> i64 {
    hour(24) * count
}

/// When a crash happens, seen from a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The commit is lost.
    BeforeItIsDurable,
    /// The commit is durable, but nobody was told.
    BeforeItIsAnswered,
}

/// How the store fails at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It says so, and nothing was applied.
    Refuses(StoreError),
    /// It is not known whether the batch was applied, and it was.
    LosesTheAnswer,
    /// It is not known whether the batch was applied, and it was not.
    LosesTheWrite,
}

/// What a scripted worker does with a job.
type Script = Box<dyn FnMut(&Lease) -> Finish>;

/// Engines, one after the other, on one store in memory.
pub struct World {
    registry: Registry,
    scripts: Vec<Script>,
    store: MemoryStore,
    machine: Option<Machine>,
    options: MachineOptions,
    now: Time,
    seed: u64,
    crash_at: Option<(usize, Moment)>,
    fault: Option<Fault>,
    next_call: u64,
    replies: BTreeMap<CallId, Result<Reply, CallError>>,
    commits: Vec<Commit>,
    notices: Vec<Notice>,
    verbs: u64,
    rows_read: u64,
}

impl Default for World {
    fn default() -> World {
        World::new()
    }
}

impl World {
    /// An empty world in the year 2026.
    #[must_use]
    pub fn new() -> World {
        World::with_seed(1)
    }

    /// An empty world whose randomness starts at `seed`.
    #[must_use]
    pub fn with_seed(seed: u64) -> World {
        World {
            registry: Registry::new(),
            scripts: Vec::new(),
            store: MemoryStore::new(),
            machine: None,
            options: MachineOptions::default(),
            now: Time(1_767_225_600_000),
            seed,
            crash_at: None,
            fault: None,
            next_call: 0,
            replies: BTreeMap::new(),
            commits: Vec::new(),
            notices: Vec::new(),
            verbs: 0,
            rows_read: 0,
        }
    }

    /// The same, with an engine that keeps about so many bytes of objects in memory.
    #[must_use]
    pub fn with_memory_of(mut self, cache_bytes: usize) -> World {
        self.options.cache_bytes = cache_bytes;
        self
    }

    /// Adds a kind of object, before anything else happens.
    ///
    /// # Panics
    /// If the kind cannot be registered.
    pub fn object<O: Object>(&mut self, object: O) {
        self.registry.object(object).expect("the kind can be registered");
    }

    /// Stops the engine and starts one with another version of a kind: what a new release does.
    ///
    /// # Panics
    /// If the kind cannot be registered.
    pub fn deploy<O: Object>(&mut self, object: O) {
        self.registry.replace(object).expect("the kind can be registered");
        self.crash();
    }

    /// Adds a worker that does what the script says, at once.
    ///
    /// # Panics
    /// If the names cannot be used.
    pub fn worker(&mut self, queue: &str, kind: &str, script: impl FnMut(&Lease) -> Finish + 'static) {
        let not_run = |_: JobContext| async { skipped("jobs of a world run by script") };
        self.registry.worker(queue, kind, 16, not_run).expect("the names can be used");
        self.scripts.push(Box::new(script));
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Calls `kind/name` and gives the reply, after everything that follows from it has happened.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        object: &str,
        body: &(impl Serialize + ?Sized),
    ) -> Result<R, CallError> {
        self.call_with(object, body, None)
    }

    /// Calls with an idempotency key.
    pub fn call_once<R: DeserializeOwned>(
        &mut self,
        object: &str,
        body: &(impl Serialize + ?Sized),
        key: &str,
    ) -> Result<R, CallError> {
        self.call_with(object, body, Some(IdempotencyKey::new(key).expect("a usable key")))
    }

    fn call_with<R: DeserializeOwned>(
        &mut self,
        object: &str,
        body: &(impl Serialize + ?Sized),
        key: Option<IdempotencyKey>,
    ) -> Result<R, CallError> {
        let id = self.begin_call(object, body, key);
        self.settle();
        let reply = self.replies.remove(&id).unwrap_or(Err(CallError::OutcomeUnknown))?;
        let json = match reply {
            Reply::Now(json) => json,
            Reply::Later(ticket) => Json::encode(&ticket).expect("a ticket is text"),
        };
        Ok(json.decode().expect("the reply has the type that the test expects"))
    }

    /// Begins a call without letting anything happen yet; [`World::settle`] and [`World::reply`] go on with it.
    pub fn begin_call(
        &mut self,
        object: &str,
        body: &(impl Serialize + ?Sized),
        key: Option<IdempotencyKey>,
    ) -> CallId {
        let object: ObjectKey = object.parse().expect("kind/name");
        let body = Json::encode(body).expect("a body that is JSON");
        self.next_call += 1;
        let id = CallId(self.next_call);
        let now = self.now;
        self.machine().input(Input::Call(id, Call { object, body, key }, None), now);
        id
    }

    /// The reply to a call that was begun, if it has come.
    pub fn reply(&mut self, call: CallId) -> Option<Result<Reply, CallError>> {
        self.replies.remove(&call)
    }

    /// Sends a message from outside.
    pub fn send(&mut self, object: &str, message: &(impl Serialize + ?Sized)) {
        let to: ObjectKey = object.parse().expect("kind/name");
        let body = Json::encode(message).expect("a message that is JSON");
        self.write(Write::Send { to, body }).expect("a store in memory does not fail");
        self.settle();
    }

    /// Lets time pass; whatever is due happens when it is due.
    pub fn pass(&mut self, ms: i64) {
        let until = self.now.plus_ms(ms);
        self.settle();
        while let Some(at) = self.machine().wake_at().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.settle();
        }
        self.now = until;
        self.settle();
    }

    /// The engine dies and another one starts on the same store.
    pub fn crash(&mut self) {
        self.machine = None;
        self.seed += 1;
        self.settle();
    }

    /// The engine is down for a while, and then another one starts on the same store.
    pub fn down_for(&mut self, ms: i64) {
        self.machine = None;
        self.now = self.now.plus_ms(ms);
        self.crash();
    }

    /// The engine will die at its next commit.
    pub fn crash_at_next_commit(&mut self, moment: Moment) {
        self.crash_at_commit(1, moment);
    }

    /// The engine will die at its `nth` write with a commit in it, from now; 1 for the next.
    pub fn crash_at_commit(&mut self, nth: usize, moment: Moment) {
        self.crash_at = Some((nth, moment));
    }

    /// The store will fail at the next commit.
    pub fn fail_next_commit(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// Every commit that was applied, in order.
    #[must_use]
    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Objects and bytes that the engine holds in memory, about.
    pub fn memory(&mut self) -> (usize, usize) {
        self.machine().memory()
    }

    /// Writes and reads that the engine has asked of the store.
    #[must_use]
    pub fn store_verbs(&self) -> u64 {
        self.verbs
    }

    /// Rows that the engine has loaded from the store.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.rows_read
    }

    /// What was reported.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// A row of an object as it is in the store.
    pub fn row<R: Record>(&mut self, object: &str, key: &str) -> Option<R> {
        let object = object.parse().expect("kind/name");
        let load = Load { object, wants: vec![Want::Row(key.to_owned())], reply_for: None };
        let Answer::Load(loaded) = self.read(Read::Load(load)) else {
            unreachable!("loads are answered in kind")
        };
        match loaded.got.into_iter().next() {
            Some(Got::Row(row)) => row.map(|row| record::decode(key, &row).expect("a row of that type")),
            Some(Got::Scan { .. } | Got::Alarm(_)) | None => None,
        }
    }

    /// An object's log, from its first entry.
    pub fn log<V: DeserializeOwned>(&mut self, object: &str) -> Vec<V> {
        let object: ObjectKey = object.parse().expect("kind/name");
        let (mut found, mut after) = (Vec::new(), Seq(0));
        loop {
            let read = Read::Log { object: object.clone(), after, limit: usize::MAX };
            let Answer::Log(page) = self.read(read) else {
                unreachable!("the store answers about logs in kind")
            };
            let entries = page.map(|page| page.entries).unwrap_or_default();
            let Some(last) = entries.last() else { return found };
            after = last.seq;
            found.extend(
                entries.iter().map(|entry| entry.value.decode::<V>().expect("an entry of that type")),
            );
        }
    }

    /// What became of a ticket.
    pub fn ticket(&mut self, ticket: &abide_core::ticket::Ticket) -> Option<TicketView> {
        match self.read(Read::Ticket(ticket.clone())) {
            Answer::Ticket(view) => view,
            other => unreachable!("the store answered about a ticket with {other:?}"),
        }
    }

    /// Dead letters of objects, oldest first.
    pub fn dead_letters(&mut self) -> Vec<DeadLetter> {
        match self.read(Read::Dead { after: None, limit: 1_000 }) {
            Answer::Dead(dead) => dead,
            other => unreachable!("the store answered about dead letters with {other:?}"),
        }
    }

    /// Runs a dead letter's event again. Whether there was such a dead letter.
    pub fn replay_dead(&mut self, id: DeadId) -> bool {
        matches!(self.write(Write::ReplayDead { id }), Ok(Written::Dead(true)))
    }

    /// Asks the store.
    pub fn read(&mut self, read: Read) -> Answer {
        let mut reader = self.store.reader().expect("a store in memory does not fail");
        reader.read(self.now, &read).expect("a store in memory does not fail")
    }

    /// Writes to the store as somebody outside would, through the engine.
    pub fn write(&mut self, write: Write) -> Result<Written, StoreError> {
        let now = self.now;
        self.next_call += 1;
        let ask = crate::machine::AskId(self.next_call);
        self.machine().input(Input::Ask(ask, write), now);
        self.settle_for(Some(ask)).expect("a write is answered when all is settled")
    }

    fn machine(&mut self) -> &mut Machine {
        let (now, seed) = (self.now, self.seed);
        let (options, registry) = (&self.options, &self.registry);
        self.machine.get_or_insert_with(|| {
            let mut machine = Machine::new(options.clone(), registry.clone(), Box::new(NoWitness), seed);
            machine.input(Input::Start { crashed: None }, now);
            machine
        })
    }

    /// Lets everything happen that can happen now.
    pub fn settle(&mut self) {
        self.settle_for(None);
    }

    fn settle_for(&mut self, ask: Option<crate::machine::AskId>) -> Option<Result<Written, StoreError>> {
        let mut told = None;
        loop {
            let now = self.now;
            let machine = self.machine();
            let more = machine.run(now, 64);
            let outputs = machine.outputs();
            if outputs.is_empty() && !more {
                return told;
            }
            let (mut tokens, mut writes) = (Vec::new(), Vec::new());
            for output in outputs {
                match output {
                    Output::Write(token, write) => {
                        self.verbs += 1;
                        tokens.push(token);
                        writes.push(write);
                    }
                    Output::Read(token, read) => {
                        self.verbs += 1;
                        let answer = self.read(read);
                        self.rows_read += rows_of(&answer);
                        self.machine().input(Input::Answered { token, result: Ok(answer) }, now);
                    }
                    Output::Reply(call, answer) => {
                        self.replies.insert(call, answer);
                    }
                    Output::Told(who, answer) if Some(who) == ask => told = Some(answer),
                    Output::Run { pool, lease } => {
                        let finish = self.scripts[pool](&lease);
                        self.machine().input(Input::Ended { lease: lease.lease, finish }, now);
                    }
                    Output::Notice(notice) => self.notices.push(notice),
                    Output::Reopen => self.machine().input(Input::Reopened, now),
                    Output::Told(..) | Output::Stop(_) => {}
                }
            }
            if !writes.is_empty() {
                self.apply(tokens, writes);
            }
        }
    }

    fn count_down_to_crash(&mut self, commits: bool) -> Option<Moment> {
        let (left, moment) = self.crash_at.take_if(|_| commits)?;
        if left > 1 {
            self.crash_at = Some((left - 1, moment));
            return None;
        }
        Some(moment)
    }

    fn apply(&mut self, tokens: Vec<crate::machine::WriteToken>, writes: Vec<Write>) {
        let commits = writes.iter().any(|write| matches!(write, Write::Commit(_)));
        let crash = self.count_down_to_crash(commits);
        if crash == Some(Moment::BeforeItIsDurable) {
            return self.crash();
        }
        let result = match self.fault.take_if(|_| commits) {
            None => self.store.write(self.now, &writes),
            Some(Fault::Refuses(error)) => Err(error),
            Some(Fault::LosesTheWrite) => Err(StoreError::Ambiguous("told to fail".into())),
            Some(Fault::LosesTheAnswer) => self
                .store
                .write(self.now, &writes)
                .and_then(|_| Err(StoreError::Ambiguous("told to fail".into()))),
        };
        if let Ok(batch) = &result {
            for (write, written) in writes.iter().zip(&batch.written) {
                if let (Write::Commit(commit), Written::Committed(Ok(_))) = (write, written) {
                    self.commits.push((**commit).clone());
                }
            }
        }
        if crash == Some(Moment::BeforeItIsAnswered) {
            return self.crash();
        }
        let now = self.now;
        self.machine().input(Input::Wrote { tokens, writes, result }, now);
    }
}

fn rows_of(answer: &Answer) -> u64 {
    let Answer::Load(loaded) = answer else { return 0 };
    let rows = loaded.got.iter().map(|got| match got {
        Got::Row(row) => u64::from(row.is_some()),
        Got::Scan { rows, .. } => rows.len() as u64,
        Got::Alarm(_) => 0,
    });
    rows.sum()
}
