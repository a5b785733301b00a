//! Claims: jobs for a worker, best first, never past a limit.

use super::jobs::{Job, Running};
use super::lanes::Rank;
use super::state::State;
use crate::write::{Claim, Claimed, Woken};
use abide_core::job::{JobEvent, JobId, Lease, LeaseRef, LeaseToken};
use abide_core::limit::Room;
use abide_core::limits::{CLAIM_LOOKS, PAGE_BYTES};
use abide_core::name::{LimitKey, QueueName};
use abide_core::seed::Seed;
use abide_core::time::{Time, earliest};

impl Job {
    /// The lease as its worker gets it, if it runs.
    fn lease(&self) -> Option<Lease> {
        Some(Lease {
            lease: LeaseRef { job: self.id, attempt: self.attempt, token: self.token? },
            queue: self.queue.clone(),
            kind: self.kind.clone(),
            payload: self.payload.clone(),
            unique_key: self.unique_key.clone(),
            failures: self.failures,
            max_attempts: self.max_attempts,
            lease_expires_at: self.running.as_ref()?.expires_at,
            trace: self.trace.clone(),
        })
    }
}

impl State {
    pub(super) fn claim(&mut self, claim: &Claim, woken: &mut Woken) -> Claimed {
        let leases = self.held_under_key(claim);
        if !leases.is_empty() {
            return Claimed { leases, more: false, next_at: None };
        }
        self.make_due(woken);
        for key in self.limits.to_open(self.now, CLAIM_LOOKS) {
            self.refill_key(&key, woken);
        }
        let mut leases = Vec::new();
        let (mut looks, mut bytes) = (0, 0);
        while leases.len() < claim.max && looks < CLAIM_LOOKS && bytes < PAGE_BYTES {
            let Some(id) = self.best_offered(claim) else { break };
            looks += 1;
            let full = self.job(id).limit_keys.iter().find(|key| self.is_full(key)).cloned();
            match full {
                Some(key) => self.park_offered(id, &key, woken),
                None => {
                    let lease = self.take(id, claim, woken);
                    bytes += lease.payload.len();
                    leases.push(lease);
                }
            }
        }
        if self.best_offered(claim).is_some() {
            Claimed { leases, more: true, next_at: None }
        } else {
            Claimed { leases, more: false, next_at: self.next_claim_at(claim) }
        }
    }

    /// What the worker holds that it got under this key: its leases are lengthened, and it hears of them again.
    fn held_under_key(&mut self, claim: &Claim) -> Vec<Lease> {
        let Some(key) = &claim.key else { return Vec::new() };
        let is_it =
            |running: &Running| running.worker == claim.worker && running.claim_key.as_ref() == Some(key);
        let held = self.jobs.values().filter(|job| job.running.as_ref().is_some_and(is_it));
        let held: Vec<JobId> = held.map(|job| job.id).collect();
        let until = self.now.plus_ms(claim.lease_ms);
        held.into_iter()
            .map(|id| {
                self.hold_until(id, until);
                self.job(id).lease().expect("it runs")
            })
            .collect()
    }

    fn make_due(&mut self, woken: &mut Woken) {
        let now = self.now;
        let due = self.scheduled.iter().take_while(|(run_at, _)| *run_at <= now);
        let due: Vec<(Time, JobId)> = due.take(CLAIM_LOOKS).copied().collect();
        for (run_at, id) in due {
            self.scheduled.remove(&(run_at, id));
            let job = self.job_mut(id);
            let next = job.standing().after(JobEvent::Due, now, &mut Seed::new(0));
            let next = next.expect("a scheduled job can become ready");
            woken.moves.push(job.moved(Some(job.state), next.state, None, job.run_at));
            job.move_to(&next, now);
            self.place(id, woken);
        }
    }

    /// The best job that is offered now in a queue that is open.
    fn best_offered(&self, claim: &Claim) -> Option<JobId> {
        let open = claim.queues.iter().filter(|queue| self.is_open(queue));
        let streams =
            open.flat_map(|queue| claim.kinds.iter().map(move |kind| (queue.clone(), kind.clone())));
        let firsts = streams.filter_map(|stream| self.lanes.offered.get(&stream)?.first().copied());
        firsts.min().map(|rank: Rank| rank.job)
    }

    fn is_open(&self, queue: &QueueName) -> bool {
        !self.is_paused(queue) && !self.is_full(&LimitKey::of_queue(queue))
    }

    /// Leases an offered job that passes all its limits.
    fn take(&mut self, id: JobId, claim: &Claim, woken: &mut Woken) -> Lease {
        let now = self.now;
        self.lift(id);
        let keys = self.job(id).keys();
        for key in &keys {
            self.take_key(key);
        }
        let job = self.job_mut(id);
        let next = job.standing().after(JobEvent::Claimed, now, &mut Seed::new(0));
        let next = next.expect("an offered job is ready");
        job.attempt += 1;
        woken.moves.push(job.moved(Some(job.state), next.state, None, job.run_at));
        job.move_to(&next, now);
        let token = LeaseToken::draw(claim.seed, id, job.attempt);
        let expires_at = now.plus_ms(claim.lease_ms);
        job.token = Some(token);
        job.progress = None;
        job.running = Some(Running {
            worker: claim.worker.clone(),
            life: claim.life,
            claim_key: claim.key.clone(),
            started_at: now,
            expires_at,
            has_vacated: false,
        });
        let lease = job.lease().expect("it runs");
        self.leases.insert((expires_at, id));
        woken.lease(expires_at);
        self.refill_lanes_of(id, woken);
        for key in &keys {
            self.set_wake(key);
        }
        lease
    }

    /// When asking again may give more, if time alone can change it.
    fn next_claim_at(&self, claim: &Claim) -> Option<Time> {
        let is_asked = |id: &JobId| {
            let job = self.job(*id);
            claim.queues.contains(&job.queue) && claim.kinds.contains(&job.kind)
        };
        let scheduled = self.scheduled.iter().find(|(_, id)| is_asked(id)).map(|(run_at, _)| *run_at);
        let queues = claim.queues.iter().filter_map(|queue| match self.room(&LimitKey::of_queue(queue)) {
            Room::For(_) => None,
            Room::Full(blocked) => blocked.until(),
        });
        earliest(earliest(scheduled, self.limits.first_opening()), queues.min())
    }
}
