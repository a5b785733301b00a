//! Policies: set for a key or for all keys of a class.

use crate::db::at_most;
use crate::error::Outcome;
use crate::writer::Writer;
use abide_core::json::Json;
use abide_core::limit::{KeyState, LimitPolicy};
use abide_core::name::{LimitKey, QueueName};
use std::collections::BTreeSet;
use std::sync::Arc;

const SET: &str = "INSERT OR REPLACE INTO limit_policies (key, policy) VALUES (?1, ?2)";
const REMOVE: &str = "DELETE FROM limit_policies WHERE key = ?1";
const OF_CLASS: &str = "SELECT key FROM limits WHERE key >= ?1 AND key < ?2";
const RESTED: &str = "SELECT key FROM limits WHERE rested_at <= ?1 ORDER BY rested_at LIMIT ?2";

impl Writer<'_> {
    pub(crate) fn set_limit(&mut self, key: &LimitKey, policy: Option<&LimitPolicy>) -> Outcome<()> {
        // Looking at queues may bring keys into memory, which then have to hear of the policy.
        let were_full = self.full_queues()?;
        let concerned = self.keys_under(key)?;
        for key in &concerned {
            self.forget_rested(key)?;
        }
        let limits = &mut self.held.limits;
        match policy {
            Some(policy) => {
                limits.policies.insert(key.clone(), Arc::new(policy.clone()));
                self.db.run(SET, (key.as_str(), Json::encode(policy)?.as_str()))?;
            }
            None => {
                limits.policies.remove(key);
                limits.change(&self.db, key)?.used.end_rest();
                self.db.run(REMOVE, [key.as_str()])?;
            }
        }
        for key in &concerned {
            let policy = self.held.limits.policy(key);
            self.held.limits.change(&self.db, key)?.policy = policy;
            self.refill_key(key)?;
        }
        for queue in were_full {
            self.wake_opened_queue(&queue)?;
        }
        Ok(())
    }

    /// The keys whose policy changes with that of `key`: itself, and if it is a class those without one of their own.
    fn keys_under(&mut self, key: &LimitKey) -> Outcome<BTreeSet<LimitKey>> {
        let mut under = BTreeSet::from([key.clone()]);
        if let Some(class) = key.as_str().strip_suffix(":*").filter(|class| !class.contains(':')) {
            let stored = self.db.all(OF_CLASS, (format!("{class}:"), format!("{class};")), |row| {
                Ok(LimitKey::trusted(row.text(0)?))
            })?;
            let limits = &self.held.limits;
            let held = limits.keys.keys().cloned();
            under.extend(
                held.chain(stored).filter(|other| {
                    other.class().as_ref() == Some(key) && !limits.policies.contains_key(other)
                }),
            );
        }
        Ok(under)
    }

    /// What a key has used does not count any more under another policy if it was rested under this one.
    fn forget_rested(&mut self, key: &LimitKey) -> Outcome<()> {
        let now = self.now;
        let key = self.held.limits.change(&self.db, key)?;
        if key.policy.is_rested(&key.used, now) {
            key.used = KeyState::default();
        }
        Ok(())
    }

    fn full_queues(&mut self) -> Outcome<Vec<QueueName>> {
        let mut full = Vec::new();
        for queue in self.held.queues.names().cloned().collect::<Vec<_>>() {
            let own_key = self.own_key(&queue);
            if self.is_full(&own_key)? {
                full.push(queue);
            }
        }
        Ok(full)
    }

    /// Removes the rows of keys of which nothing needs to be remembered any more, at most `max` of them.
    pub(crate) fn forget_rested_keys(&mut self, max: usize) -> Outcome<()> {
        let rested =
            self.db.all(RESTED, (self.now.0, at_most(max)), |row| Ok(LimitKey::trusted(row.text(0)?)))?;
        for key in rested {
            self.held.limits.change(&self.db, &key)?;
        }
        Ok(())
    }
}
