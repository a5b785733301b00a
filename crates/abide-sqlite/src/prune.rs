//! Retention: what is removed when its time is over.

use crate::db::{Db, at_most};
use crate::error::Outcome;
use crate::jobs::job::Job;
use crate::queues;
use crate::writer::Writer;
use abide_core::job::{JobId, JobState};
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::name::QueueName;
use abide_core::queue::QueuePolicy;
use abide_core::time::{Time, earliest};
use abide_store::write::Removed;

/// The states that are over.
const OVER: [JobState; 4] = [JobState::Done, JobState::Skipped, JobState::Failed, JobState::Cancelled];

const FIRST_OVER: &str =
    "SELECT finished_at FROM jobs WHERE queue = ?1 AND state = ?2 AND finished_at IS NOT NULL
     ORDER BY finished_at LIMIT 1";
const FIRST_KEYED: &str =
    "SELECT finished_at FROM jobs WHERE queue = ?1 AND finished_at IS NOT NULL AND key_scope IS NOT NULL
     ORDER BY finished_at LIMIT 1";
const FIRST_ENDED_KEY: &str =
    "SELECT ended_at FROM unique_keys WHERE queue = ?1 AND ended_at IS NOT NULL ORDER BY ended_at LIMIT 1";
const FIRST_REPLY: &str = "SELECT kept_at FROM replies ORDER BY kept_at LIMIT 1";
const FIRST_TICKET: &str =
    "SELECT resolved_at FROM tickets WHERE resolved_at IS NOT NULL ORDER BY resolved_at LIMIT 1";

const PAST_JOBS: &str = "SELECT id, unique_key, key_scope, finished_at FROM jobs
     WHERE queue = ?1 AND state = ?2 AND finished_at <= ?3 ORDER BY finished_at, id LIMIT ?4";
const REMOVE_JOB: &str = "DELETE FROM jobs WHERE id = ?1";
const REMOVE_PAYLOAD: &str = "DELETE FROM job_payloads WHERE job = ?1";
const REMOVE_ATTEMPTS: &str = "DELETE FROM job_attempts WHERE job = ?1";
const PAST_KEYED: &str = "SELECT id, unique_key, key_scope FROM jobs
     WHERE queue = ?1 AND finished_at <= ?2 AND key_scope IS NOT NULL ORDER BY finished_at, id LIMIT ?3";
const PAST_ENDED_KEYS: &str = "DELETE FROM unique_keys WHERE (scope, key) IN
         (SELECT scope, key FROM unique_keys WHERE queue = ?1 AND ended_at <= ?2 ORDER BY ended_at LIMIT ?3)";
const PAST_REPLIES: &str = "DELETE FROM replies WHERE (kind, name, key) IN
         (SELECT kind, name, key FROM replies WHERE kept_at <= ?1 ORDER BY kept_at LIMIT ?2)";
const PAST_TICKETS: &str = "DELETE FROM tickets WHERE ticket IN
         (SELECT ticket FROM tickets WHERE resolved_at <= ?1 ORDER BY resolved_at LIMIT ?2)";

/// How long a queue keeps a job that ended in this state; none for ever.
fn retained_ms(policy: &QueuePolicy, state: JobState) -> Option<i64> {
    match state {
        JobState::Scheduled | JobState::Ready | JobState::Running => None,
        JobState::Done | JobState::Skipped | JobState::Cancelled => policy.retain_ms,
        JobState::Failed => policy.retain_failed_ms,
    }
}

/// When the first thing of all is past its retention.
pub(crate) fn first_end_of_retention(db: &Db<'_>) -> Outcome<Option<Time>> {
    let kept = |at: Option<i64>| at.map(|at| Time(at).plus_ms(REPLY_KEPT_MS));
    let mut first = earliest(kept(db.number(FIRST_REPLY, [])?), kept(db.number(FIRST_TICKET, [])?));
    for (queue, policy, _) in queues::load(db)? {
        first = earliest(first, first_of_queue(db, &queue, &policy)?);
    }
    Ok(first)
}

fn first_of_queue(db: &Db<'_>, queue: &QueueName, policy: &QueuePolicy) -> Outcome<Option<Time>> {
    let mut first = None;
    for state in OVER {
        if let Some(ms) = retained_ms(policy, state) {
            let at = db.number(FIRST_OVER, (queue.as_str(), state.as_str()))?;
            first = earliest(first, at.map(|at| Time(at).plus_ms(ms)));
        }
    }
    if let Some(ms) = policy.forget_keys_after_ms {
        for sql in [FIRST_KEYED, FIRST_ENDED_KEY] {
            let at = db.number(sql, [queue.as_str()])?;
            first = earliest(first, at.map(|at| Time(at).plus_ms(ms)));
        }
    }
    Ok(first)
}

impl Writer<'_> {
    /// Notes how long a job that is over now is kept, and its unique key.
    pub(crate) fn note_retention(&mut self, job: &Job) {
        let Some(queue) = self.held.queues.get(job.queue()) else { return };
        let of_job = retained_ms(&queue.policy, job.state);
        let of_key = queue.policy.forget_keys_after_ms.filter(|_| job.key_scope.is_some());
        for ms in [of_job, of_key].into_iter().flatten() {
            self.woken.prune(self.now.plus_ms(ms));
        }
    }

    pub(crate) fn first_end_of_retention_in(&self, queue: &QueueName) -> Outcome<Option<Time>> {
        match self.held.queues.get(queue) {
            Some(held) => first_of_queue(&self.db, queue, &held.policy),
            None => Ok(None),
        }
    }

    pub(crate) fn prune(&mut self, max: usize) -> Outcome<Removed> {
        // What is removed may have ended in this batch.
        self.held.history.flush(&self.db)?;
        let queues: Vec<(QueueName, QueuePolicy)> = self.policies();
        let mut count = 0;
        for (queue, policy) in &queues {
            count += self.prune_jobs(queue, policy, max - count)?;
        }
        for (queue, policy) in &queues {
            count += self.prune_keys(queue, policy, max - count)?;
        }
        let before = self.now.plus_ms(-REPLY_KEPT_MS).0;
        count += self.db.run(PAST_REPLIES, (before, at_most(max - count)))?;
        count += self.db.run(PAST_TICKETS, (before, at_most(max - count)))?;
        self.forget_rested_keys(max)?;
        // Policies may have changed in this batch and not be written yet.
        self.held.queues.flush(&self.db)?;
        let more = first_end_of_retention(&self.db)?.is_some_and(|at| at <= self.now);
        Ok(Removed { count, more })
    }

    fn policies(&self) -> Vec<(QueueName, QueuePolicy)> {
        let queues = self.held.queues.names();
        let policy = |name: &QueueName| self.held.queues.get(name).map(|queue| queue.policy.clone());
        queues.filter_map(|name| Some((name.clone(), policy(name)?))).collect()
    }

    fn prune_jobs(&mut self, queue: &QueueName, policy: &QueuePolicy, max: usize) -> Outcome<usize> {
        let mut count = 0;
        for state in OVER {
            let Some(ms) = retained_ms(policy, state) else { continue };
            let before = self.now.plus_ms(ms.saturating_neg()).0;
            let past = (queue.as_str(), state.as_str(), before, at_most(max - count));
            let past = self.db.all(PAST_JOBS, past, |row| {
                let key = row.opt_text(1)?.map(str::to_owned).zip(row.opt_text(2)?.map(str::to_owned));
                Ok((row.int(0)?, key, row.int(3)?))
            })?;
            for (id, key, finished_at) in &past {
                if let Some((key, scope)) = key {
                    self.outlive(scope, key, *finished_at)?;
                }
                self.db.run(REMOVE_JOB, [id])?;
                self.db.run(REMOVE_PAYLOAD, [id])?;
                self.db.run(REMOVE_ATTEMPTS, [id])?;
                self.held.queues.subtract(queue, state);
            }
            count += past.len();
        }
        Ok(count)
    }

    fn prune_keys(&mut self, queue: &QueueName, policy: &QueuePolicy, max: usize) -> Outcome<usize> {
        let Some(ms) = policy.forget_keys_after_ms else { return Ok(0) };
        let before = self.now.plus_ms(ms.saturating_neg()).0;
        let past = self.db.all(PAST_KEYED, (queue.as_str(), before, at_most(max)), |row| {
            Ok((JobId(row.int(0)?), row.text(1)?.to_owned(), row.text(2)?.to_owned()))
        })?;
        for (job, key, scope) in &past {
            self.forget_key_of(*job, scope, key)?;
        }
        let ended = self.db.run(PAST_ENDED_KEYS, (queue.as_str(), before, at_most(max - past.len())))?;
        Ok(past.len() + ended)
    }
}
