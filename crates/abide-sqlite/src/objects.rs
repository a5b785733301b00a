//! Objects: how they begin and move on, their rows and log, and the end of a life.

use crate::db::at_most;
use crate::error::Outcome;
use crate::headers::Present;
use crate::writer::Writer;
use abide_core::commit::Commit;
use abide_core::log::Seq;
use abide_core::object::{Incarnation, Life, ObjectKey, Version};
use abide_core::row::RowWrite;
use abide_store::write::Removed;

const CREATE: &str =
    "INSERT INTO objects (incarnation, kind, name, version, by, log_head, created_at, turn_at)
     VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?6)";
/// The fence and the new version in one statement; a commit that only consumes and puts rows needs no other.
const ADVANCE: &str = "UPDATE objects SET version = version + 1, by = ?6, turn_at = ?7
     WHERE incarnation = ?1 AND version = ?2 AND by = ?3 AND kind = ?4 AND name = ?5";
const ADVANCE_WITH_LOG: &str =
    "UPDATE objects SET version = version + 1, by = ?6, turn_at = ?7, log_head = log_head + ?8
     WHERE incarnation = ?1 AND version = ?2 AND by = ?3 AND kind = ?4 AND name = ?5 RETURNING log_head";
const DELETE: &str = "DELETE FROM objects WHERE incarnation = ?1";
const BURY: &str =
    "INSERT INTO deleted_objects (incarnation, kind, name, deleted_at) VALUES (?1, ?2, ?3, ?4)";
const PUT_ROW: &str =
    "INSERT OR REPLACE INTO \"rows\" (incarnation, key, schema, value) VALUES (?1, ?2, ?3, ?4)";
const DELETE_ROW: &str = "DELETE FROM \"rows\" WHERE incarnation = ?1 AND key = ?2";
const APPEND: &str = "INSERT INTO log (incarnation, seq, at, value) VALUES (?1, ?2, ?3, ?4)";

const UNSWEPT: &str = "SELECT incarnation FROM deleted_objects ORDER BY incarnation LIMIT 1";
const SWEPT: &str = "DELETE FROM deleted_objects WHERE incarnation = ?1";
const SWEEP_ROWS: &str = "DELETE FROM \"rows\" WHERE incarnation = ?1 AND key IN
         (SELECT key FROM \"rows\" WHERE incarnation = ?1 ORDER BY key LIMIT ?2)";
const SWEEP_LOG: &str = "DELETE FROM log WHERE incarnation = ?1 AND seq IN
         (SELECT seq FROM log WHERE incarnation = ?1 ORDER BY seq DESC LIMIT ?2)";
const LEFT: &str = "SELECT EXISTS (SELECT 1 FROM \"rows\" WHERE incarnation = ?1)
         OR EXISTS (SELECT 1 FROM log WHERE incarnation = ?1)
         OR EXISTS (SELECT 1 FROM unique_keys WHERE scope = ?2)";
const ANY_UNSWEPT: &str = "SELECT EXISTS (SELECT 1 FROM deleted_objects)";

impl Writer<'_> {
    pub(crate) fn create_object(&mut self, commit: &Commit) -> Outcome<Seq> {
        let log_head = Seq(commit.log.len() as i64);
        let object = &commit.object;
        let incarnation = commit.fence.incarnation();
        self.db.run(
            CREATE,
            (incarnation.0, object.kind.as_str(), object.name.as_str(), commit.by.0, log_head.0, commit.at.0),
        )?;
        let present = Present { incarnation, version: Version(1), by: commit.by, log_head };
        self.held.headers.put(object, present);
        Ok(log_head)
    }

    /// Moves an object to its next version; none if it is not where the fence says. The log's head now, if it grew.
    pub(crate) fn advance_object(
        &mut self,
        commit: &Commit,
        (life, version, by): (Incarnation, Version, Life),
    ) -> Outcome<Option<Seq>> {
        let (kind, name) = (commit.object.kind.as_str(), commit.object.name.as_str());
        let entries = commit.log.len() as i64;
        let head = if commit.log.is_empty() {
            let to = (life.0, version.0, by.0, kind, name, commit.by.0, commit.at.0);
            (self.db.run(ADVANCE, to)? == 1).then_some(Seq(0))
        } else {
            let to = (life.0, version.0, by.0, kind, name, commit.by.0, commit.at.0, entries);
            self.db.number(ADVANCE_WITH_LOG, to)?.map(Seq)
        };
        if head.is_some() {
            self.held.headers.change(&commit.object, |present| {
                present.version = version.next();
                present.by = commit.by;
                present.log_head.0 += entries;
            });
        }
        Ok(head)
    }

    pub(crate) fn write_rows(&self, life: Incarnation, writes: &[RowWrite]) -> Outcome<()> {
        for write in writes {
            match write {
                RowWrite::Put { key, row } => {
                    self.db.run(PUT_ROW, (life.0, key.as_str(), row.schema, row.value.as_str()))?
                }
                RowWrite::Delete { key } => self.db.run(DELETE_ROW, (life.0, key.as_str()))?,
            };
        }
        Ok(())
    }

    /// Appends a commit's entries, the last of which has the place `head`.
    pub(crate) fn append(&mut self, commit: &Commit, head: Seq) -> Outcome<()> {
        if commit.log.is_empty() {
            return Ok(());
        }
        let life = commit.fence.incarnation();
        let first = head.0 - commit.log.len() as i64 + 1;
        for (seq, value) in (first..).zip(&commit.log) {
            self.db.run(APPEND, (life.0, seq, commit.at.0, value.as_str()))?;
        }
        self.woken.logs.push((commit.object.clone(), life, head));
        self.wake_followers(&commit.object, head)
    }

    /// Ends a life: everything but its rows, its log and its unique keys goes at once.
    pub(crate) fn delete_object(&mut self, object: &ObjectKey, life: Incarnation) -> Outcome<()> {
        self.db.run(DELETE, [life.0])?;
        self.held.headers.remove(object);
        self.remove_alarms_of(life)?;
        self.remove_follows_of(life)?;
        self.drop_messages_bound_to(life)?;
        self.cancel_jobs_of(life)?;
        self.resolve_as_gone(life)?;
        self.reset_follows_of(object)?;
        self.db.run(BURY, (life.0, object.kind.as_str(), object.name.as_str(), self.now.0))?;
        self.woken.sweep = true;
        Ok(())
    }

    /// Removes rows, log entries and unique keys of deleted lives, at most `max` of them.
    pub(crate) fn sweep(&mut self, max: usize) -> Outcome<Removed> {
        let mut count = 0;
        while count < max {
            let Some(life) = self.db.number(UNSWEPT, [])? else { break };
            let scope = owner_scope(Incarnation(life));
            let left = max - count;
            let mut removed = self.db.run(SWEEP_ROWS, (life, at_most(left)))?;
            removed += self.db.run(SWEEP_LOG, (life, at_most(left - removed)))?;
            removed += self.sweep_keys(&scope, left - removed)?;
            count += removed;
            if removed < left || self.db.number(LEFT, (life, &scope))? == Some(0) {
                self.db.run(SWEPT, [life])?;
            }
        }
        Ok(Removed { count, more: self.db.number(ANY_UNSWEPT, [])? == Some(1) })
    }
}

/// Where the unique keys of an object's jobs are unique.
pub(crate) fn owner_scope(life: Incarnation) -> String {
    format!("owner:{}", life.0)
}
