//! Attempts: how leases are held and how they end.

use super::jobs::Job;
use super::state::State;
use crate::write::{Began, Begin, Finished, LeaseLost, Renewal, Woken};
use abide_core::job::{Attempt, AttemptEnd, AttemptWord, Finish, JobEvent, JobId, JobState, LeaseRef};
use abide_core::json::Json;
use abide_core::limits::{ATTEMPTS_KEPT, cut_reason};
use abide_core::name::LimitKey;
use abide_core::object::Life;
use abide_core::seed::Seed;
use abide_core::time::Time;
use std::collections::BTreeSet;

impl Job {
    /// Whether a lease is the current one.
    fn is_held_by(&self, lease: &LeaseRef) -> bool {
        self.state == JobState::Running && self.was_held_by(lease)
    }

    fn was_held_by(&self, lease: &LeaseRef) -> bool {
        self.attempt == lease.attempt && self.token == Some(lease.token)
    }

    /// Whether the last attempt ended by its worker's word.
    fn was_finished(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| match attempt.end {
            AttemptWord::Done | AttemptWord::Skipped | AttemptWord::Error | AttemptWord::HandedBack => true,
            AttemptWord::Expired | AttemptWord::Restarted => false,
        })
    }

    fn finished(&self, repeated: bool) -> Finished {
        let waits = matches!(self.state, JobState::Scheduled | JobState::Ready);
        Finished { state: self.state, run_at: waits.then_some(self.run_at), repeated }
    }
}

impl State {
    pub(super) fn begin(&mut self, begin: &Begin, woken: &mut Woken) -> Began {
        let life = self.next_life();
        if !begin.alone {
            return Began { life, voided: 0 };
        }
        self.workers.retain(|_, card| card.life.is_none());
        let is_void = |job: &&Job| job.running.as_ref().is_some_and(|running| running.life.is_some());
        let void: Vec<JobId> = self.jobs.values().filter(is_void).map(|job| job.id).collect();
        for id in &void {
            self.cut_short(*id, JobEvent::Restarted, woken);
        }
        Began { life, voided: void.len() as u64 }
    }

    pub(super) fn release_expired(&mut self, woken: &mut Woken) -> Vec<JobId> {
        let expired = self.leases.iter().take_while(|(expires_at, _)| *expires_at <= self.now);
        let expired: Vec<JobId> = expired.map(|(_, id)| *id).collect();
        for id in &expired {
            self.cut_short(*id, JobEvent::Expired, woken);
        }
        expired
    }

    pub(super) fn disown(&mut self, life: Life, held: &[LeaseRef], woken: &mut Woken) -> Vec<JobId> {
        let is_lost = |job: &&Job| {
            job.running.as_ref().is_some_and(|running| running.life == Some(life))
                && !held.iter().any(|lease| lease.job == job.id && job.is_held_by(lease))
        };
        let lost: Vec<JobId> = self.jobs.values().filter(is_lost).map(|job| job.id).collect();
        for id in &lost {
            self.cut_short(*id, JobEvent::Finished(&AttemptEnd::HandedBack), woken);
        }
        lost
    }

    fn cut_short(&mut self, id: JobId, event: JobEvent<'_>, woken: &mut Woken) {
        self.end_attempt(id, event, &AttemptEnd::HandedBack.into(), 0, woken);
    }

    pub(super) fn renew(&mut self, lease: &LeaseRef, lease_ms: i64) -> Renewal {
        if !self.jobs.get(&lease.job).is_some_and(|job| job.is_held_by(lease)) {
            return Renewal::Lost;
        }
        let until = self.hold_until(lease.job, self.now.plus_ms(lease_ms));
        Renewal::Held { until, cancel_asked: self.job(lease.job).cancel_asked }
    }

    pub(super) fn regrant(&mut self, lease_ms: i64) {
        let running: Vec<JobId> = self.leases.iter().map(|(_, id)| *id).collect();
        for id in running {
            self.hold_until(id, self.now.plus_ms(lease_ms));
        }
    }

    /// Lets a lease end at `until`, or later if it did already.
    pub(super) fn hold_until(&mut self, id: JobId, until: Time) -> Time {
        let running = self.job_mut(id).running.as_mut().expect("a job with a lease is running");
        let before = running.expires_at;
        running.expires_at = before.max(until);
        let after = running.expires_at;
        self.leases.remove(&(before, id));
        self.leases.insert((after, id));
        after
    }

    pub(super) fn progress(&mut self, lease: &LeaseRef, progress: &Json) -> Result<(), LeaseLost> {
        let now = self.now;
        let job = self.jobs.get_mut(&lease.job).ok_or(LeaseLost::NoJob)?;
        if !job.is_held_by(lease) {
            return Err(LeaseLost::Stale(job.state));
        }
        job.progress = Some(progress.clone());
        job.updated_at = now;
        Ok(())
    }

    pub(super) fn vacate(&mut self, lease: &LeaseRef, woken: &mut Woken) -> Result<(), LeaseLost> {
        let job = self.jobs.get_mut(&lease.job).ok_or(LeaseLost::NoJob)?;
        if !job.is_held_by(lease) {
            return Err(LeaseLost::Stale(job.state));
        }
        let running = job.running.as_mut().expect("a job with a lease is running");
        if !std::mem::replace(&mut running.has_vacated, true) {
            for key in job.limit_keys.clone() {
                self.free_key(&key);
                self.refill_key(&key, woken);
                self.forget_rested(&key);
            }
        }
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        lease: &LeaseRef,
        finish: &Finish,
        seed: u64,
        woken: &mut Woken,
    ) -> Result<Finished, LeaseLost> {
        let job = self.jobs.get(&lease.job).ok_or(LeaseLost::NoJob)?;
        if job.is_held_by(lease) {
            self.end_attempt(lease.job, JobEvent::Finished(&finish.end), finish, seed, woken);
            return Ok(self.job(lease.job).finished(false));
        }
        if job.was_held_by(lease) && job.was_finished() {
            return Ok(job.finished(true));
        }
        Err(LeaseLost::Stale(job.state))
    }

    /// Ends the attempt of a running job: frees its keys, keeps its history, moves it on. The job takes its place
    /// before the lanes of its keys are refilled, so that the best of all goes first.
    fn end_attempt(&mut self, id: JobId, event: JobEvent<'_>, finish: &Finish, seed: u64, woken: &mut Woken) {
        let queue = self.job(id).queue.clone();
        let was_full = self.is_full(&LimitKey::of_queue(&queue));
        let keys = self.job(id).keys();
        for key in self.job(id).keys_held() {
            self.free_key(&key);
        }
        let refunds: BTreeSet<&LimitKey> = finish.refund.iter().filter(|key| keys.contains(key)).collect();
        for key in refunds {
            self.refund_key(key);
        }
        for cool_down in &finish.cool_down {
            self.cool_down(cool_down);
        }
        self.move_on(id, event, &finish.end, seed, woken);
        for key in &keys {
            self.refill_key(key, woken);
            self.forget_rested(key);
        }
        if was_full {
            self.wake_opened_queue(&queue, woken);
        }
    }

    fn move_on(&mut self, id: JobId, event: JobEvent<'_>, end: &AttemptEnd, seed: u64, woken: &mut Woken) {
        let now = self.now;
        let job = self.job_mut(id);
        let next = job.standing().after(event, now, &mut Seed::new(seed));
        let next = next.expect("the attempt of a running job can end");
        let running = job.running.take().expect("a running job has a lease");
        let (word, reason) = next.ended.clone().expect("the end of an attempt has a word");
        let reason = reason.map(|reason| cut_reason(&reason).to_owned());
        job.attempts.push(Attempt {
            attempt: job.attempt,
            worker: running.worker,
            started_at: running.started_at,
            ended_at: now,
            end: word,
            reason: reason.clone(),
        });
        if job.attempts.len() > ATTEMPTS_KEPT as usize {
            job.attempts.remove(0);
        }
        woken.moves.push(job.moved(Some(job.state), next.state, Some(word), running.started_at));
        job.move_to(&next, now);
        if next.state != JobState::Cancelled {
            job.reason = reason;
        }
        if let (JobState::Done, AttemptEnd::Done { result }) = (next.state, end) {
            job.result = Some(result.clone());
        }
        if next.state == JobState::Ready {
            job.run_at = now;
        }
        self.leases.remove(&(running.expires_at, id));
        match next.state {
            JobState::Scheduled => self.schedule(id, next.run_at.unwrap_or(now), woken),
            JobState::Ready => self.place(id, woken),
            JobState::Done | JobState::Skipped | JobState::Failed | JobState::Cancelled => {
                self.job_is_over(id, woken);
            }
            JobState::Running => unreachable!("the attempt has ended"),
        }
    }
}
