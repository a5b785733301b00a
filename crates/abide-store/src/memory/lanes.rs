//! Where ready jobs wait: offered to claims, or parked under the key that blocks them.

use super::state::State;
use crate::write::Woken;
use abide_core::job::JobId;
use abide_core::lane::Lane;
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_core::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Where a ready job waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A claim sees it.
    Offered,
    /// It waits for room at this key.
    Parked(LimitKey),
}

/// The order in which ready jobs start: the least is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    pub(super) priority: Reverse<i32>,
    pub(super) run_at: Time,
    pub(super) job: JobId,
}

/// Which lane: ordered by key, so that the lanes of a key are together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaneId {
    pub(super) key: LimitKey,
    pub(super) queue: QueueName,
    pub(super) kind: JobKind,
}

/// Every ready job in its place.
#[derive(Debug, Clone, Default)]
pub(super) struct Lanes {
    pub(super) offered: BTreeMap<(QueueName, JobKind), BTreeSet<Rank>>,
    pub(super) lanes: BTreeMap<LaneId, LaneJobs>,
}

/// The jobs of one lane.
#[derive(Debug, Clone, Default)]
pub(super) struct LaneJobs {
    /// How many of them are offered.
    pub(super) offered: u64,
    /// Those parked under the lane's key.
    pub(super) parked: BTreeSet<Rank>,
}

impl LaneJobs {
    pub(super) fn counts(&self) -> Lane {
        Lane { offered: self.offered, parked: self.parked.len() as u64 }
    }
}

impl Lanes {
    pub(super) fn counts(&self, lane: &LaneId) -> Lane {
        self.lanes.get(lane).map(LaneJobs::counts).unwrap_or_default()
    }

    /// The lanes of a key.
    pub(super) fn of(&self, key: &LimitKey) -> impl Iterator<Item = (&LaneId, &LaneJobs)> {
        self.lanes.iter().filter(move |(lane, _)| lane.key == *key)
    }

    /// How many jobs are parked under a key.
    pub(super) fn parked_under(&self, key: &LimitKey) -> u64 {
        self.of(key).map(|(_, jobs)| jobs.counts().parked).sum()
    }

    /// Kinds of which a queue has offered jobs.
    pub(super) fn kinds_offered(&self, queue: &QueueName) -> impl Iterator<Item = &JobKind> {
        self.offered.keys().filter(move |(of, _)| of == queue).map(|(_, kind)| kind)
    }

    fn change(&mut self, lane: &LaneId, change: impl FnOnce(&mut LaneJobs)) {
        let jobs = self.lanes.entry(lane.clone()).or_default();
        change(jobs);
        if jobs.offered == 0 && jobs.parked.is_empty() {
            self.lanes.remove(lane);
        }
    }
}

impl State {
    /// Puts a job that became ready where it waits.
    pub(super) fn place(&mut self, id: JobId, woken: &mut Woken) {
        let lanes = self.lanes_of(id);
        let blocking = lanes.iter().find(|lane| self.lanes.counts(lane).must_park(self.room(&lane.key)));
        match blocking {
            Some(lane) => self.park(id, &lane.key.clone()),
            None => self.offer(id, woken),
        }
    }

    /// The lanes of a job: one for each of its limit keys.
    pub(super) fn lanes_of(&self, id: JobId) -> Vec<LaneId> {
        let job = self.job(id);
        let lane =
            |key: &LimitKey| LaneId { key: key.clone(), queue: job.queue.clone(), kind: job.kind.clone() };
        job.limit_keys.iter().map(lane).collect()
    }

    fn offer(&mut self, id: JobId, woken: &mut Woken) {
        for lane in self.lanes_of(id) {
            self.lanes.change(&lane, |jobs| jobs.offered += 1);
        }
        let job = self.job_mut(id);
        job.place = Some(Place::Offered);
        let (stream, rank) = ((job.queue.clone(), job.kind.clone()), job.rank());
        self.lanes.offered.entry(stream.clone()).or_default().insert(rank);
        woken.ready.insert(stream);
    }

    fn park(&mut self, id: JobId, key: &LimitKey) {
        let job = self.job_mut(id);
        job.place = Some(Place::Parked(key.clone()));
        let rank = job.rank();
        let lane = LaneId { key: key.clone(), queue: job.queue.clone(), kind: job.kind.clone() };
        self.lanes.change(&lane, |jobs| {
            jobs.parked.insert(rank);
        });
        self.set_wake(key);
    }

    /// Takes a job out of its place, for good.
    pub(super) fn leave_place(&mut self, id: JobId, woken: &mut Woken) {
        match self.lift(id) {
            Some(Place::Offered) => self.refill_lanes_of(id, woken),
            Some(Place::Parked(key)) => self.set_wake(&key),
            None => {}
        }
    }

    /// Moves an offered job under a key that turned out to be full.
    pub(super) fn park_offered(&mut self, id: JobId, key: &LimitKey, woken: &mut Woken) {
        self.lift(id);
        self.park(id, key);
        self.refill_lanes_of(id, woken);
    }

    /// Takes a job out of its place and tells which it was; its lanes are left as they are.
    pub(super) fn lift(&mut self, id: JobId) -> Option<Place> {
        let place = self.job_mut(id).place.take()?;
        let rank = self.job(id).rank();
        match &place {
            Place::Offered => {
                for lane in self.lanes_of(id) {
                    self.lanes.change(&lane, |jobs| jobs.offered -= 1);
                }
                let job = self.job(id);
                let stream = (job.queue.clone(), job.kind.clone());
                if let Some(offered) = self.lanes.offered.get_mut(&stream) {
                    offered.remove(&rank);
                }
                self.lanes.offered.retain(|_, offered| !offered.is_empty());
            }
            Place::Parked(key) => {
                let job = self.job(id);
                let lane = LaneId { key: key.clone(), queue: job.queue.clone(), kind: job.kind.clone() };
                self.lanes.change(&lane, |jobs| {
                    jobs.parked.remove(&rank);
                });
            }
        }
        Some(place)
    }

    /// An offered job of these lanes is gone: others may come forward.
    pub(super) fn refill_lanes_of(&mut self, id: JobId, woken: &mut Woken) {
        for lane in self.lanes_of(id) {
            self.refill(&lane, woken);
            self.set_wake(&lane.key);
        }
    }

    /// Something about a key changed: every lane of it is refilled.
    pub(super) fn refill_key(&mut self, key: &LimitKey, woken: &mut Woken) {
        let lanes: Vec<LaneId> = self.lanes.of(key).map(|(lane, _)| lane.clone()).collect();
        for lane in lanes {
            self.refill(&lane, woken);
        }
        self.limits.wake_at.remove(key);
        self.set_wake(key);
    }

    fn refill(&mut self, lane: &LaneId, woken: &mut Woken) {
        while self.lanes.counts(lane).should_offer(self.room(&lane.key)) {
            let best = self.lanes.lanes.get(lane).and_then(|jobs| jobs.parked.first().copied());
            let Some(best) = best else { break };
            self.lift(best.job);
            self.offer(best.job, woken);
        }
    }
}
