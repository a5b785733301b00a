//! Follows: objects that consume the logs of others.

use crate::error::Outcome;
use crate::writer::Writer;
use abide_core::commit::FollowWrite;
use abide_core::log::Seq;
use abide_core::object::{Incarnation, ObjectKey};

const FOLLOW: &str = "INSERT INTO follows (incarnation, source_kind, source_name, kind, name, cursor, behind)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING";
const LEAVE: &str = "DELETE FROM follows WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3";
const CONSUME: &str =
    "UPDATE follows SET cursor = ?5, behind = ?6, failures = 0, crashes = 0, due_at = NULL, error = NULL
     WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3 AND cursor = ?4 AND stalled = 0";
/// Only those who are not marked yet: a log that grows while nobody reads it costs its followers nothing more.
const MARK: &str = "UPDATE follows SET behind = 1 WHERE source_kind = ?1 AND source_name = ?2 AND behind = 0 AND cursor < ?3";
const AWAKE: &str =
    "SELECT kind, name FROM follows
     WHERE source_kind = ?1 AND source_name = ?2 AND behind = 1 AND stalled = 0 AND coalesce(due_at, ?3) <= ?3";
const IS_AWAKE: &str = "SELECT 1 FROM follows
     WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3 AND behind = 1 AND stalled = 0
         AND coalesce(due_at, ?4) <= ?4";
const REMOVE_OF: &str = "DELETE FROM follows WHERE incarnation = ?1";
const RESET: &str = "UPDATE follows SET cursor = 0, behind = 0 WHERE source_kind = ?1 AND source_name = ?2";
const GO_ON: &str = "UPDATE follows SET stalled = 0, failures = 0, crashes = 0, due_at = NULL, error = NULL
     WHERE incarnation = ?1 AND source_kind = ?2 AND source_name = ?3 AND stalled = 1 RETURNING kind, name";

impl Writer<'_> {
    pub(crate) fn write_follow(
        &mut self,
        follower: &ObjectKey,
        life: Incarnation,
        write: &FollowWrite,
    ) -> Outcome<()> {
        match write {
            FollowWrite::Leave { source } => {
                self.db.run(LEAVE, (life.0, source.kind.as_str(), source.name.as_str())).map(drop)
            }
            FollowWrite::Follow { source, after } => {
                let head = self.find(source)?.map_or(Seq(0), |source| source.log_head);
                self.db.run(
                    FOLLOW,
                    (
                        life.0,
                        source.kind.as_str(),
                        source.name.as_str(),
                        follower.kind.as_str(),
                        follower.name.as_str(),
                        after.0,
                        head > *after,
                    ),
                )?;
                self.wake_follow(follower, life, source)
            }
        }
    }

    /// Moves a follow's cursor; whether it was where the turn read it.
    pub(crate) fn consume_entries(
        &mut self,
        life: Incarnation,
        source: &ObjectKey,
        source_life: Incarnation,
        from: Seq,
        to: Seq,
    ) -> Outcome<bool> {
        let Some(present) = self.find(source)?.filter(|present| present.incarnation == source_life) else {
            return Ok(false);
        };
        let behind = present.log_head > to;
        let (kind, name) = (source.kind.as_str(), source.name.as_str());
        Ok(self.db.run(CONSUME, (life.0, kind, name, from.0, to.0, behind))? == 1)
    }

    /// Reports a follower if it has entries to consume now.
    fn wake_follow(&mut self, follower: &ObjectKey, life: Incarnation, source: &ObjectKey) -> Outcome<()> {
        let awake =
            self.db.number(IS_AWAKE, (life.0, source.kind.as_str(), source.name.as_str(), self.now.0))?;
        if awake.is_some() {
            self.woken.followers.push(follower.clone());
        }
        Ok(())
    }

    /// Marks everybody who follows a log that grew up to `head`, and reports who has entries to consume now.
    pub(crate) fn wake_followers(&mut self, source: &ObjectKey, head: Seq) -> Outcome<()> {
        let (kind, name) = (source.kind.as_str(), source.name.as_str());
        self.db.run(MARK, (kind, name, head.0))?;
        let awake = self.db.all(AWAKE, (kind, name, self.now.0), |row| row.object(0))?;
        self.woken.followers.extend(awake);
        Ok(())
    }

    pub(crate) fn remove_follows_of(&self, life: Incarnation) -> Outcome<()> {
        self.db.run(REMOVE_OF, [life.0]).map(drop)
    }

    /// The source was deleted.
    pub(crate) fn reset_follows_of(&self, source: &ObjectKey) -> Outcome<()> {
        self.db.run(RESET, (source.kind.as_str(), source.name.as_str())).map(drop)
    }

    /// A follow that had stalled goes on.
    pub(crate) fn go_on_following(&mut self, life: Incarnation, source: &ObjectKey) -> Outcome<()> {
        let (kind, name) = (source.kind.as_str(), source.name.as_str());
        let follower = self.db.one(GO_ON, (life.0, kind, name), |row| row.object(0))?;
        match follower {
            Some(follower) => self.wake_follow(&follower, life, source),
            None => Ok(()),
        }
    }
}
