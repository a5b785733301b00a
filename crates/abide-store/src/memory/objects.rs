//! Objects: their header, their rows, and the end of a life.

use super::jobs::UniqueScope;
use super::state::State;
use crate::write::{Refused, Removed, Woken};
use abide_core::job::JobId;
use abide_core::log::Seq;
use abide_core::object::{Fence, Incarnation, Life, ObjectKey, Version};
use abide_core::time::Time;

/// An object's header.
#[derive(Debug, Clone)]
pub(super) struct Object {
    pub(super) incarnation: Incarnation,
    pub(super) version: Version,
    /// The engine's life that committed it.
    pub(super) by: Life,
    pub(super) log_head: Seq,
    /// The `now` of its first turn.
    pub(super) created_at: Time,
    /// The `now` of its last turn.
    pub(super) turn_at: Time,
}

/// Why the jobs of a deleted object end.
const OWNER_DELETED: &str = "owner deleted";

impl State {
    pub(super) fn check_fence(&self, object: &ObjectKey, fence: &Fence) -> Result<(), Refused> {
        let holds = match (fence, self.objects.get(object)) {
            (Fence::Absent { .. }, present) => present.is_none(),
            (Fence::At { incarnation, version, by }, Some(present)) => {
                (present.incarnation, present.version, present.by) == (*incarnation, *version, *by)
            }
            (Fence::At { .. }, None) => false,
        };
        if holds { Ok(()) } else { Err(Refused::Moved) }
    }

    pub(super) fn is_alive(&self, object: &ObjectKey, life: Incarnation) -> bool {
        self.objects.get(object).is_some_and(|object| object.incarnation == life)
    }

    /// Ends a life: everything but its rows, its log and its unique keys goes at once.
    pub(super) fn delete_object(&mut self, key: &ObjectKey, life: Incarnation, woken: &mut Woken) {
        self.objects.remove(key);
        self.alarms.remove_all_of(life);
        self.follows.retain(|(follower, _), _| *follower != life);
        self.messages.drop_bound_to(life);
        let owned: Vec<JobId> = self
            .jobs
            .values()
            .filter(|job| !job.state.is_over() && job.is_owned_by(life))
            .map(|job| job.id)
            .collect();
        for job in owned {
            self.cancel_for(job, OWNER_DELETED, woken).expect("a job that is not over can be cancelled");
            let job = self.job_mut(job);
            if !job.state.is_over() {
                job.owner = None;
            }
        }
        self.resolve_as_gone(life, woken);
        self.reset_follows_of(key);
        self.unswept.insert(life);
        woken.sweep = true;
    }

    /// Removes rows, log entries and unique keys of deleted lives, at most `max` of them.
    pub(super) fn sweep(&mut self, max: usize) -> Removed {
        let mut count = 0;
        while count < max {
            let Some(life) = self.unswept.first().copied() else { break };
            let left = max - count;
            let removed = self.sweep_life(life, left);
            count += removed;
            if removed < left || self.is_swept(life) {
                self.unswept.remove(&life);
            }
        }
        Removed { count, more: !self.unswept.is_empty() }
    }

    fn sweep_life(&mut self, life: Incarnation, max: usize) -> usize {
        let mut count = 0;
        if let Some(rows) = self.rows.get_mut(&life) {
            while count < max && rows.pop_first().is_some() {
                count += 1;
            }
        }
        if let Some(log) = self.logs.get_mut(&life) {
            while count < max && log.pop().is_some() {
                count += 1;
            }
        }
        let keys = self.unique.keys().filter(|(scope, _)| *scope == UniqueScope::Owner(life));
        let keys: Vec<_> = keys.take(max - count).cloned().collect();
        for key in keys {
            self.unique.remove(&key);
            count += 1;
        }
        self.rows.retain(|_, rows| !rows.is_empty());
        self.logs.retain(|_, log| !log.is_empty());
        count
    }

    fn is_swept(&self, life: Incarnation) -> bool {
        !self.rows.contains_key(&life)
            && !self.logs.contains_key(&life)
            && !self.unique.keys().any(|(scope, _)| *scope == UniqueScope::Owner(life))
    }
}
