//! Queues: their policies and how many jobs they have in each state, kept in memory and written once per batch.

use crate::db::{Columns, Db};
use crate::error::Outcome;
use crate::writer::Writer;
use abide_core::job::JobState;
use abide_core::json::Json;
use abide_core::name::{LimitKey, QueueName};
use abide_core::queue::{QueueCounts, QueuePolicy};
use std::collections::BTreeMap;

/// Every queue.
pub(crate) struct Queues {
    held: BTreeMap<QueueName, Queue>,
}

/// One queue.
pub(crate) struct Queue {
    pub(crate) policy: QueuePolicy,
    pub(crate) counts: QueueCounts,
    /// The key of its own concurrency and rate.
    pub(crate) own_key: LimitKey,
    is_changed: bool,
}

const LOAD: &str =
    "SELECT queue, policy, scheduled, ready, running, done, skipped, failed, cancelled FROM queues
     ORDER BY queue";
const SAVE: &str = "INSERT OR REPLACE INTO queues
         (queue, policy, scheduled, ready, running, done, skipped, failed, cancelled)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

/// All queues as they are stored, ordered by name.
pub(crate) fn load(db: &Db<'_>) -> Outcome<Vec<(QueueName, QueuePolicy, QueueCounts)>> {
    db.all(LOAD, [], decode)
}

fn decode(row: Columns<'_>) -> Outcome<(QueueName, QueuePolicy, QueueCounts)> {
    let count = |at| row.int(at).map(i64::unsigned_abs);
    let counts = QueueCounts {
        scheduled: count(2)?,
        ready: count(3)?,
        running: count(4)?,
        done: count(5)?,
        skipped: count(6)?,
        failed: count(7)?,
        cancelled: count(8)?,
    };
    Ok((QueueName::trusted(row.text(0)?), serde_json::from_str(row.text(1)?)?, counts))
}

impl Queue {
    fn new(name: &QueueName, policy: QueuePolicy, counts: QueueCounts) -> Queue {
        Queue { policy, counts, own_key: LimitKey::of_queue(name), is_changed: false }
    }
}

impl Queues {
    pub(crate) fn load(db: &Db<'_>) -> Outcome<Queues> {
        let held = load(db)?.into_iter().map(|(name, policy, counts)| {
            let queue = Queue::new(&name, policy, counts);
            (name, queue)
        });
        Ok(Queues { held: held.collect() })
    }

    pub(crate) fn get(&self, name: &QueueName) -> Option<&Queue> {
        self.held.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &QueueName> {
        self.held.keys()
    }

    /// A queue that is about to change: it exists from now on.
    pub(crate) fn change(&mut self, name: &QueueName) -> &mut Queue {
        // Two lookups for a queue that is there, so that its name is not cloned each time.
        if !self.held.contains_key(name) {
            let new = Queue::new(name, QueuePolicy::default(), QueueCounts::default());
            self.held.insert(name.clone(), new);
        }
        let queue = self.held.get_mut(name).expect("put there if it was not");
        queue.is_changed = true;
        queue
    }

    /// A job went from one state to another.
    pub(crate) fn count_move(&mut self, name: &QueueName, from: JobState, to: JobState) {
        let counts = &mut self.change(name).counts;
        let left = counts.of_mut(from);
        *left = left.saturating_sub(1);
        *counts.of_mut(to) += 1;
    }

    /// One more job in a state.
    pub(crate) fn add(&mut self, name: &QueueName, state: JobState) {
        *self.change(name).counts.of_mut(state) += 1;
    }

    /// One job fewer in a state.
    pub(crate) fn subtract(&mut self, name: &QueueName, state: JobState) {
        let count = self.change(name).counts.of_mut(state);
        *count = count.saturating_sub(1);
    }

    pub(crate) fn flush(&mut self, db: &Db<'_>) -> Outcome<()> {
        for (name, queue) in self.held.iter_mut().filter(|(_, queue)| queue.is_changed) {
            let Queue { policy, counts, .. } = queue;
            let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
            db.run(
                SAVE,
                (
                    name.as_str(),
                    Json::encode(policy)?.as_str(),
                    count(counts.scheduled),
                    count(counts.ready),
                    count(counts.running),
                    count(counts.done),
                    count(counts.skipped),
                    count(counts.failed),
                    count(counts.cancelled),
                ),
            )?;
            queue.is_changed = false;
        }
        Ok(())
    }
}

impl Writer<'_> {
    pub(crate) fn set_queue(&mut self, name: &QueueName, policy: &QueuePolicy) -> Outcome<()> {
        let queue = self.held.queues.change(name);
        let was_paused = std::mem::replace(&mut queue.policy, policy.clone()).paused;
        if was_paused && !policy.paused {
            self.wake_queue(name)?;
        }
        if let Some(at) = self.first_end_of_retention_in(name)? {
            self.woken.prune(at);
        }
        Ok(())
    }

    pub(crate) fn set_paused(&mut self, name: &QueueName, paused: bool) -> Outcome<()> {
        let queue = self.held.queues.change(name);
        let was_paused = std::mem::replace(&mut queue.policy.paused, paused);
        if was_paused && !paused { self.wake_queue(name) } else { Ok(()) }
    }

    pub(crate) fn is_paused(&self, name: &QueueName) -> bool {
        self.held.queues.get(name).is_some_and(|queue| queue.policy.paused)
    }

    /// The key of a queue's own concurrency and rate.
    pub(crate) fn own_key(&self, name: &QueueName) -> LimitKey {
        match self.held.queues.get(name) {
            Some(queue) => queue.own_key.clone(),
            None => LimitKey::of_queue(name),
        }
    }
}
