//! New jobs.

use crate::error::Outcome;
use crate::jobs::job::{Carried, Job};
use crate::jobs::unique;
use crate::writer::Writer;
use abide_core::job::{JobId, JobState, NewJob, Owner};
use abide_core::json::Json;
use abide_core::name::LimitKey;
use abide_store::write::Enqueued;

/// A payload up to this size is kept at hand with its job.
const AT_HAND_BYTES: usize = 4 * 1024;

const INSERT: &str =
    "INSERT INTO jobs (id, queue, kind, state, priority, run_at, parked_on, created_at, updated_at,
         max_attempts, backoff_base_ms, backoff_cap_ms, unique_key, key_scope, limit_keys,
         owner_kind, owner_name, owner_incarnation)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
const INSERT_PAYLOAD: &str = "INSERT INTO job_payloads (job, payload, trace) VALUES (?1, ?2, ?3)";

impl Writer<'_> {
    pub(crate) fn enqueue_all(&mut self, jobs: &[NewJob], owner: Option<&Owner>) -> Outcome<Vec<Enqueued>> {
        let mut enqueued = Vec::with_capacity(jobs.len());
        for job in jobs {
            enqueued.push(self.enqueue(job, owner)?);
        }
        Ok(enqueued)
    }

    fn enqueue(&mut self, new: &NewJob, owner: Option<&Owner>) -> Outcome<Enqueued> {
        let id = self.held.meta.peek_job();
        let key_scope = new.unique_key.as_ref().map(|_| unique::scope(&new.queue, owner));
        if let (Some(scope), Some(key)) = (&key_scope, &new.unique_key)
            && let Some(holder) = self.take_unique(scope, key, id, &new.queue)?
        {
            return Ok(Enqueued::Duplicate(holder));
        }
        self.held.meta.next_job();
        let mut job = self.new_job(id, new, owner);
        job.key_scope = key_scope;
        self.note_new(&job);
        if job.state == JobState::Scheduled {
            self.schedule(&job);
        } else {
            self.choose_place(&mut job)?;
        }
        self.insert(&job)?;
        self.db.run(INSERT_PAYLOAD, (id.0, new.payload.as_str(), new.trace.as_deref()))?;
        Ok(Enqueued::New(id))
    }

    fn new_job(&mut self, id: JobId, new: &NewJob, owner: Option<&Owner>) -> Job {
        let policy = &self.held.queues.change(&new.queue).policy;
        let later = new.run_at.filter(|run_at| *run_at > self.now);
        Job {
            id,
            stream: (new.queue.clone(), new.kind.clone()),
            state: if later.is_some() { JobState::Scheduled } else { JobState::Ready },
            priority: new.priority,
            run_at: later.unwrap_or(self.now),
            parked_on: None,
            attempt: 0,
            failures: 0,
            restarts: 0,
            cancel_asked: false,
            token: None,
            running: None,
            max_attempts: new.max_attempts.unwrap_or(policy.max_attempts),
            backoff: new.backoff.unwrap_or(policy.backoff),
            unique_key: new.unique_key.clone(),
            key_scope: None,
            limit_keys: distinct_keys(new),
            owner: owner.cloned(),
            reason: None,
            carried: (new.payload.len() <= AT_HAND_BYTES)
                .then(|| Carried { payload: new.payload.clone(), trace: new.trace.clone() }),
        }
    }

    fn insert(&self, job: &Job) -> Outcome<()> {
        let limit_keys = match job.limit_keys.as_slice() {
            [] => None,
            keys => Some(Json::encode(keys)?),
        };
        let owner = job.owner.as_ref();
        self.db.run(
            INSERT,
            rusqlite::params![
                job.id.0,
                job.queue().as_str(),
                job.kind().as_str(),
                job.state.as_str(),
                job.priority,
                job.run_at.0,
                job.parked_on.as_ref().map(LimitKey::as_str),
                self.now.0,
                job.max_attempts,
                job.backoff.base_ms,
                job.backoff.cap_ms,
                job.unique_key.as_ref().map(|key| key.as_str()),
                job.key_scope.as_deref(),
                limit_keys.as_ref().map(Json::as_str),
                owner.map(|owner| owner.object.kind.as_str()),
                owner.map(|owner| owner.object.name.as_str()),
                owner.map(|owner| owner.incarnation.0),
            ],
        )?;
        Ok(())
    }

    /// Notes the time of a job that is scheduled.
    pub(crate) fn schedule(&mut self, job: &Job) {
        self.held.schedule.add(job);
        self.woken.job(job.run_at);
    }
}

/// Each of its limit keys once, and not its queue's own, which it takes anyway.
fn distinct_keys(new: &NewJob) -> Vec<LimitKey> {
    let mut keys: Vec<LimitKey> = Vec::new();
    for key in &new.limit_keys {
        let is_own = key.as_str().strip_prefix("queue:") == Some(new.queue.as_str());
        if !is_own && !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}
