//! Policies of keys and classes, and of the keys used lately what they have used and who waits for them. Kept in memory,
//! and written once per batch for each key that changed.

use crate::db::{Columns, Db};
use crate::error::Outcome;
use crate::jobs::job::Stream;
use abide_core::json::Json;
use abide_core::lane::Lane;
use abide_core::limit::{Bucket, KeyState, LimitPolicy};
use abide_core::name::{JobKind, LimitKey, QueueName};
use abide_core::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Keys held in memory at most after a batch.
const HELD_KEYS: usize = 50_000;

/// Every policy, and the keys that were used lately.
pub(crate) struct Limits {
    /// Of keys and of classes (`host:*`).
    pub(super) policies: BTreeMap<LimitKey, Arc<LimitPolicy>>,
    unlimited: Arc<LimitPolicy>,
    pub(super) keys: BTreeMap<LimitKey, Key>,
    changed: Vec<LimitKey>,
    /// When keys open under which jobs are parked and which time alone opens.
    pub(super) wakes: BTreeSet<(Time, LimitKey)>,
}

/// One key.
pub(crate) struct Key {
    pub(super) policy: Arc<LimitPolicy>,
    pub(super) used: KeyState,
    pub(crate) lanes: BTreeMap<Stream, Lane>,
    pub(super) wake_at: Option<Time>,
    is_stored: bool,
    is_changed: bool,
}

/// One lane of a key as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct StoredLane {
    queue: QueueName,
    kind: JobKind,
    offered: u64,
    parked: u64,
}

const POLICIES: &str = "SELECT key, policy FROM limit_policies";
const WAKES: &str = "SELECT wake_at, key FROM limits WHERE wake_at IS NOT NULL";
const LOAD: &str = "SELECT in_use, buckets, cooldown_until, lanes, wake_at FROM limits WHERE key = ?1";
const SAVE: &str =
    "INSERT INTO limits (key, in_use, waiting, buckets, lanes, cooldown_until, wake_at, rested_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
     ON CONFLICT (key) DO UPDATE SET in_use = ?2, waiting = ?3, buckets = ?4, lanes = ?5, cooldown_until = ?6,
         wake_at = ?7, rested_at = ?8";
const REMOVE: &str = "DELETE FROM limits WHERE key = ?1";

/// What a key has used and how its lanes stand, from `in_use, buckets, cooldown_until, lanes`.
pub(crate) fn decode(row: Columns<'_>) -> Outcome<(KeyState, BTreeMap<Stream, Lane>)> {
    let used = KeyState {
        in_use: row.count(0)?,
        buckets: serde_json::from_str(row.text(1)?)?,
        cooldown_until: row.opt_time(2)?,
    };
    let lanes: Vec<StoredLane> = serde_json::from_str(row.text(3)?)?;
    let lane =
        |lane: StoredLane| ((lane.queue, lane.kind), Lane { offered: lane.offered, parked: lane.parked });
    Ok((used, lanes.into_iter().map(lane).collect()))
}

impl Key {
    pub(super) fn waiting(&self) -> u64 {
        self.lanes.values().map(|lane| lane.parked).sum()
    }

    fn is_idle(&self, now: Time) -> bool {
        self.lanes.is_empty() && self.policy.is_rested(&self.used, now)
    }

    /// When nothing of an unused key needs to be remembered any more, at the latest.
    fn rested_at(&self) -> Option<Time> {
        if self.used.in_use > 0 || !self.lanes.is_empty() {
            return None;
        }
        let full_at = |bucket: &Bucket| {
            let starts = i64::from(bucket.rate.starts.max(1));
            let burst_ms = i64::from(self.policy.burst).saturating_mul(bucket.rate.window_ms) / starts;
            bucket.at.plus_ms(bucket.rate.window_ms).plus_ms(burst_ms).plus_ms(1)
        };
        let full_at = self.used.buckets.iter().map(full_at).max();
        full_at.max(self.used.cooldown_until).or(Some(Time::ZERO))
    }
}

impl Limits {
    pub(crate) fn load(db: &Db<'_>) -> Outcome<Limits> {
        let policies = db.all(POLICIES, [], |row| {
            Ok((LimitKey::trusted(row.text(0)?), Arc::new(serde_json::from_str(row.text(1)?)?)))
        })?;
        let wakes = db.all(WAKES, [], |row| Ok((row.time(0)?, LimitKey::trusted(row.text(1)?))))?;
        Ok(Limits {
            policies: policies.into_iter().collect(),
            unlimited: Arc::default(),
            keys: BTreeMap::new(),
            changed: Vec::new(),
            wakes: wakes.into_iter().collect(),
        })
    }

    /// The policy that applies to a key: its own, its class's, or one that allows everything.
    pub(super) fn policy(&self, key: &LimitKey) -> Arc<LimitPolicy> {
        let own = self.policies.get(key);
        let found = own.or_else(|| key.class().and_then(|class| self.policies.get(&class)));
        Arc::clone(found.unwrap_or(&self.unlimited))
    }

    pub(super) fn key(&mut self, db: &Db<'_>, key: &LimitKey) -> Outcome<&mut Key> {
        // Two lookups for a key that is there, so that its name is not cloned each time.
        if !self.keys.contains_key(key) {
            let stored = db.one(LOAD, [key.as_str()], |row| Ok((decode(row)?, row.opt_time(4)?)))?;
            let is_stored = stored.is_some();
            let ((used, lanes), wake_at) = stored.unwrap_or_default();
            let new = Key { policy: self.policy(key), used, lanes, wake_at, is_stored, is_changed: false };
            self.keys.insert(key.clone(), new);
        }
        Ok(self.keys.get_mut(key).expect("put there if it was not"))
    }

    pub(super) fn change(&mut self, db: &Db<'_>, key: &LimitKey) -> Outcome<&mut Key> {
        if !self.key(db, key)?.is_changed {
            self.changed.push(key.clone());
        }
        let key = self.key(db, key)?;
        key.is_changed = true;
        Ok(key)
    }

    /// The first keys that were to open by `now`.
    pub(crate) fn to_open(&self, now: Time, max: usize) -> Vec<LimitKey> {
        self.wakes.iter().take_while(|(at, _)| *at <= now).take(max).map(|(_, key)| key.clone()).collect()
    }

    /// The first opening of a key under which jobs are parked.
    pub(crate) fn first_opening(&self) -> Option<Time> {
        self.wakes.first().map(|(at, _)| *at)
    }

    pub(crate) fn flush(&mut self, db: &Db<'_>, now: Time) -> Outcome<()> {
        for name in self.changed.drain(..) {
            let Some(key) = self.keys.get_mut(&name) else { continue };
            key.is_changed = false;
            if key.is_idle(now) {
                if key.is_stored {
                    db.run(REMOVE, [name.as_str()])?;
                }
                self.keys.remove(&name);
            } else {
                save(db, &name, key)?;
                key.is_stored = true;
            }
        }
        if self.keys.len() > HELD_KEYS {
            self.keys.clear();
        }
        Ok(())
    }
}

fn save(db: &Db<'_>, name: &LimitKey, key: &Key) -> Outcome<()> {
    let lane = |((queue, kind), lane): (&Stream, &Lane)| StoredLane {
        queue: queue.clone(),
        kind: kind.clone(),
        offered: lane.offered,
        parked: lane.parked,
    };
    let lanes: Vec<StoredLane> = key.lanes.iter().map(lane).collect();
    db.run(
        SAVE,
        (
            name.as_str(),
            key.used.in_use,
            i64::try_from(key.waiting()).unwrap_or(i64::MAX),
            Json::encode(&key.used.buckets)?.as_str(),
            Json::encode(&lanes)?.as_str(),
            key.used.cooldown_until.map(|at| at.0),
            key.wake_at.map(|at| at.0),
            key.rested_at().map(|at| at.0),
        ),
    )
    .map(drop)
}
