//! What people see: jobs, queues, limits, objects, tickets.

use abide_core::job::{Attempt, JobId, JobState, Owner};
use abide_core::json::Json;
use abide_core::limit::{Blocked, LimitPolicy};
use abide_core::limits::PAGE_BYTES;
use abide_core::log::Seq;
use abide_core::name::{AlarmName, JobKind, LimitKey, QueueName, UniqueKey, WorkerId};
use abide_core::object::{Incarnation, ObjectKey, Version};
use abide_core::queue::{QueueCounts, QueuePolicy};
use abide_core::ticket::Resolution;
use abide_core::time::Time;
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// Which.
    pub job: JobId,
    /// Its queue.
    pub queue: QueueName,
    /// Its kind.
    pub kind: JobKind,
    /// Where it is.
    pub state: JobState,
    /// Higher starts first.
    pub priority: i32,
    /// What it is about.
    pub payload: Json,
    /// Its unique key.
    pub unique_key: Option<UniqueKey>,
    /// Limits it must pass.
    pub limit_keys: Vec<LimitKey>,
    /// Who gets its outcome.
    pub owner: Option<Owner>,
    /// When it may run, or became ready.
    pub run_at: Time,
    /// Attempts so far, the running one included.
    pub attempt: u32,
    /// Attempts that count against it.
    pub failures: u32,
    /// Attempts that were cut short by the end of their engine.
    pub restarts: u32,
    /// Failures after which it is a dead letter.
    pub max_attempts: u32,
    /// Whether it was asked to stop.
    pub cancel_asked: bool,
    /// Who runs it.
    pub worker: Option<WorkerId>,
    /// Until when.
    pub lease_expires_at: Option<Time>,
    /// How far it is.
    pub progress: Option<Json>,
    /// What came of it.
    pub result: Option<Json>,
    /// Why the last attempt ended as it did.
    pub reason: Option<String>,
    /// W3C trace context of whoever enqueued it.
    pub trace: Option<String>,
    /// When it was enqueued.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// When it was over.
    pub finished_at: Option<Time>,
    /// Every attempt that ended; left out if none did. Empty in listings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
}

impl JobView {
    /// Bytes of what workers and clients wrote into it.
    fn bytes(&self) -> usize {
        let written = [self.progress.as_ref(), self.result.as_ref()].into_iter().flatten().map(Json::len);
        self.payload.len() + written.sum::<usize>()
    }
}

/// Which jobs to list: newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// Only in this state.
    pub state: Option<JobState>,
    /// Only of this queue.
    pub queue: Option<QueueName>,
    /// Only of this kind.
    pub kind: Option<JobKind>,
    /// Only owned by this object.
    pub owner: Option<ObjectKey>,
    /// Only with this limit key.
    pub limit_key: Option<LimitKey>,
    /// Only with a unique key that starts like this.
    pub unique_prefix: Option<String>,
    /// Only created then.
    pub created: TimeRange,
    /// Only over, and ended then.
    pub finished: TimeRange,
    /// Only before this job: `next` of the page before.
    pub before: Option<JobId>,
    /// How many.
    pub limit: usize,
}

/// Instants at or after one and before another; all of them by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    /// The first instant.
    pub from: Time,
    /// The first instant after them.
    pub until: Time,
}

impl Default for TimeRange {
    fn default() -> TimeRange {
        TimeRange { from: Time(i64::MIN), until: Time::MAX }
    }
}

impl TimeRange {
    /// Whether an instant is among them.
    #[must_use]
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.until
    }
}

/// What a filter asks about a job.
#[derive(Debug, Clone, Copy)]
pub struct JobFacts<'a> {
    /// Where it is.
    pub state: JobState,
    /// Its queue.
    pub queue: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Kind and name of its owner.
    pub owner: Option<(&'a str, &'a str)>,
    /// Its limit keys.
    pub limit_keys: &'a [LimitKey],
    /// Its unique key.
    pub unique_key: Option<&'a str>,
    /// When it was enqueued.
    pub created_at: Time,
    /// When it was over.
    pub finished_at: Option<Time>,
}

impl JobFilter {
    /// Whether a job is meant, wherever the page begins.
    #[must_use]
    pub fn passes(&self, job: &JobFacts<'_>) -> bool {
        let is_owner = |owner: &ObjectKey| job.owner == Some((owner.kind.as_str(), owner.name.as_str()));
        let starts = |prefix: &String| job.unique_key.is_some_and(|key| key.starts_with(prefix.as_str()));
        let all = TimeRange::default();
        self.state.is_none_or(|state| state == job.state)
            && self.queue.as_ref().is_none_or(|queue| queue.as_str() == job.queue)
            && self.kind.as_ref().is_none_or(|kind| kind.as_str() == job.kind)
            && self.owner.as_ref().is_none_or(is_owner)
            && self.limit_key.as_ref().is_none_or(|key| job.limit_keys.contains(key))
            && self.unique_prefix.as_ref().is_none_or(starts)
            && self.created.contains(job.created_at)
            && (self.finished == all || job.finished_at.is_some_and(|at| self.finished.contains(at)))
    }
}

/// A page of jobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JobPage {
    /// The jobs, newest first.
    pub jobs: Vec<JobView>,
    /// Give this as `before` for the next page; none if this is the last. A page may end early, even without a job, so
    /// that it ends in time, or because its jobs are large.
    pub next: Option<JobId>,
}

impl JobPage {
    /// The page that has all of `jobs` and goes on at `next`; a shorter one if they have more than [`PAGE_BYTES`].
    pub fn of<E>(
        jobs: impl IntoIterator<Item = Result<JobView, E>>,
        next: Option<JobId>,
    ) -> Result<JobPage, E> {
        let mut page = JobPage { jobs: Vec::new(), next };
        let mut bytes = 0;
        for view in jobs {
            let view = view?;
            bytes += view.bytes();
            if let Some(last) = page.jobs.last().filter(|_| bytes > PAGE_BYTES) {
                page.next = Some(last.job);
                break;
            }
            page.jobs.push(view);
        }
        Ok(page)
    }
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueueView {
    /// Which.
    pub queue: QueueName,
    /// Its policy.
    pub policy: QueuePolicy,
    /// Its jobs by state.
    pub counts: QueueCounts,
}

/// A limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LimitView {
    /// Which key or class.
    pub key: LimitKey,
    /// The policy that applies: its own or its class's.
    pub policy: Option<LimitPolicy>,
    /// Live leases.
    pub in_use: u32,
    /// Jobs parked under it.
    pub waiting: u64,
    /// Why it allows no more now, if it does not.
    pub blocked: Option<Blocked>,
    /// When it opens, if time alone opens it.
    pub until: Option<Time>,
}

/// An object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectView {
    /// Which.
    pub object: ObjectKey,
    /// Its life.
    pub incarnation: Incarnation,
    /// Its version.
    pub version: Version,
    /// The last entry of its log.
    pub log_head: Seq,
    /// When it began.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// Its alarms by name, no more than a page has. Empty in listings.
    pub alarms: Vec<(AlarmName, Time)>,
}

/// A ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TicketView {
    /// The answer is not there yet.
    Open,
    /// It is.
    Resolved(Resolution),
}
