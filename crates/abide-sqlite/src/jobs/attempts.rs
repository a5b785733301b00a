//! How attempts end: their keys are freed, their history is kept, the job moves on.

use crate::error::{Fault, Outcome};
use crate::jobs::job::{Job, impossible};
use crate::messages::Draft;
use crate::writer::Writer;
use abide_core::event::MessageBody;
use abide_core::job::{
    Attempt, AttemptEnd, AttemptWord, Finish, JobEvent, JobOutcome, JobState, LeaseRef, Next,
};
use abide_core::json::Json;
use abide_core::limits::cut_reason;
use abide_core::name::LimitKey;
use abide_core::time::Time;
use abide_store::write::{Finished, LeaseLost};
use std::collections::BTreeSet;

/// Two statements, because each column that one names costs all indexes that have it.
const GO_ON: &str =
    "UPDATE jobs SET state = ?2, run_at = ?3, parked_on = ?4, failures = ?5, restarts = ?6, token = iif(?7, token, NULL),
         worker = NULL, life = NULL, claim_key = NULL, started_at = NULL, lease_expires_at = NULL, reason = ?8, updated_at = ?9
     WHERE id = ?1";
const BE_OVER: &str =
    "UPDATE jobs SET state = ?2, failures = ?3, restarts = ?4, cancel_asked = 0, token = iif(?5, token, NULL),
         worker = NULL, life = NULL, claim_key = NULL, started_at = NULL, lease_expires_at = NULL,
         result = ?6, reason = ?7, updated_at = ?8, finished_at = ?8
     WHERE id = ?1";

const VACATE: &str = "UPDATE jobs SET has_vacated = 1 WHERE id = ?1";

impl Job {
    /// Whether a lease is the current one.
    pub(crate) fn is_held_by(&self, lease: &LeaseRef) -> bool {
        self.state == JobState::Running && self.was_held_by(lease)
    }

    /// Whether a lease was the last one, which its holder ended if it is not current any more.
    fn was_held_by(&self, lease: &LeaseRef) -> bool {
        self.attempt == lease.attempt && self.token == Some(lease.token)
    }

    fn finished(&self, repeated: bool) -> Finished {
        let waits = matches!(self.state, JobState::Scheduled | JobState::Ready);
        Finished { state: self.state, run_at: waits.then_some(self.run_at), repeated }
    }
}

impl Writer<'_> {
    pub(crate) fn finish(
        &mut self,
        lease: &LeaseRef,
        finish: &Finish,
        seed: u64,
    ) -> Outcome<Result<Finished, LeaseLost>> {
        let found = match self.held.running.remove(&lease.job) {
            Some(job) if job.is_held_by(lease) => Some(job),
            Some(_) | None => self.find_job(lease.job)?,
        };
        let Some(mut job) = found else { return Ok(Err(LeaseLost::NoJob)) };
        if job.is_held_by(lease) {
            self.end_attempt(&mut job, JobEvent::Finished(&finish.end), finish, seed)?;
            return Ok(Ok(job.finished(false)));
        }
        if job.was_held_by(lease) {
            return Ok(Ok(job.finished(true)));
        }
        Ok(Err(LeaseLost::Stale(job.state)))
    }

    /// Frees the limit keys of a job that runs on.
    pub(crate) fn vacate(&mut self, lease: &LeaseRef) -> Outcome<Result<(), LeaseLost>> {
        let found = match self.held.running.remove(&lease.job) {
            Some(job) if job.is_held_by(lease) => Some(job),
            Some(_) | None => self.find_job(lease.job)?,
        };
        let Some(mut job) = found else { return Ok(Err(LeaseLost::NoJob)) };
        if !job.is_held_by(lease) {
            return Ok(Err(LeaseLost::Stale(job.state)));
        }
        let had_vacated =
            job.running.as_mut().is_some_and(|running| std::mem::replace(&mut running.has_vacated, true));
        if !had_vacated {
            self.db.run(VACATE, [job.id.0])?;
            for key in &job.limit_keys {
                self.free_key(key)?;
                self.refill_key(key)?;
            }
        }
        self.held.running.insert(job.id, job);
        Ok(Ok(()))
    }

    /// Ends the attempt of a running job without a word from its worker.
    pub(crate) fn cut_short(&mut self, job: &mut Job, event: JobEvent<'_>) -> Outcome<()> {
        self.end_attempt(job, event, &AttemptEnd::HandedBack.into(), 0)
    }

    /// Frees the keys of a running job, keeps its history, moves it on. The job takes its place before the lanes of its
    /// keys are refilled, so that the best of all goes first.
    fn end_attempt(&mut self, job: &mut Job, event: JobEvent<'_>, finish: &Finish, seed: u64) -> Outcome<()> {
        let own_key = self.own_key(job.queue());
        let was_full = self.is_full(&own_key)?;
        let mut keys = vec![own_key];
        keys.extend(job.limit_keys.iter().cloned());
        let has_vacated = job.running.as_ref().is_some_and(|running| running.has_vacated);
        for key in if has_vacated { &keys[..1] } else { &keys } {
            self.free_key(key)?;
        }
        let refunds: BTreeSet<&LimitKey> = finish.refund.iter().filter(|key| keys.contains(key)).collect();
        for key in refunds {
            self.refund_key(key)?;
        }
        for cool_down in &finish.cool_down {
            self.cool_down(cool_down)?;
        }
        let next = job.after(event, self.now, seed).map_err(impossible)?;
        self.move_on(job, next, &finish.end)?;
        for key in &keys {
            self.refill_key(key)?;
        }
        if was_full { self.wake_opened_queue(&job.queue().clone()) } else { Ok(()) }
    }

    fn move_on(&mut self, job: &mut Job, next: Next, end: &AttemptEnd) -> Outcome<()> {
        let Some((word, reason)) = &next.ended else {
            return Err(Fault::Damaged(format!("the attempt of job {} did not end", job.id)));
        };
        let reason = reason.as_deref().map(cut_reason);
        let started_at = self.remember(job, *word, reason)?;
        self.note_move(job, next.state, Some(*word), started_at);
        job.move_to(&next);
        if next.state != JobState::Cancelled {
            job.reason = reason.map(str::to_owned);
        }
        if !ended_by_worker(*word) {
            job.token = None;
        }
        let result = match (next.state, end) {
            (JobState::Done, AttemptEnd::Done { result }) => Some(result),
            _ => None,
        };
        match next.state {
            JobState::Scheduled => {
                job.run_at = next.run_at.unwrap_or(self.now);
                self.schedule(job);
                self.write_again(job)
            }
            JobState::Ready => {
                job.run_at = self.now;
                self.choose_place(job)?;
                self.write_again(job)
            }
            JobState::Done | JobState::Skipped | JobState::Failed | JobState::Cancelled => {
                self.write_over(job, result)?;
                self.job_is_over(job, result)
            }
            JobState::Running => Err(Fault::Damaged(format!("the attempt of job {} did not end", job.id))),
        }
    }

    fn remember(&mut self, job: &mut Job, word: AttemptWord, reason: Option<&str>) -> Outcome<Time> {
        self.held.running.remove(&job.id);
        let Some(running) = job.running.take() else {
            return Err(Fault::Damaged(format!("job {} runs without a lease", job.id)));
        };
        let started_at = running.started_at;
        let attempt = Attempt {
            attempt: job.attempt,
            worker: running.worker,
            started_at,
            ended_at: self.now,
            end: word,
            reason: reason.map(str::to_owned),
        };
        self.held.history.add(&self.db, job.id, attempt)?;
        Ok(started_at)
    }

    fn write_again(&self, job: &Job) -> Outcome<()> {
        let row = (
            job.id.0,
            job.state.as_str(),
            job.run_at.0,
            job.parked_on.as_ref().map(LimitKey::as_str),
            job.failures,
            job.restarts,
            job.token.is_some(),
            job.reason.as_deref(),
            self.now.0,
        );
        self.db.run(GO_ON, row).map(drop)
    }

    fn write_over(&self, job: &Job, result: Option<&Json>) -> Outcome<()> {
        let row = (
            job.id.0,
            job.state.as_str(),
            job.failures,
            job.restarts,
            job.token.is_some(),
            result.map(Json::as_str),
            job.reason.as_deref(),
            self.now.0,
        );
        self.db.run(BE_OVER, row).map(drop)
    }

    /// What follows from a job's end: its retention begins, its unique key ages, its owner is told.
    pub(crate) fn job_is_over(&mut self, job: &Job, result: Option<&Json>) -> Outcome<()> {
        self.note_retention(job);
        let Some(owner) = job.owner.clone() else { return Ok(()) };
        let outcome = JobOutcome {
            job: job.id,
            unique_key: job.unique_key.clone(),
            kind: job.kind().clone(),
            attempt: job.attempt,
            state: job.state,
            result: result.cloned(),
            reason: job.reason.clone(),
        };
        self.send(Draft {
            to: owner.object,
            to_incarnation: Some(owner.incarnation),
            from: None,
            body: MessageBody::Outcome(outcome),
            trace: None,
        })
    }
}

/// Whether whoever held the lease said so.
fn ended_by_worker(word: AttemptWord) -> bool {
    match word {
        AttemptWord::Done | AttemptWord::Skipped | AttemptWord::Error | AttemptWord::HandedBack => true,
        AttemptWord::Expired | AttemptWord::Restarted => false,
    }
}
