//! Limits: policies of keys and classes, what keys have used, when they open by time.

use super::state::State;
use crate::write::Woken;
use abide_core::job::CoolDown;
use abide_core::limit::{KeyState, LimitPolicy, Room};
use abide_core::name::{LimitKey, QueueName};
use abide_core::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Every policy, and every key that has something to remember.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    /// Of keys and of classes (`host:*`).
    pub(super) policies: BTreeMap<LimitKey, LimitPolicy>,
    pub(super) used: BTreeMap<LimitKey, KeyState>,
    /// When keys open under which jobs are parked and which time alone opens.
    pub(super) wake_at: BTreeMap<LimitKey, Time>,
}

impl Limits {
    /// The policy that applies to a key: its own or its class's.
    pub(super) fn policy(&self, key: &LimitKey) -> Option<&LimitPolicy> {
        self.policies.get(key).or_else(|| key.class().and_then(|class| self.policies.get(&class)))
    }

    fn policy_or_none(&self, key: &LimitKey) -> LimitPolicy {
        self.policy(key).cloned().unwrap_or_default()
    }

    pub(super) fn room(&self, key: &LimitKey, now: Time) -> Room {
        match self.used.get(key) {
            Some(used) => self.policy_or_none(key).room(used, now),
            None => self.policy_or_none(key).room(&KeyState::default(), now),
        }
    }

    pub(super) fn in_use(&self, key: &LimitKey) -> u32 {
        self.used.get(key).map_or(0, |used| used.in_use)
    }

    /// The first keys that were to open by now.
    pub(super) fn to_open(&self, now: Time, max: usize) -> Vec<LimitKey> {
        let due = self.wake_at.iter().filter(|(_, at)| **at <= now);
        let due: BTreeSet<(Time, &LimitKey)> = due.map(|(key, at)| (*at, key)).collect();
        due.into_iter().take(max).map(|(_, key)| key.clone()).collect()
    }

    /// The first opening of a key under which jobs are parked.
    pub(super) fn first_opening(&self) -> Option<Time> {
        self.wake_at.values().min().copied()
    }

    fn is_rested(&self, key: &LimitKey, now: Time) -> bool {
        self.used.get(key).is_none_or(|used| self.policy_or_none(key).is_rested(used, now))
    }
}

impl State {
    pub(super) fn room(&self, key: &LimitKey) -> Room {
        self.limits.room(key, self.now)
    }

    pub(super) fn is_full(&self, key: &LimitKey) -> bool {
        matches!(self.room(key), Room::Full(_))
    }

    /// A start under this key. The caller has seen that there is room.
    pub(super) fn take_key(&mut self, key: &LimitKey) {
        let policy = self.limits.policy_or_none(key);
        policy.take(self.limits.used.entry(key.clone()).or_default(), self.now);
    }

    /// A lease under this key ended.
    pub(super) fn free_key(&mut self, key: &LimitKey) {
        if let Some(used) = self.limits.used.get_mut(key) {
            used.free();
        }
    }

    /// A start under this key did not count.
    pub(super) fn refund_key(&mut self, key: &LimitKey) {
        let policy = self.limits.policy_or_none(key);
        policy.refund(self.limits.used.entry(key.clone()).or_default(), self.now);
    }

    /// Keeps a key resting, from now.
    pub(super) fn cool_down(&mut self, cool_down: &CoolDown) {
        let until = self.now.plus_ms(cool_down.for_ms);
        self.limits.used.entry(cool_down.key.clone()).or_default().cool_down(until);
        self.set_wake(&cool_down.key);
        self.forget_rested(&cool_down.key);
    }

    /// Notes when a key opens by time, if somebody waits for that. A time that has come stays noted until the lanes of
    /// the key are refilled, or nobody would bring those forward who wait for it.
    pub(super) fn set_wake(&mut self, key: &LimitKey) {
        let noted = self.limits.wake_at.get(key).copied();
        let opens_at = match self.room(key) {
            Room::For(_) => noted.filter(|at| *at <= self.now),
            Room::Full(blocked) => blocked.until(),
        };
        match opens_at.filter(|_| self.lanes.parked_under(key) > 0) {
            Some(at) => self.limits.wake_at.insert(key.clone(), at),
            None => self.limits.wake_at.remove(key),
        };
    }

    /// Forgets what a key has used if nothing of it needs to be remembered.
    pub(super) fn forget_rested(&mut self, key: &LimitKey) {
        if self.limits.is_rested(key, self.now) {
            self.limits.used.remove(key);
        }
    }

    pub(super) fn set_limit(&mut self, key: &LimitKey, policy: Option<&LimitPolicy>, woken: &mut Woken) {
        let concerned = self.keys_under(key);
        let were_full: BTreeSet<QueueName> = self.full_queues();
        for key in &concerned {
            self.forget_rested(key);
        }
        match policy {
            Some(policy) => self.limits.policies.insert(key.clone(), policy.clone()),
            None => {
                if let Some(used) = self.limits.used.get_mut(key) {
                    used.end_rest();
                }
                self.limits.policies.remove(key)
            }
        };
        for key in &concerned {
            self.refill_key(key, woken);
        }
        for queue in were_full {
            self.wake_opened_queue(&queue, woken);
        }
    }

    /// The keys whose policy changes with that of `key`: itself, and if it is a class those without one of their own.
    fn keys_under(&self, key: &LimitKey) -> BTreeSet<LimitKey> {
        let used = self.limits.used.keys();
        let waited_at = self.lanes.lanes.keys().map(|lane| &lane.key);
        let of_class = used.chain(waited_at).filter(|other| {
            other.class().as_ref() == Some(key) && !self.limits.policies.contains_key(*other)
        });
        of_class.cloned().chain(std::iter::once(key.clone())).collect()
    }

    fn full_queues(&self) -> BTreeSet<QueueName> {
        self.queues.keys().filter(|queue| self.is_full(&LimitKey::of_queue(queue))).cloned().collect()
    }

    /// Reports the offered jobs of a queue whose own key was full, if it has room now, or else when it opens by time.
    pub(super) fn wake_opened_queue(&self, queue: &QueueName, woken: &mut Woken) {
        match self.room(&LimitKey::of_queue(queue)) {
            Room::For(_) => self.wake_queue(queue, woken),
            Room::Full(blocked) => blocked.until().into_iter().for_each(|at| woken.job(at)),
        }
    }

    /// Reports the offered jobs of a queue.
    pub(super) fn wake_queue(&self, queue: &QueueName, woken: &mut Woken) {
        woken.ready.extend(self.lanes.kinds_offered(queue).map(|kind| (queue.clone(), kind.clone())));
    }
}
