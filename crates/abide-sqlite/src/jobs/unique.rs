//! Unique keys: they keep a second job out, and outlive the first.

use crate::db::at_most;
use crate::error::{Fault, Outcome};
use crate::objects::owner_scope;
use crate::writer::Writer;
use abide_core::job::{JobId, Owner};
use abide_core::name::{QueueName, UniqueKey};
use abide_core::object::Incarnation;

const TAKE: &str =
    "INSERT INTO unique_keys (scope, key, job, queue) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
const HOLDER: &str = "SELECT job FROM unique_keys WHERE scope = ?1 AND key = ?2";
const OUTLIVE: &str = "UPDATE unique_keys SET ended_at = ?3 WHERE scope = ?1 AND key = ?2";
const FORGET: &str = "DELETE FROM unique_keys WHERE scope = ?1 AND key = ?2";
const OF_SCOPE: &str = "SELECT key, job FROM unique_keys WHERE scope = ?1 ORDER BY key LIMIT ?2";
const LET_GO: &str = "UPDATE jobs SET key_scope = NULL WHERE id = ?1";

/// Where a key is unique: among the jobs of its owner's life, or else of its queue.
pub(crate) fn scope(queue: &QueueName, owner: Option<&Owner>) -> String {
    match owner {
        Some(owner) => owner_scope(owner.incarnation),
        None => format!("queue:{queue}"),
    }
}

impl Writer<'_> {
    /// Takes a key for a job; the job that has it already, if one has.
    pub(crate) fn take_unique(
        &self,
        scope: &str,
        key: &UniqueKey,
        job: JobId,
        queue: &QueueName,
    ) -> Outcome<Option<JobId>> {
        if self.db.run(TAKE, (scope, key.as_str(), job.0, queue.as_str()))? == 1 {
            return Ok(None);
        }
        let holder = self.db.number(HOLDER, (scope, key.as_str()))?;
        holder.map(|job| Some(JobId(job))).ok_or_else(|| Fault::Damaged("a unique key has no job".into()))
    }

    /// The job of a living object that has a key.
    pub(crate) fn owned_by_key(&self, life: Incarnation, key: &UniqueKey) -> Outcome<Option<JobId>> {
        Ok(self.db.number(HOLDER, (owner_scope(life), key.as_str()))?.map(JobId))
    }

    /// The job of a key that is kept is removed: the key remembers when it had ended.
    pub(crate) fn outlive(&self, scope: &str, key: &str, ended_at: i64) -> Outcome<()> {
        self.db.run(OUTLIVE, (scope, key, ended_at)).map(drop)
    }

    /// Forgets the key of a job that is still there.
    pub(crate) fn forget_key_of(&self, job: JobId, scope: &str, key: &str) -> Outcome<()> {
        self.db.run(LET_GO, [job.0])?;
        self.db.run(FORGET, (scope, key)).map(drop)
    }

    /// Removes the keys of a life that is over, at most `max` of them.
    pub(crate) fn sweep_keys(&self, scope: &str, max: usize) -> Outcome<usize> {
        let keys =
            self.db.all(OF_SCOPE, (scope, at_most(max)), |row| Ok((row.text(0)?.to_owned(), row.int(1)?)))?;
        for (key, job) in &keys {
            self.forget_key_of(JobId(*job), scope, key)?;
        }
        Ok(keys.len())
    }
}
