//! Jobs: none is lost, none takes effect twice, every lease is the only one.

use super::ask;
use crate::counts::Counts;
use crate::outcome::{Violation, holds};
use abide_core::commit::Commit;
use abide_core::job::{AttemptEnd, JobId, JobOutcome, JobState, Lease, LeaseRef};
use abide_core::name::{IdempotencyKey, WorkerId};
use abide_core::object::{Incarnation, Life, ObjectKey};
use abide_core::time::Time;
use abide_store::view::JobView;
use abide_store::write::{Claim, Claimed, Enqueued, LeaseLost, Written};
use abide_store::{Answer, Read, Reader, Write};
use std::collections::{BTreeMap, BTreeSet};

const EFFECT_ONCE: &str = "no job takes effect twice";
const ONE_LEASE: &str = "a job has one lease at a time";

/// Every job.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    known: BTreeMap<JobId, Job>,
    touched: BTreeSet<JobId>,
}

#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) owner: Option<(ObjectKey, Incarnation)>,
    pub(crate) state: JobState,
    attempt: u32,
    lease: Option<Held>,
    /// The lease whose finish ended the last attempt.
    finished: Option<LeaseRef>,
    /// Outcomes that its owner was sent, and how many it must get.
    pub(crate) outcomes: u32,
    pub(crate) ends: u32,
    /// Outcomes that were sent in batches in which a dead letter was replayed, at most one of which may be it.
    pub(crate) replays: u32,
}

#[derive(Debug)]
struct Held {
    lease: LeaseRef,
    life: Option<Life>,
    worker: WorkerId,
    /// The worker's name for the claim.
    key: Option<IdempotencyKey>,
}

impl Jobs {
    pub(super) fn enqueued(
        &mut self,
        enqueued: &[Enqueued],
        commit: Option<&Commit>,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        for one in enqueued {
            match *one {
                Enqueued::New(id) => {
                    let owner = commit.map(|commit| (commit.object.clone(), commit.fence.incarnation()));
                    let job = Job {
                        owner,
                        state: JobState::Scheduled,
                        attempt: 0,
                        lease: None,
                        finished: None,
                        outcomes: 0,
                        ends: 0,
                        replays: 0,
                    };
                    let before = self.known.insert(id, job);
                    holds("a job's id is used once", before.is_none(), || format!("job {id} is new again"))?;
                    self.touched.insert(id);
                }
                Enqueued::Duplicate(id) => {
                    counts.one("job: duplicate");
                    holds("a duplicate is of a job", self.known.contains_key(&id), || {
                        format!("a duplicate of job {id}, which never was")
                    })?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn observe(
        &mut self,
        write: &Write,
        written: &Written,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        match (write, written) {
            (Write::Enqueue { .. }, Written::Enqueued(enqueued)) => self.enqueued(enqueued, None, counts),
            (Write::Claim(claim), Written::Claimed(claimed)) => {
                claimed.leases.iter().try_for_each(|lease| self.claimed(lease, claim, counts))
            }
            (Write::Finish { lease, finish, .. }, Written::Finished(result)) => {
                if matches!(finish.end, AttemptEnd::HandedBack) && result.is_ok_and(|done| !done.repeated) {
                    counts.one("job: handed back");
                }
                match result {
                    Ok(done) if done.repeated => self.repeated(*lease, counts),
                    Ok(_) => self.finished(*lease),
                    Err(LeaseLost::Stale(_) | LeaseLost::NoJob) => self.stale(*lease, counts),
                }
            }
            (Write::ReleaseExpired, Written::Released(released)) => {
                counts.many("job: lease expired", released.len() as u64);
                released.iter().try_for_each(|id| self.cut_short(*id))
            }
            (Write::Disown { life, held }, Written::Released(released)) => {
                counts.many("job: lease disowned", released.len() as u64);
                self.disowned(*life, held, released)
            }
            (Write::Begin(begin), Written::Began(began)) if begin.alone => {
                counts.many("job: lease voided", began.voided);
                self.voided(began.voided)
            }
            (Write::Cancel { job }, Written::Moved(Ok(_))) => {
                self.touched.insert(*job);
                Ok(())
            }
            (Write::Retry { job }, Written::Moved(Ok(_))) => {
                counts.one("job: retried by hand");
                self.retried(*job);
                Ok(())
            }
            (Write::Prune { .. }, Written::Removed(removed)) if removed.count > 0 => {
                self.touched.extend(self.known.keys());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// It was over, perhaps only since earlier in the same batch, and is not any more.
    fn retried(&mut self, id: JobId) {
        self.touched.insert(id);
        if let Some(job) = self.known.get_mut(&id) {
            if !job.state.is_over() && job.owner.is_some() {
                job.ends += 1;
            }
            job.state = JobState::Ready;
        }
    }

    /// What a worker holds that it got under the key of this claim.
    fn held_under_key(&self, claim: &Claim) -> Vec<LeaseRef> {
        let is_it = |held: &&Held| held.worker == claim.worker && held.key == claim.key;
        let held = self.known.values().filter_map(|job| job.lease.as_ref()).filter(is_it);
        if claim.key.is_some() { held.map(|held| held.lease).collect() } else { Vec::new() }
    }

    /// Whether a claim asks again for what it was given.
    pub(super) fn is_repeated(&self, claim: &Claim) -> bool {
        !self.held_under_key(claim).is_empty()
    }

    pub(super) fn claimed_again(
        &self,
        claim: &Claim,
        claimed: &Claimed,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        counts.one("outside: claim repeated");
        let (held, given) = (self.held_under_key(claim), claimed.leases.iter().map(|lease| lease.lease));
        holds("a claim that is repeated gives what is held of it", given.eq(held.iter().copied()), || {
            format!("{claimed:?} instead of {held:?}")
        })
    }

    fn claimed(&mut self, lease: &Lease, claim: &Claim, counts: &mut Counts) -> Result<(), Violation> {
        counts.one("job: claimed");
        let LeaseRef { job: id, attempt, .. } = lease.lease;
        self.touched.insert(id);
        let Some(job) = self.known.get_mut(&id) else {
            return holds("a claim is of a job", false, || {
                format!("job {id} was claimed and never enqueued")
            });
        };
        holds(ONE_LEASE, job.lease.is_none(), || format!("job {id} was claimed under {:?}", job.lease))?;
        holds("attempts rise by one", attempt == job.attempt + 1, || {
            format!("job {id}: attempt {attempt} after {}", job.attempt)
        })?;
        holds(EFFECT_ONCE, !job.state.is_over(), || format!("job {id} is {} and was claimed", job.state))?;
        job.attempt = attempt;
        let (worker, key) = (claim.worker.clone(), claim.key.clone());
        job.lease = Some(Held { lease: lease.lease, life: claim.life, worker, key });
        Ok(())
    }

    fn finished(&mut self, lease: LeaseRef) -> Result<(), Violation> {
        let id = lease.job;
        let held = self.known.get_mut(&id).and_then(|job| job.lease.take());
        let is_it = held.as_ref().is_some_and(|held| held.lease == lease);
        holds(EFFECT_ONCE, is_it, || format!("job {id} was finished by {lease:?} under {held:?}"))?;
        if let Some(job) = self.known.get_mut(&id) {
            job.finished = Some(lease);
        }
        self.touched.insert(id);
        Ok(())
    }

    fn repeated(&self, lease: LeaseRef, counts: &mut Counts) -> Result<(), Violation> {
        counts.one("outside: finish repeated");
        let finished = self.known.get(&lease.job).and_then(|job| job.finished);
        holds(EFFECT_ONCE, finished == Some(lease), || {
            format!("{lease:?} is called a repetition, but {finished:?} ended the attempt")
        })
    }

    fn stale(&self, lease: LeaseRef, counts: &mut Counts) -> Result<(), Violation> {
        counts.one("outside: finish stale");
        let held = self.known.get(&lease.job).and_then(|job| job.lease.as_ref());
        holds("a lease that is held can finish", held.is_none_or(|held| held.lease != lease), || {
            format!("{lease:?} is current and was called stale")
        })
    }

    fn cut_short(&mut self, id: JobId) -> Result<(), Violation> {
        self.touched.insert(id);
        let job = self.known.get_mut(&id);
        let had = job.and_then(|job| {
            job.finished = None;
            job.lease.take()
        });
        holds(ONE_LEASE, had.is_some(), || format!("the lease of job {id} ended and there was none"))
    }

    fn disowned(&mut self, life: Life, held: &[LeaseRef], released: &[JobId]) -> Result<(), Violation> {
        let is_lost = |job: &Job| {
            job.lease.as_ref().is_some_and(|own| own.life == Some(life) && !held.contains(&own.lease))
        };
        let lost: Vec<JobId> = self.known.iter().filter(|(_, job)| is_lost(job)).map(|(id, _)| *id).collect();
        holds("an engine hands back what it does not know of", lost == released, || {
            format!("{released:?} were handed back, and these were lost: {lost:?}")
        })?;
        lost.into_iter().try_for_each(|id| self.cut_short(id))
    }

    fn voided(&mut self, count: u64) -> Result<(), Violation> {
        let inside = |job: &Job| job.lease.as_ref().is_some_and(|held| held.life.is_some());
        let void: Vec<JobId> = self.known.iter().filter(|(_, job)| inside(job)).map(|(id, _)| *id).collect();
        holds("leases of a former life are void", void.len() as u64 == count, || {
            format!("{count} leases were voided, and these were held: {void:?}")
        })?;
        void.into_iter().try_for_each(|id| self.cut_short(id))
    }

    pub(super) fn owner_ended(&mut self, life: Incarnation) {
        for (id, job) in &mut self.known {
            if job.owner.as_ref().is_some_and(|(_, of)| *of == life) {
                job.owner = None;
                self.touched.insert(*id);
            }
        }
    }

    pub(super) fn outcome_sent(&mut self, outcome: &JobOutcome, replays: bool) -> Result<(), Violation> {
        if let Some(job) = self.known.get_mut(&outcome.job) {
            job.outcomes += 1;
            job.replays += u32::from(replays);
        }
        self.touched.insert(outcome.job);
        holds("an outcome is of a job that is over", outcome.state.is_over(), || format!("{outcome:?}"))
    }

    /// Takes in the states of the jobs that something happened to, and holds them to what is known.
    pub(super) fn check_touched(
        &mut self,
        reader: &mut dyn Reader,
        now: Time,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        for id in std::mem::take(&mut self.touched) {
            let Answer::Job(view) = ask(reader, now, &Read::Job(id))? else { continue };
            let Some(job) = self.known.get_mut(&id) else { continue };
            let Some(view) = view else {
                counts.one("job: pruned");
                holds("nothing acknowledged is lost", job.state.is_over(), || {
                    format!("job {id} is not there")
                })?;
                continue;
            };
            job.check(&view)?;
            job.moved_to(view.state, counts);
        }
        Ok(())
    }

    /// Those that may still change by something that names no job: a cancellation by its owner.
    pub(super) fn touch_waiting(&mut self) {
        let waiting = self.known.iter().filter(|(_, job)| !job.state.is_over());
        self.touched.extend(waiting.map(|(id, _)| *id));
    }

    /// Every job.
    pub(crate) fn all(&self) -> impl Iterator<Item = (JobId, &Job)> {
        self.known.iter().map(|(id, job)| (*id, job))
    }

    /// Those that are neither over nor running, in the order of their ids.
    pub(super) fn waiting(&self) -> impl Iterator<Item = JobId> {
        let waits = |job: &Job| job.lease.is_none() && !job.state.is_over();
        self.known.iter().filter(move |(_, job)| waits(job)).map(|(id, _)| *id)
    }

    /// Whether it runs.
    pub(crate) fn is_leased(&self, id: JobId) -> bool {
        self.known.get(&id).is_some_and(|job| job.lease.is_some())
    }

    pub(crate) fn get(&self, id: JobId) -> Option<&Job> {
        self.known.get(&id)
    }
}

impl Job {
    fn check(&self, view: &JobView) -> Result<(), Violation> {
        let (id, state) = (view.job, view.state);
        holds(ONE_LEASE, self.lease.is_some() == (state == JobState::Running), || {
            format!("job {id} is {state}, and its lease is {:?}", self.lease)
        })?;
        let undone = self.state == JobState::Done && state != JobState::Done;
        holds(EFFECT_ONCE, !undone, || format!("job {id} was done and is {state}"))
    }

    fn moved_to(&mut self, state: JobState, counts: &mut Counts) {
        if state == self.state {
            return;
        }
        let word = match state {
            JobState::Scheduled if self.attempt > 0 => "job: scheduled again",
            JobState::Scheduled => "job: scheduled",
            JobState::Ready => "job: ready",
            JobState::Running => "job: running",
            JobState::Done => "job: done",
            JobState::Skipped => "job: skipped",
            JobState::Failed => "job: failed",
            JobState::Cancelled => "job: cancelled",
        };
        counts.one(word);
        self.state = state;
        if state.is_over() && self.owner.is_some() {
            self.ends += 1;
        }
    }
}
