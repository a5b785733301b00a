//! Everything a store holds, and the one place that gives each write to its verb.

use super::alarms::Alarms;
use super::follows::Follow;
use super::jobs::{Job, Taken, UniqueScope};
use super::lanes::Lanes;
use super::limits::Limits;
use super::messages::Messages;
use super::objects::Object;
use super::tickets::{KeptReply, TicketState};
use crate::write::{Batch, Woken, WorkerCard, Write, Written};
use abide_core::dead::{DeadId, DeadLetter};
use abide_core::job::JobId;
use abide_core::log::LogEntry;
use abide_core::name::{IdempotencyKey, QueueName, UniqueKey, WorkerId};
use abide_core::object::{Incarnation, Life, ObjectKey};
use abide_core::queue::QueuePolicy;
use abide_core::row::Row;
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The store's state.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// The latest time it has seen with a write.
    pub(super) now: Time,
    /// The life of the engine that began last.
    pub(super) last_life: u32,
    pub(super) last_job: i64,
    pub(super) last_dead: i64,

    pub(super) objects: BTreeMap<ObjectKey, Object>,
    pub(super) rows: BTreeMap<Incarnation, BTreeMap<String, Row>>,
    pub(super) logs: BTreeMap<Incarnation, Vec<LogEntry>>,
    /// Deleted lives of which something is left.
    pub(super) unswept: BTreeSet<Incarnation>,

    pub(super) messages: Messages,
    pub(super) alarms: Alarms,
    /// By the follower's life and the source.
    pub(super) follows: BTreeMap<(Incarnation, ObjectKey), Follow>,
    pub(super) dead: BTreeMap<DeadId, DeadLetter>,
    pub(super) tickets: BTreeMap<Ticket, TicketState>,
    pub(super) replies: BTreeMap<(ObjectKey, IdempotencyKey), KeptReply>,

    pub(super) queues: BTreeMap<QueueName, QueuePolicy>,
    pub(super) workers: BTreeMap<WorkerId, WorkerCard>,
    pub(super) jobs: BTreeMap<JobId, Job>,
    pub(super) unique: BTreeMap<(UniqueScope, UniqueKey), Taken>,
    /// Scheduled jobs by their time.
    pub(super) scheduled: BTreeSet<(Time, JobId)>,
    /// Running jobs by the end of their lease.
    pub(super) leases: BTreeSet<(Time, JobId)>,
    pub(super) limits: Limits,
    pub(super) lanes: Lanes,
}

impl State {
    pub(super) fn write(&mut self, now: Time, batch: &[Write]) -> Batch {
        self.now = self.now.max(now);
        let mut woken = Woken::default();
        let written = batch.iter().map(|write| self.apply_and_note(write, &mut woken)).collect();
        woken.followers.sort();
        woken.followers.dedup();
        Batch { at: self.now, written, woken: Box::new(woken) }
    }

    /// Applies a write and reports the keys that it gave another time to open.
    fn apply_and_note(&mut self, write: &Write, woken: &mut Woken) -> Written {
        let before = self.limits.wake_at.clone();
        let written = self.apply(write, woken);
        for (_, at) in self.limits.wake_at.iter().filter(|(key, at)| before.get(*key) != Some(*at)) {
            woken.job(*at);
        }
        written
    }

    fn apply(&mut self, write: &Write, woken: &mut Woken) -> Written {
        match write {
            Write::Begin(begin) => Written::Began(self.begin(begin, woken)),
            Write::Commit(commit) => Written::Committed(self.commit(commit, woken)),
            Write::Check { object, fence } => Written::Checked(self.check_fence(object, fence)),
            Write::FailEvent(fail) => Written::EventFailed(self.fail_event(fail, woken)),
            Write::CountCrash { event } => Written::EventFailed(self.count_crash(event)),
            Write::Send { to, body } => Written::Sent(self.send_from_outside(to, body, woken)),
            Write::Enqueue { jobs } => {
                Written::Enqueued(jobs.iter().map(|job| self.enqueue(job, None, woken)).collect())
            }
            Write::Claim(claim) => Written::Claimed(self.claim(claim, woken)),
            Write::Renew { leases, lease_ms } => {
                Written::Renewed(leases.iter().map(|lease| self.renew(lease, *lease_ms)).collect())
            }
            Write::Progress { lease, progress } => Written::Progressed(self.progress(lease, progress)),
            Write::Vacate { lease } => Written::Vacated(self.vacate(lease, woken)),
            Write::Finish { lease, finish, seed } => {
                Written::Finished(self.finish(lease, finish, *seed, woken))
            }
            Write::ReleaseExpired => Written::Released(self.release_expired(woken)),
            Write::Disown { life, held } => Written::Released(self.disown(*life, held, woken)),
            Write::Regrant { lease_ms } => self.set(|state| state.regrant(*lease_ms)),
            Write::Cancel { job } => Written::Moved(self.cancel(*job, woken)),
            Write::Retry { job } => Written::Moved(self.retry(*job, woken)),
            Write::SetQueue { queue, policy } => self.set(|state| state.set_queue(queue, policy, woken)),
            Write::SetPaused { queue, paused } => self.set(|state| state.set_paused(queue, *paused, woken)),
            Write::SetLimit { key, policy } => self.set(|state| state.set_limit(key, policy.as_ref(), woken)),
            Write::CoolDown(cool_down) => self.set(|state| state.cool_down(cool_down)),
            Write::SetWorker(card) => self.set(|state| state.set_worker(card)),
            Write::RemoveWorker { worker } => self.set(|state| {
                state.workers.remove(worker);
            }),
            Write::ReplayDead { id } => Written::Dead(self.replay(*id, woken)),
            Write::DropDead { id } => Written::Dead(self.forget(*id, woken)),
            Write::Sweep { max } => Written::Removed(self.sweep(*max)),
            Write::Prune { max } => Written::Removed(self.prune(*max)),
        }
    }

    fn set(&mut self, verb: impl FnOnce(&mut State)) -> Written {
        verb(self);
        Written::Set
    }

    fn set_worker(&mut self, card: &WorkerCard) {
        let card = WorkerCard { seen_at: self.now, ..card.clone() };
        self.workers.insert(card.worker.clone(), card);
    }

    /// The next life of an engine.
    pub(super) fn next_life(&mut self) -> Life {
        self.last_life += 1;
        Life(self.last_life)
    }
}
