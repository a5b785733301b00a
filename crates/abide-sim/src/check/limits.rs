//! Limits: leases at once and starts per window never pass what a key allows, and nothing starts while it must rest.

use super::ask;
use super::jobs::Jobs;
use crate::counts::Counts;
use crate::outcome::{Violation, holds};
use abide_core::job::{CoolDown, JobId, LeaseRef};
use abide_core::limit::LimitPolicy;
use abide_core::name::{LimitKey, QueueName};
use abide_core::time::Time;
use abide_core::why::Cause;
use abide_store::write::Written;
use abide_store::{Answer, Read, Reader, Write};
use std::collections::{BTreeMap, BTreeSet};

/// What limits say and what was started under them.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    policies: BTreeMap<LimitKey, LimitPolicy>,
    keys: BTreeMap<LimitKey, Key>,
    paused: BTreeSet<QueueName>,
    /// Keys of jobs, as far as they were asked for.
    of_job: BTreeMap<JobId, Vec<LimitKey>>,
}

#[derive(Debug, Default)]
struct Key {
    live: BTreeSet<JobId>,
    /// Starts since the policy was set.
    starts: Vec<Time>,
    refunds: Vec<Time>,
    rests_until: Option<Time>,
}

impl Limits {
    pub(super) fn observe(
        &mut self,
        write: &Write,
        written: &Written,
        at: Time,
        jobs: &mut Jobs,
        reader: &mut dyn Reader,
        counts: &mut Counts,
    ) -> Result<(), Violation> {
        match (write, written) {
            (Write::Claim(_), Written::Claimed(claimed)) => {
                for lease in &claimed.leases {
                    let id = lease.lease.job;
                    holds("a paused queue starts nothing", !self.paused.contains(&lease.queue), || {
                        format!("job {id} of {} was claimed", lease.queue)
                    })?;
                    for key in self.keys_of(id, &lease.queue, reader, at)? {
                        self.start(id, &key, at, counts)?;
                    }
                }
                Ok(())
            }
            (Write::Vacate { lease }, Written::Vacated(Ok(()))) => {
                counts.one("job: vacated");
                // Its queue's own key is the first, and stays.
                self.free_past(lease.job, 1);
                Ok(())
            }
            (Write::Finish { lease, finish, .. }, Written::Finished(Ok(done))) if !done.repeated => {
                self.finished(*lease, &finish.refund, &finish.cool_down, at, counts);
                Ok(())
            }
            (Write::ReleaseExpired | Write::Disown { .. }, Written::Released(released)) => {
                released.iter().for_each(|id| self.free(*id));
                Ok(())
            }
            (Write::Begin(_), Written::Began(_)) => {
                let lost: Vec<JobId> =
                    self.of_job.keys().copied().filter(|id| !jobs.is_leased(*id)).collect();
                lost.into_iter().for_each(|id| self.free(id));
                Ok(())
            }
            (Write::CoolDown(cool_down), Written::Set) => {
                self.cool_down(cool_down, at);
                Ok(())
            }
            (Write::SetLimit { key, policy }, Written::Set) => {
                self.set(key, policy.clone());
                Ok(())
            }
            (Write::SetPaused { queue, paused }, Written::Set) => {
                self.pause(queue, *paused);
                Ok(())
            }
            (Write::SetQueue { queue, policy }, Written::Set) => {
                self.pause(queue, policy.paused);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn pause(&mut self, queue: &QueueName, paused: bool) {
        if paused {
            self.paused.insert(queue.clone())
        } else {
            self.paused.remove(queue)
        };
    }

    fn keys_of(
        &mut self,
        id: JobId,
        queue: &QueueName,
        reader: &mut dyn Reader,
        now: Time,
    ) -> Result<Vec<LimitKey>, Violation> {
        if let Some(keys) = self.of_job.get(&id) {
            return Ok(keys.clone());
        }
        let Answer::Job(Some(view)) = ask(reader, now, &Read::Job(id))? else { return Ok(Vec::new()) };
        let mut keys = vec![LimitKey::of_queue(queue)];
        keys.extend(view.limit_keys);
        self.of_job.insert(id, keys.clone());
        Ok(keys)
    }

    fn policy_of(&self, key: &LimitKey) -> Option<&LimitPolicy> {
        self.policies.get(key).or_else(|| self.policies.get(&key.class()?))
    }

    fn start(&mut self, id: JobId, key: &LimitKey, at: Time, counts: &mut Counts) -> Result<(), Violation> {
        let policy = self.policy_of(key).cloned().unwrap_or_default();
        let state = self.keys.entry(key.clone()).or_default();
        state.live.insert(id);
        state.starts.push(at);
        let live = state.live.len();
        let rests = state.rests_until.is_some_and(|until| until > at);
        holds("a key that rests starts nothing", !rests, || format!("job {id} was claimed under {key}"))?;
        if let Some(limit) = policy.concurrency {
            holds("concurrency is never passed", live <= limit as usize, || {
                format!("{live} leases under {key}, which allows {limit}")
            })?;
            if live == limit as usize {
                counts.one("limit: claim at full concurrency");
            }
        }
        for rate in &policy.rates {
            for (index, since) in state.starts.iter().enumerate() {
                let starts = (state.starts.len() - index) as i64;
                let refunds = state.refunds.iter().filter(|refund| *refund >= since).count() as i64;
                // N + b + N·t/W, both sides times W so that nothing is rounded.
                let allowed = (i64::from(rate.starts) + i64::from(policy.burst) + refunds) * rate.window_ms
                    + i64::from(rate.starts) * at.since(*since);
                holds("a rate is never passed", starts * rate.window_ms <= allowed, || {
                    format!("{starts} starts under {key} in {} ms, which allows {rate}", at.since(*since))
                })?;
                if (starts + 1) * rate.window_ms > allowed {
                    counts.one("limit: claim at full rate");
                }
            }
        }
        Ok(())
    }

    fn finished(
        &mut self,
        lease: LeaseRef,
        refund: &[LimitKey],
        cool_down: &[CoolDown],
        at: Time,
        counts: &mut Counts,
    ) {
        counts.many("job: refunded", refund.len() as u64);
        counts.many("job: cooled down", cool_down.len() as u64);
        for key in refund {
            self.keys.entry(key.clone()).or_default().refunds.push(at);
        }
        for one in cool_down {
            self.cool_down(one, at);
        }
        self.free(lease.job);
    }

    fn cool_down(&mut self, CoolDown { key, for_ms }: &CoolDown, at: Time) {
        let until = at.plus_ms(*for_ms);
        let rests_until = &mut self.keys.entry(key.clone()).or_default().rests_until;
        *rests_until = Some(rests_until.map_or(until, |known| known.max(until)));
    }

    fn free(&mut self, id: JobId) {
        self.free_past(id, 0);
    }

    fn free_past(&mut self, id: JobId, kept: usize) {
        for key in self.of_job.get(&id).into_iter().flatten().skip(kept) {
            if let Some(state) = self.keys.get_mut(key) {
                state.live.remove(&id);
            }
        }
    }

    /// Another policy: starts count from now on.
    fn set(&mut self, key: &LimitKey, policy: Option<LimitPolicy>) {
        match policy {
            Some(policy) => self.policies.insert(key.clone(), policy),
            None => {
                if let Some(state) = self.keys.get_mut(key) {
                    state.rests_until = None;
                }
                self.policies.remove(key)
            }
        };
        for (other, state) in &mut self.keys {
            if other == key || other.class().as_ref() == Some(key) {
                state.starts.clear();
                state.refunds.clear();
            }
        }
    }

    /// Whether a cause that holds a ready job back is one, as far as is known here.
    pub(super) fn confirm(&self, cause: &Cause, at: Time) -> bool {
        let live = |key| self.keys.get(key).map_or(0, |state| state.live.len());
        match cause {
            Cause::QueuePaused { queue } => self.paused.contains(queue),
            Cause::Concurrency { key, .. } => {
                let limit = self.policy_of(key).and_then(|policy| policy.concurrency);
                limit.is_some_and(|limit| live(key) >= limit as usize)
            }
            Cause::RateLimited { key, rate, until, .. } => {
                *until > at && self.policy_of(key).is_some_and(|policy| policy.rates.contains(rate))
            }
            Cause::CoolingDown { key, .. } => {
                let rests_until = self.keys.get(key).and_then(|state| state.rests_until);
                rests_until.is_some_and(|until| until > at)
            }
            Cause::Ended { .. }
            | Cause::DeadLetter { .. }
            | Cause::Running { .. }
            | Cause::Cancelling
            | Cause::Scheduled { .. }
            | Cause::BackingOff { .. }
            | Cause::NoWorker { .. }
            | Cause::Waiting { .. } => false,
        }
    }

    /// Queues that are paused.
    pub(crate) fn paused(&self) -> impl Iterator<Item = &QueueName> {
        self.paused.iter()
    }

    /// The policy that was set for this very key.
    pub(crate) fn own_policy(&self, key: &LimitKey) -> Option<LimitPolicy> {
        self.policies.get(key).cloned()
    }
}
