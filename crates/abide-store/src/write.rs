//! The writing verbs.

use abide_core::commit::Commit;
use abide_core::dead::DeadId;
use abide_core::event::{EventRef, Message, MessageId};
use abide_core::job::{AttemptWord, CoolDown, Finish, JobId, JobState, Lease, LeaseRef, Misfit, NewJob};
use abide_core::json::Json;
use abide_core::limit::LimitPolicy;
use abide_core::log::Seq;
use abide_core::name::{IdempotencyKey, JobKind, LimitKey, QueueName, WorkerId};
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::queue::QueuePolicy;
use abide_core::ticket::{Resolution, Ticket};
use abide_core::time::{Time, earliest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One write. Each is atomic; a batch of them is made durable together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// An engine starts: gives it a life, and voids the in-process leases of former lives ([`JobEvent::Restarted`]).
    ///
    /// [`JobEvent::Restarted`]: abide_core::job::JobEvent::Restarted
    Begin(Begin),
    /// A turn's commit. Answers [`Written::Committed`].
    Commit(Box<Commit>),
    /// Asks whether a fence still holds, for a turn that changes nothing. Answers [`Written::Checked`].
    Check {
        /// Whose.
        object: ObjectKey,
        /// What the turn read.
        fence: Fence,
    },
    /// A turn failed. An event that is not there any more changes nothing.
    FailEvent(FailEvent),
    /// An event was running when the engine died. Raises its crashes; at [`EVENT_CRASHES`] it is a dead letter.
    ///
    /// [`EVENT_CRASHES`]: abide_core::limits::EVENT_CRASHES
    CountCrash {
        /// Which event.
        event: EventRef,
    },
    /// A message from outside.
    Send {
        /// For whom.
        to: ObjectKey,
        /// What.
        body: Json,
    },
    /// Jobs from outside (no owner), each by itself new or a duplicate.
    Enqueue {
        /// The jobs.
        jobs: Vec<NewJob>,
    },
    /// Takes jobs for a worker.
    Claim(Claim),
    /// Lengthens leases.
    Renew {
        /// Which.
        leases: Vec<LeaseRef>,
        /// From now.
        lease_ms: i64,
    },
    /// Notes how far a job is.
    Progress {
        /// Whose.
        lease: LeaseRef,
        /// What to note.
        progress: Json,
    },
    /// The worker is through with what the job's limit keys guard: their places are free for others while it still runs.
    /// Its queue's own key stays taken.
    Vacate {
        /// Whose.
        lease: LeaseRef,
    },
    /// Ends an attempt: exactly once, freeing its limits, telling the owner if the job is over.
    Finish {
        /// Whose.
        lease: LeaseRef,
        /// How.
        finish: Finish,
        /// For the jitter of the next attempt.
        seed: u64,
    },
    /// Takes back leases that ran out ([`JobEvent::Expired`]).
    ///
    /// [`JobEvent::Expired`]: abide_core::job::JobEvent::Expired
    ReleaseExpired,
    /// An engine does not know what became of a claim: every lease that names its life and is not among `held` is handed
    /// back. Answers [`Written::Released`].
    Disown {
        /// Whose.
        life: Life,
        /// Those it knows of.
        held: Vec<LeaseRef>,
    },
    /// The clock jumped, or nobody was there to hear heartbeats: every lease ends `lease_ms` from now, or later if it did
    /// already.
    Regrant {
        /// From now.
        lease_ms: i64,
    },
    /// Asks a job not to run.
    Cancel {
        /// Which.
        job: JobId,
    },
    /// Asks a job that is over to run again with fresh attempts.
    Retry {
        /// Which.
        job: JobId,
    },
    /// Sets a queue's policy (its `paused` included).
    SetQueue {
        /// Which.
        queue: QueueName,
        /// The policy.
        policy: QueuePolicy,
    },
    /// Pauses or resumes a queue.
    SetPaused {
        /// Which.
        queue: QueueName,
        /// Whether its jobs stay.
        paused: bool,
    },
    /// Sets or removes the policy of a key (`host:example.org`) or a class (`host:*`). Removing it also ends a rest of the
    /// key.
    SetLimit {
        /// Which.
        key: LimitKey,
        /// The policy; none removes it.
        policy: Option<LimitPolicy>,
    },
    /// Keeps a key resting for a while.
    CoolDown(CoolDown),
    /// Makes a worker known, or says that it is still there.
    SetWorker(WorkerCard),
    /// A worker left.
    RemoveWorker {
        /// Which.
        worker: WorkerId,
    },
    /// Runs a dead letter's event again, with fresh attempts.
    ReplayDead {
        /// Which.
        id: DeadId,
    },
    /// Forgets a dead letter.
    DropDead {
        /// Which.
        id: DeadId,
    },
    /// Removes rows, alarms, log entries and the like of deleted lives, at most `max` of them.
    Sweep {
        /// How many.
        max: usize,
    },
    /// Removes what is past its retention: finished jobs, kept replies, resolved tickets; at most `max` of them.
    Prune {
        /// How many.
        max: usize,
    },
}

/// An engine starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Whether other engines may be alive on the same store; if not, all former in-process leases are void.
    pub alone: bool,
}

/// A failed turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailEvent {
    /// For what it ran.
    pub event: EventRef,
    /// Why it failed.
    pub error: String,
    /// What now.
    pub then: AfterFailure,
}

/// What becomes of an event whose turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Run it again then.
    RetryAt(Time),
    /// Keep it as a dead letter.
    Dead,
}

/// Asks for jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// For whom.
    pub worker: WorkerId,
    /// The engine's life if the worker lives in its process.
    pub life: Option<Life>,
    /// From these queues.
    pub queues: Vec<QueueName>,
    /// Of these kinds.
    pub kinds: Vec<JobKind>,
    /// At most this many.
    pub max: usize,
    /// For this long.
    pub lease_ms: i64,
    /// For the tokens.
    pub seed: u64,
    /// The worker's name for this claim: while it holds leases that it got under it, asking again gives those and no others.
    pub key: Option<IdempotencyKey>,
}

/// Who takes which jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerCard {
    /// Who.
    pub worker: WorkerId,
    /// The engine's life if it lives in its process: gone with it.
    pub life: Option<Life>,
    /// From these queues.
    pub queues: Vec<QueueName>,
    /// Of these kinds.
    pub kinds: Vec<JobKind>,
    /// Last heard of; set by the store.
    pub seen_at: Time,
}

/// The answers to a batch, in its order, and what the batch woke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The store's time of the batch.
    pub at: Time,
    /// One for each write.
    pub written: Vec<Written>,
    /// What there is to do now that was not before.
    pub woken: Box<Woken>,
}

/// What a batch gave the engine to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Woken {
    /// New messages, in order of id.
    pub messages: Vec<Message>,
    /// Followers whose logs have new entries.
    pub followers: Vec<ObjectKey>,
    /// Queues and kinds that got a job which could start now.
    pub ready: BTreeSet<(QueueName, JobKind)>,
    /// Logs that grew: whose, and their heads.
    pub logs: Vec<(ObjectKey, Incarnation, Seq)>,
    /// Tickets that were resolved.
    pub tickets: Vec<(Ticket, Resolution)>,
    /// Running jobs that were asked to stop.
    pub cancelling: Vec<JobId>,
    /// Jobs that went from one state to another, in the order in which they did.
    pub moves: Vec<JobMove>,
    /// Whether something was deleted that must be swept.
    pub sweep: bool,
    /// The earliest alarm that was set.
    pub alarm_at: Option<Time>,
    /// The earliest message that was put off.
    pub message_at: Option<Time>,
    /// The earliest time at which a job becomes ready or a limit opens.
    pub job_at: Option<Time>,
    /// The earliest end of a lease that was granted.
    pub lease_at: Option<Time>,
    /// The earliest time at which something is past its retention.
    pub prune_at: Option<Time>,
}

/// A job went from one state to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobMove {
    /// Which.
    pub job: JobId,
    /// Its queue.
    pub queue: QueueName,
    /// Its kind.
    pub kind: JobKind,
    /// Where it was; none if it is new.
    pub from: Option<JobState>,
    /// Where it is.
    pub to: JobState,
    /// Its attempts so far.
    pub attempt: u32,
    /// How an attempt ended by this, if one did.
    pub ended: Option<AttemptWord>,
    /// Since when it was where it was: the start of its attempt if it ran, otherwise when it might run.
    pub since: Time,
}

impl Woken {
    /// Notes an alarm.
    pub fn alarm(&mut self, at: Time) {
        self.alarm_at = earliest(self.alarm_at, Some(at));
    }

    /// Notes a time at which a job may start.
    pub fn job(&mut self, at: Time) {
        self.job_at = earliest(self.job_at, Some(at));
    }

    /// Notes the end of a lease.
    pub fn lease(&mut self, at: Time) {
        self.lease_at = earliest(self.lease_at, Some(at));
    }

    /// Notes a message that waits.
    pub fn message_later(&mut self, at: Time) {
        self.message_at = earliest(self.message_at, Some(at));
    }

    /// Notes something that will be past its retention.
    pub fn prune(&mut self, at: Time) {
        self.prune_at = earliest(self.prune_at, Some(at));
    }
}

/// The answer to one write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// To [`Write::Begin`].
    Began(Began),
    /// To [`Write::Commit`].
    Committed(Result<Receipt, Refused>),
    /// To [`Write::Check`].
    Checked(Result<(), Refused>),
    /// To [`Write::FailEvent`] and [`Write::CountCrash`].
    EventFailed(EventFate),
    /// To [`Write::Send`].
    Sent(MessageId),
    /// To [`Write::Enqueue`], in its order.
    Enqueued(Vec<Enqueued>),
    /// To [`Write::Claim`].
    Claimed(Claimed),
    /// To [`Write::Renew`], in its order.
    Renewed(Vec<Renewal>),
    /// To [`Write::Progress`].
    Progressed(Result<(), LeaseLost>),
    /// To [`Write::Vacate`].
    Vacated(Result<(), LeaseLost>),
    /// To [`Write::Finish`].
    Finished(Result<Finished, LeaseLost>),
    /// To [`Write::ReleaseExpired`] and [`Write::Disown`]: the jobs whose leases ended.
    Released(Vec<JobId>),
    /// To [`Write::Cancel`] and [`Write::Retry`]: the state now.
    Moved(Result<JobState, JobRefused>),
    /// To the setting verbs.
    Set,
    /// To [`Write::ReplayDead`] and [`Write::DropDead`]: whether there was such a dead letter.
    Dead(bool),
    /// To [`Write::Sweep`] and [`Write::Prune`].
    Removed(Removed),
}

/// What an engine learns at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Began {
    /// Its life.
    pub life: Life,
    /// In-process leases of former lives that were voided.
    pub voided: u64,
}

/// What an accepted commit left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The object's version now; none if it does not exist.
    pub version: Option<Version>,
    /// One for each of its jobs.
    pub jobs: Vec<Enqueued>,
}

/// Why a commit was refused. Nothing of it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The object is not where the turn read it: read again, run again.
    Moved,
    /// The event was consumed, cleared or replaced in the meantime: there is nothing to run.
    EventGone,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventFate {
    /// It will run again.
    Retried,
    /// It is a dead letter.
    Dead(DeadId),
    /// It was not there any more.
    Gone,
}

/// What became of a job that was to be enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is new.
    New(JobId),
    /// One with its unique key was there. Nothing changed.
    Duplicate(JobId),
}

impl Enqueued {
    /// The job, new or not.
    #[must_use]
    pub const fn job(self) -> JobId {
        match self {
            Enqueued::New(job) | Enqueued::Duplicate(job) => job,
        }
    }
}

/// Jobs for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The leases, in the order in which they should start.
    pub leases: Vec<Lease>,
    /// Whether asking again at once may give more.
    pub more: bool,
    /// Otherwise the earliest time at which asking again may, if time alone can change it.
    pub next_at: Option<Time>,
}

/// What became of a lease that was to be lengthened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It holds until then.
    Held {
        /// Until when.
        until: Time,
        /// Whether the job was asked to stop.
        cancel_asked: bool,
    },
    /// It is not the current one.
    Lost,
}

/// A finished attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// The job's state now.
    pub state: JobState,
    /// When it runs again, if it does.
    pub run_at: Option<Time>,
    /// Whether this very finish had been applied before and changed nothing now.
    pub repeated: bool,
}

/// The lease is not the current one: nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeaseLost {
    /// There is no such job.
    #[error("there is no such job")]
    NoJob,
    /// Another attempt has begun, or the lease was taken back.
    #[error("the lease is not the current one: the job is {0}")]
    Stale(JobState),
}

/// A job could not be moved: nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JobRefused {
    /// There is no such job.
    #[error("there is no such job")]
    NoJob,
    /// It is not in a state for that.
    #[error(transparent)]
    Misfit(#[from] Misfit),
}

/// What a sweep or a prune did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// How much was removed.
    pub count: usize,
    /// Whether there is more to remove now.
    pub more: bool,
}
