//! What is known about why a job is not running.

use super::jobs::Job;
use super::lanes::Rank;
use super::state::State;
use abide_core::job::{JobId, JobState};
use abide_core::limits::{AHEAD_COUNTED, WORKER_SEEN_MS};
use abide_core::name::LimitKey;
use abide_core::time::Time;
use abide_core::why::{Ahead, KeyFacts, WhyFacts};
use std::collections::BTreeSet;

impl State {
    pub(super) fn why_facts(&self, id: JobId, now: Time) -> Option<WhyFacts> {
        let job = self.jobs.get(&id)?;
        let lease = job.running.as_ref();
        Some(WhyFacts {
            state: job.state,
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            run_at: job.run_at,
            failures: job.failures,
            reason: job.reason.clone(),
            cancel_asked: job.cancel_asked,
            lease: lease.map(|lease| (lease.worker.clone(), job.attempt, lease.expires_at)),
            paused: self.is_paused(&job.queue),
            keys: job.keys().into_iter().map(|key| self.key_facts(job, key, now)).collect(),
            has_worker: self.has_worker(job, now),
            ahead: if job.state == JobState::Ready { self.ahead_in_stream(job) } else { Ahead::NONE },
        })
    }

    fn key_facts(&self, job: &Job, key: LimitKey, now: Time) -> KeyFacts {
        let rank = job.rank();
        let ahead = if key == LimitKey::of_queue(&job.queue) {
            let offered = self.lanes.offered.iter().filter(|((queue, _), _)| *queue == job.queue);
            offered.map(|(_, ranks)| before(ranks, rank)).sum()
        } else {
            self.lanes.of(&key).map(|(_, jobs)| before(&jobs.parked, rank)).sum()
        };
        let (room, in_use) = (self.limits.room(&key, now), self.limits.in_use(&key));
        KeyFacts { key, room, in_use, ahead: counted(ahead) }
    }

    fn ahead_in_stream(&self, job: &Job) -> Ahead {
        let is_before = |other: &&Job| {
            other.state == JobState::Ready
                && other.queue == job.queue
                && other.kind == job.kind
                && other.rank() < job.rank()
        };
        counted(self.jobs.values().filter(is_before).count())
    }

    fn has_worker(&self, job: &Job, now: Time) -> bool {
        self.workers.values().any(|card| {
            let is_there = card.life.is_some() || now.since(card.seen_at) < WORKER_SEEN_MS;
            is_there && card.queues.contains(&job.queue) && card.kinds.contains(&job.kind)
        })
    }
}

fn before(ranks: &BTreeSet<Rank>, rank: Rank) -> usize {
    ranks.range(..rank).count()
}

fn counted(found: usize) -> Ahead {
    let found = found as u64;
    Ahead { count: found.min(AHEAD_COUNTED), or_more: found > AHEAD_COUNTED }
}
