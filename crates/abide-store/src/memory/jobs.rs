//! Jobs outside of their attempts: enqueued, cancelled, retried, over.

use super::lanes::{Place, Rank};
use super::messages::Draft;
use super::state::State;
use crate::write::{Enqueued, JobMove, JobRefused, Woken};
use abide_core::event::MessageBody;
use abide_core::job::{
    Attempt, AttemptWord, JobEvent, JobId, JobOutcome, JobState, LeaseToken, Misfit, NewJob, Next, Owner,
    Standing,
};
use abide_core::json::Json;
use abide_core::name::{IdempotencyKey, JobKind, LimitKey, QueueName, UniqueKey, WorkerId};
use abide_core::object::{Incarnation, Life};
use abide_core::retry::Backoff;
use abide_core::seed::Seed;
use abide_core::time::Time;
use std::cmp::Reverse;

/// A job.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) id: JobId,
    pub(super) queue: QueueName,
    pub(super) kind: JobKind,
    pub(super) payload: Json,
    pub(super) priority: i32,
    pub(super) unique_key: Option<UniqueKey>,
    /// Kept apart from the owner, whom the job may lose.
    pub(super) unique_scope: UniqueScope,
    pub(super) limit_keys: Vec<LimitKey>,
    pub(super) owner: Option<Owner>,
    pub(super) trace: Option<String>,
    pub(super) max_attempts: u32,
    pub(super) backoff: Backoff,

    pub(super) state: JobState,
    pub(super) run_at: Time,
    pub(super) attempt: u32,
    pub(super) failures: u32,
    pub(super) restarts: u32,
    pub(super) cancel_asked: bool,
    /// Where it waits while it is ready.
    pub(super) place: Option<Place>,
    /// The last claim.
    pub(super) token: Option<LeaseToken>,
    /// Its lease while it runs.
    pub(super) running: Option<Running>,

    pub(super) progress: Option<Json>,
    pub(super) result: Option<Json>,
    pub(super) reason: Option<String>,
    pub(super) created_at: Time,
    pub(super) updated_at: Time,
    pub(super) finished_at: Option<Time>,
    pub(super) attempts: Vec<Attempt>,
}

/// What is true of a job while it runs.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) worker: WorkerId,
    pub(super) life: Option<Life>,
    /// The worker's name for the claim that began it.
    pub(super) claim_key: Option<IdempotencyKey>,
    pub(super) started_at: Time,
    pub(super) expires_at: Time,
    /// Whether it gave back the places of its limit keys.
    pub(super) has_vacated: bool,
}

/// Among whose jobs a unique key is unique.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UniqueScope {
    Queue(QueueName),
    Owner(Incarnation),
}

/// A unique key that is taken.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub(super) job: JobId,
    /// The job's queue says how long the key is kept.
    pub(super) queue: QueueName,
    /// When the job was over, if it is.
    pub(super) ended_at: Option<Time>,
}

/// Why a job that somebody cancelled has ended.
const CANCELLED: &str = "cancelled";

impl Job {
    pub(super) fn standing(&self) -> Standing {
        Standing {
            state: self.state,
            failures: self.failures,
            restarts: self.restarts,
            max_attempts: self.max_attempts,
            backoff: self.backoff,
            cancel_asked: self.cancel_asked,
        }
    }

    pub(super) fn rank(&self) -> Rank {
        Rank { priority: Reverse(self.priority), run_at: self.run_at, job: self.id }
    }

    /// The keys it takes to start: its queue's own, then its limit keys.
    pub(super) fn keys(&self) -> Vec<LimitKey> {
        let own = LimitKey::of_queue(&self.queue);
        std::iter::once(own).chain(self.limit_keys.iter().cloned()).collect()
    }

    /// The keys whose places it holds while it runs.
    pub(super) fn keys_held(&self) -> Vec<LimitKey> {
        match &self.running {
            None => Vec::new(),
            Some(running) if running.has_vacated => vec![LimitKey::of_queue(&self.queue)],
            Some(_) => self.keys(),
        }
    }

    pub(super) fn is_owned_by(&self, life: Incarnation) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.incarnation == life)
    }

    /// A move of it, as the engine is told.
    pub(super) fn moved(
        &self,
        from: Option<JobState>,
        to: JobState,
        ended: Option<AttemptWord>,
        since: Time,
    ) -> JobMove {
        let (queue, kind) = (self.queue.clone(), self.kind.clone());
        JobMove { job: self.id, queue, kind, from, to, attempt: self.attempt, ended, since }
    }

    /// Moves to where the lifecycle says.
    pub(super) fn move_to(&mut self, next: &Next, now: Time) {
        self.state = next.state;
        self.failures = next.failures;
        self.restarts = next.restarts;
        self.cancel_asked = next.cancel_asked;
        self.updated_at = now;
    }
}

fn scope(queue: &QueueName, owner: Option<&Owner>) -> UniqueScope {
    match owner {
        Some(owner) => UniqueScope::Owner(owner.incarnation),
        None => UniqueScope::Queue(queue.clone()),
    }
}

impl State {
    pub(super) fn job(&self, id: JobId) -> &Job {
        self.jobs.get(&id).expect("whoever has the id of a job has looked it up")
    }

    pub(super) fn job_mut(&mut self, id: JobId) -> &mut Job {
        self.jobs.get_mut(&id).expect("whoever has the id of a job has looked it up")
    }

    pub(super) fn enqueue(&mut self, new: &NewJob, owner: Option<&Owner>, woken: &mut Woken) -> Enqueued {
        let unique = new.unique_key.clone().map(|key| (scope(&new.queue, owner), key));
        if let Some(taken) = unique.as_ref().and_then(|unique| self.unique.get(unique)) {
            return Enqueued::Duplicate(taken.job);
        }
        self.last_job += 1;
        let id = JobId(self.last_job);
        if let Some(unique) = unique {
            self.unique.insert(unique, Taken { job: id, queue: new.queue.clone(), ended_at: None });
        }
        let job = self.new_job(id, new, owner);
        let state = job.state;
        let run_at = job.run_at;
        woken.moves.push(job.moved(None, state, None, run_at));
        self.jobs.insert(id, job);
        if state == JobState::Scheduled {
            self.schedule(id, run_at, woken);
        } else {
            self.place(id, woken);
        }
        Enqueued::New(id)
    }

    fn new_job(&mut self, id: JobId, new: &NewJob, owner: Option<&Owner>) -> Job {
        let now = self.now;
        let policy = self.queues.entry(new.queue.clone()).or_default();
        let later = new.run_at.filter(|run_at| *run_at > now);
        Job {
            id,
            queue: new.queue.clone(),
            kind: new.kind.clone(),
            payload: new.payload.clone(),
            priority: new.priority,
            unique_key: new.unique_key.clone(),
            unique_scope: scope(&new.queue, owner),
            limit_keys: distinct_keys(new),
            owner: owner.cloned(),
            trace: new.trace.clone(),
            max_attempts: new.max_attempts.unwrap_or(policy.max_attempts),
            backoff: new.backoff.unwrap_or(policy.backoff),
            state: if later.is_some() { JobState::Scheduled } else { JobState::Ready },
            run_at: later.unwrap_or(now),
            attempt: 0,
            failures: 0,
            restarts: 0,
            cancel_asked: false,
            place: None,
            token: None,
            running: None,
            progress: None,
            result: None,
            reason: None,
            created_at: now,
            updated_at: now,
            finished_at: None,
            attempts: Vec::new(),
        }
    }

    /// Notes the time of a job that is scheduled.
    pub(super) fn schedule(&mut self, id: JobId, run_at: Time, woken: &mut Woken) {
        self.job_mut(id).run_at = run_at;
        self.scheduled.insert((run_at, id));
        woken.job(run_at);
    }

    pub(super) fn cancel(&mut self, id: JobId, woken: &mut Woken) -> Result<JobState, JobRefused> {
        if !self.jobs.contains_key(&id) {
            return Err(JobRefused::NoJob);
        }
        Ok(self.cancel_for(id, CANCELLED, woken)?)
    }

    /// Cancels jobs of this life by their unique keys.
    pub(super) fn cancel_owned(&mut self, life: Incarnation, keys: &[UniqueKey], woken: &mut Woken) {
        for key in keys {
            let taken = self.unique.get(&(UniqueScope::Owner(life), key.clone()));
            let Some(id) = taken.map(|taken| taken.job).filter(|id| self.jobs.contains_key(id)) else {
                continue;
            };
            match self.cancel_for(id, CANCELLED, woken) {
                Ok(_) | Err(Misfit::Over(_)) => {}
                Err(misfit) => unreachable!("only a job that is over cannot be cancelled: {misfit}"),
            }
        }
    }

    /// Ends a job that waits; asks one that runs to stop.
    pub(super) fn cancel_for(
        &mut self,
        id: JobId,
        reason: &str,
        woken: &mut Woken,
    ) -> Result<JobState, Misfit> {
        let now = self.now;
        let next = self.job(id).standing().after(JobEvent::CancelAsked, now, &mut Seed::new(0))?;
        let (was, run_at) = (self.job(id).state, self.job(id).run_at);
        match was {
            JobState::Scheduled => {
                self.scheduled.remove(&(run_at, id));
            }
            JobState::Ready => self.leave_place(id, woken),
            JobState::Running => woken.cancelling.push(id),
            JobState::Done | JobState::Skipped | JobState::Failed | JobState::Cancelled => {}
        }
        let job = self.job_mut(id);
        if was != next.state {
            woken.moves.push(job.moved(Some(was), next.state, None, run_at));
        }
        job.move_to(&next, now);
        job.reason = Some(reason.to_owned());
        if next.state.is_over() {
            self.job_is_over(id, woken);
        }
        Ok(next.state)
    }

    pub(super) fn retry(&mut self, id: JobId, woken: &mut Woken) -> Result<JobState, JobRefused> {
        let now = self.now;
        let job = self.jobs.get_mut(&id).ok_or(JobRefused::NoJob)?;
        let next = job.standing().after(JobEvent::RetryAsked, now, &mut Seed::new(0))?;
        woken.moves.push(job.moved(Some(job.state), next.state, None, job.run_at));
        job.move_to(&next, now);
        job.run_at = now;
        job.reason = None;
        job.finished_at = None;
        self.note_end_of_key(id, None);
        self.place(id, woken);
        Ok(next.state)
    }

    /// What follows from a job's end: its unique key ages, its retention begins, its owner is told.
    pub(super) fn job_is_over(&mut self, id: JobId, woken: &mut Woken) {
        let now = self.now;
        self.job_mut(id).finished_at = Some(now);
        self.note_end_of_key(id, Some(now));
        if let Some(at) = self.retained_until(self.job(id)) {
            woken.prune(at);
        }
        if let Some(at) = self.key_of(id).and_then(|taken| self.key_kept_until(taken)) {
            woken.prune(at);
        }
        let job = self.job(id);
        let Some(owner) = job.owner.clone() else { return };
        let outcome = JobOutcome {
            job: id,
            unique_key: job.unique_key.clone(),
            kind: job.kind.clone(),
            attempt: job.attempt,
            state: job.state,
            result: job.result.clone(),
            reason: job.reason.clone(),
        };
        let draft = Draft {
            to: owner.object,
            to_incarnation: Some(owner.incarnation),
            from: None,
            body: MessageBody::Outcome(outcome),
            trace: None,
        };
        self.send(draft, woken);
    }

    /// The unique key that the job has, unless it was forgotten.
    fn key_of(&self, id: JobId) -> Option<&Taken> {
        let job = self.job(id);
        let key = job.unique_key.clone()?;
        self.unique.get(&(job.unique_scope.clone(), key)).filter(|taken| taken.job == id)
    }

    fn note_end_of_key(&mut self, id: JobId, ended_at: Option<Time>) {
        let job = self.job(id);
        let Some(key) = job.unique_key.clone() else { return };
        let unique = (job.unique_scope.clone(), key);
        if let Some(taken) = self.unique.get_mut(&unique).filter(|taken| taken.job == id) {
            taken.ended_at = ended_at;
        }
    }
}

/// Each of its limit keys once, and not its queue's own, which it takes anyway.
fn distinct_keys(new: &NewJob) -> Vec<LimitKey> {
    let own = LimitKey::of_queue(&new.queue);
    let mut keys: Vec<LimitKey> = Vec::new();
    for key in &new.limit_keys {
        if *key != own && !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys
}
