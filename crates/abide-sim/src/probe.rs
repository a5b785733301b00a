//! Is *why* true? A probe asks why a job is not running, takes the named causes away, and claims.

use crate::happening::BatchUnderWay;
use crate::node::NodeLife;
use crate::outcome::{Violation, holds};
use crate::world::World;
use abide_core::job::{JobId, JobState};
use abide_core::limit::LimitPolicy;
use abide_core::name::{LimitKey, WorkerId};
use abide_core::time::Time;
use abide_core::why::{Cause, WhyFacts, why};
use abide_store::write::{Claim, Claimed, WorkerCard, Written};
use abide_store::{Answer, Batch, Read, Write};

const WHY_IS_TRUE: &str = "why is true";
const PROBE: &str = "probe";
/// A probe does not wait longer than this for a job's time.
const PATIENCE_MS: i64 = 2_000;

/// A claim that the world turns into a probe when it reaches the store.
pub(crate) fn probe() -> Write {
    Write::Claim(Claim {
        worker: WorkerId::trusted(PROBE),
        life: None,
        queues: Vec::new(),
        kinds: Vec::new(),
        max: 1_000,
        lease_ms: 60_000,
        seed: 7,
        key: None,
    })
}

/// Whether a write is to become a probe.
pub(crate) fn is_probe(write: &Write) -> bool {
    matches!(write, Write::Claim(claim) if claim.worker.as_str() == PROBE)
}

/// Causes that were taken away, and what takes them away and puts them back.
#[derive(Default)]
struct Cure {
    before: Vec<Write>,
    after: Vec<Write>,
    /// Whether nothing is left that holds the job.
    is_whole: bool,
}

impl World<'_> {
    /// Writes a probe. The engine that carried it is answered as if there had been a claim only; what it woke is told.
    pub(crate) fn write_probe(&mut self, of: NodeLife, batch: &BatchUnderWay) -> Result<Batch, Violation> {
        let Some(Write::Claim(claim)) = batch.writes.first() else {
            return self.write_all(of, batch.now, &batch.writes);
        };
        let Some((job, facts)) = self.some_waiting_job(batch.now)? else {
            return self.write_all(of, batch.now, &batch.writes);
        };
        let claim =
            Claim { queues: vec![facts.queue.clone()], kinds: vec![facts.kind.clone()], ..claim.clone() };
        let causes = why(&facts);
        self.count_causes(&causes);
        let mut now = batch.now;
        let cure = if self.work.once_in(2) { Cure::default() } else { self.cure(&claim, &causes, &mut now) };
        let place = cure.before.len();
        let mut writes = cure.before;
        writes.push(Write::Claim(claim));
        writes.extend(cure.after);
        let mut result = self.write_all(of, now, &writes)?;
        let Written::Claimed(claimed) = result.written.swap_remove(place) else {
            return holds(WHY_IS_TRUE, false, || "a claim was not answered as one".into()).map(|()| result);
        };
        if cure.is_whole {
            self.check_cured(job, &claimed, &causes, result.at)?;
        } else if place == 0 {
            check_uncured(job, &claimed, &causes, result.at)?;
        }
        Ok(Batch { written: vec![Written::Claimed(claimed)], ..result })
    }

    fn some_waiting_job(&mut self, now: Time) -> Result<Option<(JobId, WhyFacts)>, Violation> {
        let waiting = |state: JobState| !state.is_over() && state != JobState::Running;
        let jobs: Vec<JobId> =
            self.checks.jobs.all().filter(|(_, job)| waiting(job.state)).map(|(id, _)| id).collect();
        if jobs.is_empty() {
            return Ok(None);
        }
        let job = *self.work.pick(&jobs);
        Ok(self.why(job, now)?.filter(|facts| waiting(facts.state)).map(|facts| (job, facts)))
    }

    fn why(&mut self, job: JobId, now: Time) -> Result<Option<WhyFacts>, Violation> {
        match self.reader.read(now, &Read::Why(job)) {
            Ok(Answer::Why(facts)) => Ok(facts.map(|facts| *facts)),
            other => holds(WHY_IS_TRUE, false, || format!("{other:?}")).map(|()| None),
        }
    }

    fn count_causes(&mut self, causes: &[Cause]) {
        for cause in causes {
            self.counts.one(match cause {
                Cause::Ended { .. } | Cause::DeadLetter { .. } => "why: ended",
                Cause::Running { .. } | Cause::Cancelling => "why: running",
                Cause::Scheduled { .. } => "why: scheduled",
                Cause::BackingOff { .. } => "why: backing off",
                Cause::QueuePaused { .. } => "why: paused",
                Cause::Concurrency { .. } => "why: concurrency",
                Cause::RateLimited { .. } => "why: rate",
                Cause::CoolingDown { .. } => "why: cooling down",
                Cause::NoWorker { .. } => "why: no worker",
                Cause::Waiting { .. } => "why: waiting",
            });
        }
    }

    /// What takes every cause away, as far as that can be done.
    fn cure(&mut self, claim: &Claim, causes: &[Cause], now: &mut Time) -> Cure {
        let mut cure = Cure { is_whole: true, ..Cure::default() };
        for cause in causes {
            match cause {
                Cause::QueuePaused { queue } => {
                    cure.before.push(Write::SetPaused { queue: queue.clone(), paused: false });
                    cure.after.push(Write::SetPaused { queue: queue.clone(), paused: true });
                }
                Cause::Concurrency { key, .. } | Cause::RateLimited { key, .. } => self.lift(key, &mut cure),
                Cause::NoWorker { .. } => {
                    let worker = claim.worker.clone();
                    let (queues, kinds) = (claim.queues.clone(), claim.kinds.clone());
                    let card =
                        WorkerCard { worker: worker.clone(), life: None, queues, kinds, seen_at: *now };
                    cure.before.push(Write::SetWorker(card));
                    cure.after.push(Write::RemoveWorker { worker });
                }
                Cause::Scheduled { run_at } | Cause::BackingOff { run_at, .. } => {
                    cure.is_whole &= run_at.since(*now) < PATIENCE_MS;
                    if cure.is_whole {
                        *now = (*now).max(*run_at);
                    }
                }
                Cause::Waiting { .. } => {}
                Cause::CoolingDown { .. }
                | Cause::Ended { .. }
                | Cause::DeadLetter { .. }
                | Cause::Running { .. }
                | Cause::Cancelling => cure.is_whole = false,
            }
        }
        cure
    }

    fn lift(&mut self, key: &LimitKey, cure: &mut Cure) {
        let policy = Some(LimitPolicy::default());
        cure.before.push(Write::SetLimit { key: key.clone(), policy });
        let policy = self.checks.limits.own_policy(key);
        cure.after.push(Write::SetLimit { key: key.clone(), policy });
    }

    /// Every named cause was taken away: the job started, or something else is named now.
    fn check_cured(
        &mut self,
        job: JobId,
        claimed: &Claimed,
        causes: &[Cause],
        now: Time,
    ) -> Result<(), Violation> {
        if claimed.leases.iter().any(|lease| lease.lease.job == job) {
            self.counts.one("why: started after the cause was removed");
            return Ok(());
        }
        let after = self.why(job, now)?.map(|facts| why(&facts)).unwrap_or_default();
        let is_new = |cause: &Cause| {
            key_of(cause).is_some_and(|key| causes.iter().all(|old| key_of(old) != Some(key)))
        };
        self.counts.one("why: another answer after the cause was removed");
        holds(WHY_IS_TRUE, after.iter().any(is_new), || {
            format!("job {job} was held by {causes:?}; without them it is held by {after:?}")
        })
    }
}

/// The key that a cause names.
fn key_of(cause: &Cause) -> Option<&LimitKey> {
    match cause {
        Cause::Concurrency { key, .. } | Cause::RateLimited { key, .. } | Cause::CoolingDown { key, .. } => {
            Some(key)
        }
        Cause::Ended { .. }
        | Cause::DeadLetter { .. }
        | Cause::Running { .. }
        | Cause::Cancelling
        | Cause::Scheduled { .. }
        | Cause::BackingOff { .. }
        | Cause::QueuePaused { .. }
        | Cause::NoWorker { .. }
        | Cause::Waiting { .. } => None,
    }
}

/// Nothing was taken away: a job that is held does not start, and if one only waits for others, something starts.
fn check_uncured(job: JobId, claimed: &Claimed, causes: &[Cause], now: Time) -> Result<(), Violation> {
    let holds_it = |cause: &Cause| match cause {
        Cause::Scheduled { run_at } | Cause::BackingOff { run_at, .. } => *run_at > now,
        Cause::RateLimited { until, .. } | Cause::CoolingDown { until, .. } => *until > now,
        Cause::QueuePaused { .. } | Cause::Concurrency { .. } => true,
        Cause::Ended { .. } | Cause::DeadLetter { .. } | Cause::Running { .. } | Cause::Cancelling => true,
        Cause::NoWorker { .. } | Cause::Waiting { .. } => false,
    };
    let started = claimed.leases.iter().any(|lease| lease.lease.job == job);
    let is_held = causes.iter().any(holds_it);
    holds(WHY_IS_TRUE, !(started && is_held), || format!("job {job} started in spite of {causes:?}"))?;
    let only_waits =
        causes.iter().all(|cause| matches!(cause, Cause::Waiting { .. } | Cause::NoWorker { .. }));
    holds("no key starves another", !only_waits || !claimed.leases.is_empty(), || {
        format!("job {job} waits for {causes:?} only, and a claim starts nothing")
    })
}
