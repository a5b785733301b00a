//! Jobs that run in this process: claiming for free slots, heartbeats, ends.

use super::io::{Notice, Output};
use super::{Machine, Phase, WriteFor};
use crate::worker::Pool;
use abide_core::job::{Finish, JobId, LeaseRef, NewJob};
use abide_core::json::Json;
use abide_core::limits::{CLAIM_ITEMS, PROGRESS_BYTES};
use abide_core::name::{JobKind, QueueName, WorkerId};
use abide_core::object::Life;
use abide_core::time::{Time, earliest};
use abide_store::Write;
use abide_store::write::{Claim, Claimed, Renewal, WorkerCard};
use std::collections::BTreeMap;

/// The pools and what runs in them.
#[derive(Debug)]
pub(super) struct Jobs {
    pools: Vec<PoolState>,
    running: BTreeMap<JobId, Running>,
    heartbeat_at: Option<Time>,
    /// The answer to a claim was lost: there may be leases that nobody here knows of. Nothing is claimed before they are
    /// handed back, or new ones would be taken for them.
    lost_a_claim: bool,
}

#[derive(Debug)]
struct PoolState {
    queue: QueueName,
    kind: JobKind,
    slots: usize,
    /// How many more may be taken, if that is bounded.
    left: Option<u64>,
    running: usize,
    /// There may be a job to claim.
    hint: bool,
    /// Slots that claims on their way may fill.
    reserved: usize,
    /// Places at limits that become free bring others forward. The claim of the next goes with what frees one, in one write.
    refills: bool,
    /// So many places become free with what is about to be written. As many slots are claimed for and no more, so that there
    /// are some for the next place while this claim is on its way.
    freed: usize,
    /// There may be one then.
    next_at: Option<Time>,
}

#[derive(Debug)]
struct Running {
    lease: LeaseRef,
    pool: usize,
    /// Its places at limits are others' already: its end frees none.
    has_vacated: bool,
}

impl Jobs {
    pub(super) fn new(pools: &[Pool]) -> Jobs {
        let pools = pools
            .iter()
            .map(|pool| PoolState {
                queue: pool.queue.clone(),
                kind: pool.kind.clone(),
                slots: pool.slots,
                left: pool.in_all,
                running: 0,
                hint: false,
                reserved: 0,
                refills: false,
                freed: 0,
                next_at: None,
            })
            .collect();
        Jobs { pools, running: BTreeMap::new(), heartbeat_at: None, lost_a_claim: false }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && !self.lost_a_claim && self.pools.iter().all(|pool| pool.reserved == 0)
    }

    pub(super) fn wake_at(&self) -> Option<Time> {
        let has_slot = |pool: &&PoolState| pool.may_take() > 0;
        let next = self.pools.iter().filter(has_slot).fold(None, |at, pool| earliest(at, pool.next_at));
        earliest(next, self.heartbeat_at)
    }

    pub(super) fn heartbeat_at(&self) -> Option<Time> {
        self.heartbeat_at
    }

    pub(super) fn hint_all(&mut self) {
        for pool in &mut self.pools {
            pool.hint = true;
        }
    }

    /// There are jobs for all pools of this queue and kind but those that have `looked`.
    pub(super) fn hint(&mut self, queue: &QueueName, kind: &JobKind, looked: &[usize]) {
        for (index, pool) in self.pools.iter_mut().enumerate() {
            let is_for_it = pool.queue == *queue && pool.kind == *kind && !looked.contains(&index);
            pool.hint |= is_for_it;
            pool.refills |= is_for_it;
        }
    }

    /// These are about to be written.
    pub(super) fn expect(&mut self, jobs: &[NewJob], now: Time) {
        for pool in self.pools.iter_mut().filter(|pool| !pool.hint) {
            let fits = |job: &NewJob| {
                job.kind == pool.kind && job.queue == pool.queue && job.run_at.is_none_or(|at| at <= now)
            };
            pool.hint = jobs.iter().any(fits);
        }
    }

    /// Some job of some queue may become ready at `at`.
    pub(super) fn ready_at(&mut self, at: Option<Time>) {
        for pool in &mut self.pools {
            pool.next_at = earliest(pool.next_at, at);
        }
    }

    /// The answer to a claim for `slots` of a pool was lost.
    pub(super) fn lose_a_claim(&mut self, index: usize, slots: usize) {
        self.lost_a_claim = true;
        self.claim_again(index, slots);
    }

    /// A claim for `slots` of a pool gave nothing that is known of: ask again.
    pub(super) fn claim_again(&mut self, index: usize, slots: usize) {
        let pool = &mut self.pools[index];
        pool.reserved -= slots;
        pool.hint = true;
    }

    pub(super) fn know_all_leases(&mut self) {
        self.lost_a_claim = false;
    }
}

impl PoolState {
    fn free(&self) -> usize {
        self.slots - self.running - self.reserved
    }

    /// Free slots for which there may be jobs at all.
    fn may_take(&self) -> usize {
        let left = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        self.free().min(left.saturating_sub(self.reserved))
    }

    /// Slots that a claim should fill now.
    fn wanted(&self) -> usize {
        let free = self.may_take().min(CLAIM_ITEMS);
        if self.hint { free } else { self.freed.min(free) }
    }

    /// So many were taken.
    fn take(&mut self, count: usize) {
        self.running += count;
        self.left = self.left.map(|left| left.saturating_sub(count as u64));
    }

    /// One is not run here any more, and is as if it had not been.
    fn lose_one(&mut self) {
        self.running -= 1;
        self.left = self.left.map(|left| left + 1);
    }

    /// A place at a limit becomes free.
    fn free_place(&mut self) {
        self.freed += usize::from(self.refills);
    }
}

/// The name of a pool of workers in an engine's process.
fn worker_id(life: Life, pool: &PoolState) -> WorkerId {
    WorkerId::trusted(format!("engine-{}/{}/{}", life.0, pool.queue, pool.kind))
}

impl Machine {
    pub(super) fn introduce_workers(&mut self, life: Life) {
        let cards: Vec<WorkerCard> = self
            .jobs
            .pools
            .iter()
            .map(|pool| WorkerCard {
                worker: worker_id(life, pool),
                life: Some(life),
                queues: vec![pool.queue.clone()],
                kinds: vec![pool.kind.clone()],
                seen_at: self.now,
            })
            .collect();
        for card in cards {
            self.write(WriteFor::Worker, Write::SetWorker(card));
        }
    }

    pub(super) fn jobs_due(&mut self) {
        let now = self.now;
        for pool in &mut self.jobs.pools {
            if pool.next_at.is_some_and(|at| at <= now) {
                pool.next_at = None;
                pool.hint = true;
            }
        }
        if self.jobs.heartbeat_at.is_some_and(|at| at <= now) {
            self.jobs.heartbeat_at = None;
            let leases: Vec<LeaseRef> = self.jobs.running.values().map(|running| running.lease).collect();
            if !leases.is_empty() {
                let lease_ms = self.options.lease_ms;
                self.write(WriteFor::Renew(leases.clone()), Write::Renew { leases, lease_ms });
                self.beat_later();
            }
        }
    }

    fn beat_later(&mut self) {
        let at = self.now.plus_ms(self.options.lease_ms / 3);
        self.jobs.heartbeat_at.get_or_insert(at);
    }

    pub(super) fn claim_jobs(&mut self) {
        let Some(life) = self.life.filter(|_| self.phase == Phase::Working && self.stalled_until.is_none())
        else {
            return;
        };
        if self.jobs.lost_a_claim {
            return;
        }
        for index in 0..self.jobs.pools.len() {
            let pool = &mut self.jobs.pools[index];
            let slots = pool.wanted();
            if slots == 0 {
                continue;
            }
            pool.reserved += slots;
            pool.hint = false;
            pool.freed = 0;
            pool.next_at = None;
            let claim = Claim {
                worker: worker_id(life, pool),
                life: Some(life),
                queues: vec![pool.queue.clone()],
                kinds: vec![pool.kind.clone()],
                max: slots,
                lease_ms: self.options.lease_ms,
                seed: self.secret.draw(),
                key: None,
            };
            self.write(WriteFor::Claim { pool: index, slots }, Write::Claim(claim));
        }
    }

    pub(super) fn claimed(&mut self, index: usize, slots: usize, claimed: Claimed) {
        let pool = &mut self.jobs.pools[index];
        pool.reserved -= slots;
        pool.hint |= claimed.more;
        pool.refills &= claimed.more || !claimed.leases.is_empty();
        pool.next_at = earliest(pool.next_at, claimed.next_at);
        pool.take(claimed.leases.len());
        if !claimed.leases.is_empty() {
            self.beat_later();
        }
        for lease in claimed.leases {
            let running = Running { lease: lease.lease, pool: index, has_vacated: false };
            let former = self.jobs.running.insert(lease.lease.job, running);
            if let Some(former) = former {
                // An attempt whose lease ran out without our noticing: its place is free, its end counts for nothing.
                self.jobs.pools[former.pool].lose_one();
            }
            self.out.push(Output::Run { pool: index, lease });
        }
    }

    pub(super) fn job_ended(&mut self, lease: LeaseRef, mut finish: Finish) {
        if self.jobs.running.get(&lease.job).is_none_or(|running| running.lease != lease) {
            return;
        }
        if let Some(ended) = self.jobs.running.remove(&lease.job) {
            let pool = &mut self.jobs.pools[ended.pool];
            if finish.end.is_uncounted() {
                pool.lose_one();
            } else {
                pool.running -= 1;
            }
            if !ended.has_vacated {
                pool.free_place();
            }
        }
        finish.bound();
        let seed = self.secret.draw();
        self.write(WriteFor::Finish(lease), Write::Finish { lease, finish, seed });
    }

    pub(super) fn job_progressed(&mut self, lease: LeaseRef, note: Json) {
        if self.jobs.running.get(&lease.job).is_some_and(|running| running.lease == lease)
            && note.len() <= PROGRESS_BYTES
        {
            self.write(WriteFor::Progress, Write::Progress { lease, progress: note });
        }
    }

    pub(super) fn job_vacated(&mut self, lease: LeaseRef) {
        let held = self.jobs.running.get_mut(&lease.job).filter(|running| running.lease == lease);
        let Some(running) = held.filter(|running| !running.has_vacated) else { return };
        running.has_vacated = true;
        self.jobs.pools[running.pool].free_place();
        self.write(WriteFor::Vacate, Write::Vacate { lease });
    }

    pub(super) fn renewed(&mut self, leases: &[LeaseRef], renewals: &[Renewal]) {
        for (lease, renewal) in leases.iter().zip(renewals) {
            match renewal {
                Renewal::Held { cancel_asked: false, .. } => {}
                Renewal::Held { cancel_asked: true, .. } => self.out.push(Output::Stop(lease.job)),
                Renewal::Lost => {
                    let is_it =
                        self.jobs.running.get(&lease.job).is_some_and(|running| running.lease == *lease);
                    if is_it && let Some(lost) = self.jobs.running.remove(&lease.job) {
                        self.jobs.pools[lost.pool].lose_one();
                        self.jobs.pools[lost.pool].hint = true;
                        self.out.push(Output::Stop(lease.job));
                    }
                }
            }
        }
    }

    pub(super) fn cancelling(&mut self, job: JobId) {
        if self.jobs.running.contains_key(&job) {
            self.out.push(Output::Stop(job));
        }
    }

    /// Hands back the leases of claims whose answers were lost: those of this life that are not running here, and whose
    /// ends are not on their way either.
    pub(super) fn disown_lost_leases(&mut self) {
        let Some(life) = self.life.filter(|_| self.jobs.lost_a_claim) else { return };
        let ending = self
            .writes
            .values()
            .filter_map(|purpose| if let WriteFor::Finish(lease) = purpose { Some(*lease) } else { None });
        let running = self.jobs.running.values().map(|running| running.lease);
        let held = running.chain(ending).collect();
        self.write(WriteFor::Disown, Write::Disown { life, held });
    }

    /// The store was away, and heartbeats with it: no lease runs out for that.
    pub(super) fn regrant_after_outage(&mut self) {
        if !self.retries.iter().any(|(purpose, _)| matches!(purpose, WriteFor::Regrant)) {
            let lease_ms = self.options.lease_ms;
            self.write(WriteFor::Regrant, Write::Regrant { lease_ms });
        }
    }

    /// No engine was there to hear heartbeats: what ran out meanwhile is held on, for as long as a worker has to be heard of.
    /// Where others may be, one of them was.
    pub(super) fn regrant_after_absence(&mut self) {
        if self.options.alone {
            let lease_ms = self.options.lease_ms;
            self.write(WriteFor::Regrant, Write::Regrant { lease_ms });
        }
    }

    pub(super) fn clock_jumped(&mut self, by_ms: i64) {
        let lease_ms = self.options.lease_ms;
        self.write(WriteFor::Regrant, Write::Regrant { lease_ms });
        self.notice(Notice::ClockJumped { by_ms });
    }
}
