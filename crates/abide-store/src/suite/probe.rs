//! How the stories talk to a store: verbs that answer plainly, and short names for things.

use super::answer;
use crate::read::{Answer, Got, Header, Load, Loaded, Read, Timers, Want};
use crate::view::{JobView, LimitView, QueueView};
use crate::write::{
    AfterFailure, Batch, Began, Begin, Claim, Claimed, Enqueued, EventFate, FailEvent, Finished, LeaseLost,
    Receipt, Refused, Woken, Write, Written,
};
use crate::{Reader, Store};
use abide_core::commit::{Commit, Ending};
use abide_core::event::{Consumes, DueAlarm, EventRef, Message};
use abide_core::job::{AttemptEnd, Finish, JobId, JobState, Lease, LeaseRef, NewJob, RetryWish};
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::name::{AlarmName, JobKind, LimitKey, Name, QueueName, UniqueKey, WorkerId};
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::row::{Row, RowWrite};
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_core::why::{Cause, why};

/// A store, the present, and what the last batch woke.
pub(super) struct Probe<'a> {
    pub(super) store: &'a mut dyn Store,
    reader: Box<dyn Reader>,
    pub(super) now: Time,
    /// The engine's life.
    pub(super) life: Life,
    lives_begun: u32,
    claims: u64,
    pub(super) woken: Woken,
}

/// When the stories begin.
pub(super) const START: Time = Time(1_000_000);

impl<'a> Probe<'a> {
    pub(super) fn new(store: &'a mut dyn Store) -> Probe<'a> {
        let reader = store.reader().expect("a reader");
        let woken = Woken::default();
        let life = Life(0);
        let mut probe = Probe { store, reader, now: START, life, lives_begun: 0, claims: 0, woken };
        probe.life = probe.begin_alone().life;
        probe
    }

    pub(super) fn pass(&mut self, ms: i64) {
        self.now = self.now.plus_ms(ms);
    }

    pub(super) fn batch(&mut self, writes: &[Write]) -> Batch {
        let batch = self.store.write(self.now, writes).expect("the store writes");
        assert_eq!(batch.written.len(), writes.len(), "one answer for each write");
        self.woken = (*batch.woken).clone();
        batch
    }

    pub(super) fn write(&mut self, write: Write) -> Written {
        self.batch(&[write]).written.remove(0)
    }

    pub(super) fn set(&mut self, write: Write) {
        answer!(self.write(write), Written::Set => ());
    }

    pub(super) fn read(&mut self, read: Read) -> Answer {
        self.reader.read(self.now, &read).expect("the store reads")
    }

    pub(super) fn begin_alone(&mut self) -> Began {
        answer!(self.write(Write::Begin(Begin { alone: true })), Written::Began(began) => began)
    }

    pub(super) fn load(&mut self, name: &str, wants: Vec<Want>) -> Loaded {
        let load = Load { object: object(name), wants, reply_for: None };
        answer!(self.read(Read::Load(load)), Answer::Load(loaded) => loaded)
    }

    pub(super) fn header(&mut self, name: &str) -> Option<Header> {
        self.load(name, Vec::new()).header
    }

    /// The life of an object that exists.
    pub(super) fn life_of(&mut self, name: &str) -> Incarnation {
        self.header(name).expect("the object exists").incarnation
    }

    pub(super) fn row(&mut self, name: &str, key: &str) -> Option<String> {
        let mut got = self.load(name, vec![Want::Row(key.into())]).got;
        answer!(got.remove(0), Got::Row(row) => row.map(|row| row.value.as_str().to_owned()))
    }

    /// The fence of a turn that reads the object now.
    pub(super) fn fence(&mut self, name: &str) -> Fence {
        match self.header(name) {
            Some(Header { incarnation, version, by, .. }) => Fence::At { incarnation, version, by },
            None => {
                self.lives_begun += 1;
                Fence::Absent { begin: Incarnation::nth_of(self.life, self.lives_begun) }
            }
        }
    }

    /// A commit of a turn that runs now for this event.
    pub(super) fn turn(&mut self, name: &str, consumes: Consumes) -> Commit {
        let fence = self.fence(name);
        Commit::new(object(name), fence, self.life, self.now, consumes)
    }

    /// A commit of a turn that runs now for a call.
    pub(super) fn call(&mut self, name: &str) -> Commit {
        self.turn(name, Consumes::Call)
    }

    pub(super) fn try_commit(&mut self, commit: Commit) -> Result<Receipt, Refused> {
        answer!(self.write(Write::Commit(Box::new(commit))), Written::Committed(receipt) => receipt)
    }

    pub(super) fn commit(&mut self, commit: Commit) -> Receipt {
        self.try_commit(commit).expect("the commit is accepted")
    }

    /// Gives an object a row, so that it exists.
    pub(super) fn make(&mut self, name: &str) -> Version {
        let commit = Commit { rows: vec![put("made", "1")], ..self.call(name) };
        self.commit(commit).version.expect("the object exists")
    }

    pub(super) fn delete(&mut self, name: &str) {
        let commit = Commit { ending: Ending::Deleted, ..self.call(name) };
        assert_eq!(self.commit(commit).version, None);
    }

    pub(super) fn messages(&mut self, name: &str) -> Vec<Message> {
        let read = Read::Messages { to: object(name), after: None, limit: 100 };
        answer!(self.read(read), Answer::Messages(messages) => messages)
    }

    pub(super) fn messages_due(&mut self) -> Vec<Message> {
        answer!(self.read(Read::MessagesDue { limit: 100 }), Answer::MessagesDue(messages) => messages)
    }

    pub(super) fn alarms_due(&mut self) -> Vec<DueAlarm> {
        let read = Read::AlarmsDue { after: None, limit: 100 };
        answer!(self.read(read), Answer::AlarmsDue(alarms) => alarms)
    }

    pub(super) fn timers(&mut self) -> Timers {
        answer!(self.read(Read::Timers { after: Time::ZERO }), Answer::Timers(timers) => timers)
    }

    pub(super) fn fail(&mut self, event: EventRef, then: AfterFailure) -> EventFate {
        let fail = FailEvent { event, error: "it broke".into(), then };
        answer!(self.write(Write::FailEvent(fail)), Written::EventFailed(fate) => fate)
    }

    pub(super) fn crash(&mut self, event: EventRef) -> EventFate {
        answer!(self.write(Write::CountCrash { event }), Written::EventFailed(fate) => fate)
    }

    pub(super) fn enqueue_all(&mut self, jobs: Vec<NewJob>) -> Vec<Enqueued> {
        answer!(self.write(Write::Enqueue { jobs }), Written::Enqueued(enqueued) => enqueued)
    }

    /// Enqueues a job that is new.
    pub(super) fn enqueue(&mut self, job: NewJob) -> JobId {
        answer!(self.enqueue_all(vec![job]).remove(0), Enqueued::New(job) => job)
    }

    /// What a claim for queue `q` and kind `k` asks.
    pub(super) fn asks(&mut self, max: usize) -> Claim {
        self.claims += 1;
        Claim {
            worker: worker("w"),
            life: None,
            queues: vec![queue("q")],
            kinds: vec![kind("k")],
            max,
            lease_ms: 5_000,
            seed: self.claims,
            key: None,
        }
    }

    pub(super) fn claim_as(&mut self, claim: Claim) -> Claimed {
        answer!(self.write(Write::Claim(claim)), Written::Claimed(claimed) => claimed)
    }

    pub(super) fn claim(&mut self, max: usize) -> Claimed {
        let claim = self.asks(max);
        self.claim_as(claim)
    }

    /// Claims and expects exactly these jobs in this order.
    pub(super) fn claims(&mut self, max: usize, expected: &[JobId]) -> Vec<Lease> {
        let leases = self.claim(max).leases;
        let jobs: Vec<JobId> = leases.iter().map(|lease| lease.lease.job).collect();
        assert_eq!(jobs, expected, "the claimed jobs");
        leases
    }

    pub(super) fn try_finish(
        &mut self,
        lease: LeaseRef,
        finish: impl Into<Finish>,
    ) -> Result<Finished, LeaseLost> {
        let write = Write::Finish { lease, finish: finish.into(), seed: 7 };
        answer!(self.write(write), Written::Finished(finished) => finished)
    }

    pub(super) fn finish(&mut self, lease: &Lease, finish: impl Into<Finish>) -> Finished {
        self.try_finish(lease.lease, finish).expect("the lease is current")
    }

    pub(super) fn job(&mut self, job: JobId) -> JobView {
        *answer!(self.read(Read::Job(job)), Answer::Job(Some(view)) => view)
    }

    pub(super) fn state_of(&mut self, job: JobId) -> JobState {
        self.job(job).state
    }

    pub(super) fn why(&mut self, job: JobId) -> Vec<Cause> {
        why(&answer!(self.read(Read::Why(job)), Answer::Why(Some(facts)) => *facts))
    }

    pub(super) fn queues(&mut self) -> Vec<QueueView> {
        answer!(self.read(Read::Queues), Answer::Queues(queues) => queues)
    }

    pub(super) fn limits(&mut self) -> Vec<LimitView> {
        answer!(self.read(Read::Limits { after: None, limit: 100 }), Answer::Limits(limits) => limits)
    }

    pub(super) fn limit_of(&mut self, key: &str) -> LimitView {
        let views = self.limits();
        views.into_iter().find(|view| view.key.as_str() == key).expect("the limit is listed")
    }

    pub(super) fn set_limit(&mut self, key: &str, policy: LimitPolicy) {
        self.set(Write::SetLimit { key: limit_key(key), policy: Some(policy) });
    }
}

/// `kind/name`.
pub(super) fn object(name: &str) -> ObjectKey {
    name.parse().expect("the stories use good names")
}

pub(super) fn name(text: &str) -> Name {
    Name::trusted(text)
}

pub(super) fn queue(name: &str) -> QueueName {
    QueueName::trusted(name)
}

pub(super) fn kind(name: &str) -> JobKind {
    JobKind::trusted(name)
}

pub(super) fn worker(name: &str) -> WorkerId {
    WorkerId::trusted(name)
}

pub(super) fn limit_key(name: &str) -> LimitKey {
    LimitKey::trusted(name)
}

pub(super) fn unique_key(name: &str) -> UniqueKey {
    UniqueKey::trusted(name)
}

pub(super) fn alarm_name(name: &str) -> AlarmName {
    AlarmName::trusted(name)
}

pub(super) fn ticket(nth: u8) -> Ticket {
    Ticket::trusted(format!("{nth:032x}"))
}

pub(super) fn json(text: &str) -> Json {
    Json::parse(text).expect("the stories use good JSON")
}

pub(super) fn put(key: &str, value: &str) -> RowWrite {
    RowWrite::Put { key: key.into(), row: Row { schema: 1, value: json(value) } }
}

/// A job of kind `k` in queue `q`.
pub(super) fn job() -> NewJob {
    NewJob::new(queue("q"), kind("k"), json(r#"{"n":1}"#))
}

/// A job of kind `k` in queue `q` that must pass these limits.
pub(super) fn job_with(keys: &[&str]) -> NewJob {
    NewJob { limit_keys: keys.iter().map(|key| limit_key(key)).collect(), ..job() }
}

pub(super) fn concurrency(limit: u32) -> LimitPolicy {
    LimitPolicy { concurrency: Some(limit), ..LimitPolicy::default() }
}

pub(super) fn rates(rates: &[&str], burst: u32) -> LimitPolicy {
    let rates = rates.iter().map(|rate| rate.parse().expect("a rate")).collect();
    LimitPolicy { concurrency: None, rates, burst }
}

pub(super) fn done() -> AttemptEnd {
    AttemptEnd::Done { result: json(r#""made""#) }
}

pub(super) fn failed(retry: RetryWish) -> AttemptEnd {
    AttemptEnd::Error { reason: "no route".into(), retry }
}
