//! What waits for a turn: messages, alarms, entries of logs; and when the next of it is due by itself.

use crate::db::at_most;
use crate::error::Outcome;
use crate::jobs::schedule;
use crate::messages::{self, message_columns};
use crate::prune;
use crate::reader::Snapshot;
use abide_core::event::{DueAlarm, Message, MessageId};
use abide_core::log::{LogEntry, PageBytes, Seq};
use abide_core::name::AlarmName;
use abide_core::object::{Incarnation, ObjectKey, Version};
use abide_core::time::{Time, earliest};
use abide_store::read::{AlarmCursor, FollowPage, LogPage, Timers};

/// The first inbox of all; the next one of the same kind; the first one of a later kind. Each is one seek, however many
/// messages wait in an inbox.
const FIRST_INBOX: &str =
    "SELECT to_kind, to_name FROM messages WHERE due_at IS NULL ORDER BY to_kind, to_name LIMIT 1";
const NEXT_INBOX: &str =
    "SELECT to_kind, to_name FROM messages WHERE due_at IS NULL AND to_kind = ?1 AND to_name > ?2
     ORDER BY to_name LIMIT 1";
const NEXT_INBOX_KIND: &str = "SELECT to_kind, to_name FROM messages WHERE due_at IS NULL AND to_kind > ?1
     ORDER BY to_kind, to_name LIMIT 1";

const IN_ORDER: &str = concat!(
    "SELECT ",
    message_columns!(),
    " FROM messages WHERE due_at IS NULL AND to_kind = ?1 AND to_name = ?2 AND id > ?3 ORDER BY id LIMIT ?4"
);
const PUT_OFF: &str =
    concat!("SELECT ", message_columns!(), " FROM messages WHERE due_at <= ?1 ORDER BY due_at, id LIMIT ?2");

const ALARMS: &str =
    "SELECT o.kind, o.name, a.incarnation, a.name, a.at, a.due_at, a.set_version, a.failures, a.crashes
     FROM alarms a CROSS JOIN objects o ON o.incarnation = a.incarnation
     WHERE a.due_at <= ?1 AND (a.due_at, a.incarnation, a.name) > (?2, ?3, ?4)
     ORDER BY a.due_at, a.incarnation, a.name LIMIT ?5";

const FIRST_BEHIND: &str =
    "SELECT kind, name FROM follows WHERE behind = 1 AND stalled = 0 AND coalesce(due_at, ?1) <= ?1
     ORDER BY kind, name LIMIT 1";
const NEXT_BEHIND: &str = "SELECT kind, name FROM follows
     WHERE behind = 1 AND stalled = 0 AND coalesce(due_at, ?1) <= ?1 AND kind = ?2 AND name > ?3
     ORDER BY name LIMIT 1";
const NEXT_BEHIND_KIND: &str = "SELECT kind, name FROM follows
     WHERE behind = 1 AND stalled = 0 AND coalesce(due_at, ?1) <= ?1 AND kind > ?2
     ORDER BY kind, name LIMIT 1";

const FOLLOWS: &str = "SELECT f.source_kind, f.source_name, f.cursor, f.failures, f.crashes, s.incarnation
     FROM follows f CROSS JOIN objects s ON s.kind = f.source_kind AND s.name = f.source_name
     WHERE f.incarnation = ?1 AND f.behind = 1 AND f.stalled = 0 AND coalesce(f.due_at, ?2) <= ?2
     ORDER BY f.source_kind, f.source_name";
const LOG: &str = "SELECT seq, at, value FROM log WHERE incarnation = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

const FIRST_ALARM: &str = "SELECT due_at FROM alarms WHERE due_at > ?1 ORDER BY due_at LIMIT 1";
const FIRST_MESSAGE: &str = "SELECT due_at FROM messages WHERE due_at > ?1 ORDER BY due_at LIMIT 1";
const FIRST_FOLLOW: &str =
    "SELECT due_at FROM follows WHERE due_at > ?1 AND behind = 1 AND stalled = 0 ORDER BY due_at LIMIT 1";
const FIRST_OPENING: &str = "SELECT wake_at FROM limits WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1";
const FIRST_LEASE: &str =
    "SELECT lease_expires_at FROM jobs WHERE lease_expires_at IS NOT NULL ORDER BY lease_expires_at LIMIT 1";
const UNSWEPT: &str = "SELECT EXISTS (SELECT 1 FROM deleted_objects)";

impl Snapshot<'_> {
    pub(crate) fn inboxes(&self, after: Option<&ObjectKey>, limit: usize) -> Outcome<Vec<ObjectKey>> {
        self.hop(after, limit, |last| match last {
            None => self.db.one(FIRST_INBOX, [], |row| row.object(0)),
            Some(ObjectKey { kind, name }) => {
                match self.db.one(NEXT_INBOX, (kind.as_str(), name.as_str()), |row| row.object(0))? {
                    Some(next) => Ok(Some(next)),
                    None => self.db.one(NEXT_INBOX_KIND, [kind.as_str()], |row| row.object(0)),
                }
            }
        })
    }

    pub(crate) fn followers(&self, after: Option<&ObjectKey>, limit: usize) -> Outcome<Vec<ObjectKey>> {
        let now = self.now.0;
        self.hop(after, limit, |last| match last {
            None => self.db.one(FIRST_BEHIND, [now], |row| row.object(0)),
            Some(ObjectKey { kind, name }) => {
                match self.db.one(NEXT_BEHIND, (now, kind.as_str(), name.as_str()), |row| row.object(0))? {
                    Some(next) => Ok(Some(next)),
                    None => self.db.one(NEXT_BEHIND_KIND, (now, kind.as_str()), |row| row.object(0)),
                }
            }
        })
    }

    /// From one object to the next, without looking at what lies between.
    fn hop(
        &self,
        after: Option<&ObjectKey>,
        limit: usize,
        next: impl Fn(Option<&ObjectKey>) -> Outcome<Option<ObjectKey>>,
    ) -> Outcome<Vec<ObjectKey>> {
        let mut found: Vec<ObjectKey> = Vec::new();
        while found.len() < limit {
            match next(found.last().or(after))? {
                Some(object) => found.push(object),
                None => break,
            }
        }
        Ok(found)
    }

    pub(crate) fn messages(
        &self,
        to: &ObjectKey,
        after: Option<MessageId>,
        limit: usize,
    ) -> Outcome<Vec<Message>> {
        let after = after.map_or(i64::MIN, |after| after.0);
        self.db.all(IN_ORDER, (to.kind.as_str(), to.name.as_str(), after, at_most(limit)), messages::decode)
    }

    pub(crate) fn messages_due(&self, limit: usize) -> Outcome<Vec<Message>> {
        self.db.all(PUT_OFF, (self.now.0, at_most(limit)), messages::decode)
    }

    pub(crate) fn alarms_due(&self, after: Option<&AlarmCursor>, limit: usize) -> Outcome<Vec<DueAlarm>> {
        let (due_at, life, name) = match after {
            Some(after) => (after.due_at.0, after.incarnation.0, after.name.as_str()),
            None => (i64::MIN, i64::MIN, ""),
        };
        self.db.all(ALARMS, (self.now.0, due_at, life, name, at_most(limit)), |row| {
            Ok(DueAlarm {
                object: row.object(0)?,
                incarnation: row.incarnation(2)?,
                name: AlarmName::trusted(row.text(3)?),
                at: row.time(4)?,
                due_at: row.time(5)?,
                set_version: Version(row.int(6)?),
                failures: row.count(7)?,
                crashes: row.count(8)?,
            })
        })
    }

    pub(crate) fn entries(&self, follower: &ObjectKey, limit: usize) -> Outcome<Vec<FollowPage>> {
        let Some(header) = self.header(follower)? else { return Ok(Vec::new()) };
        let incarnation = header.incarnation;
        let mut pages = self.db.all(FOLLOWS, (incarnation.0, self.now.0), |row| {
            Ok(FollowPage {
                incarnation,
                source: row.object(0)?,
                source_incarnation: row.incarnation(5)?,
                cursor: Seq(row.int(2)?),
                entries: Vec::new(),
                failures: row.count(3)?,
                crashes: row.count(4)?,
            })
        })?;
        for page in &mut pages {
            page.entries = self.log_after(page.source_incarnation, page.cursor, limit)?;
        }
        Ok(pages)
    }

    pub(crate) fn log_page(&self, object: &ObjectKey, after: Seq, limit: usize) -> Outcome<Option<LogPage>> {
        let Some(header) = self.header(object)? else { return Ok(None) };
        let entries = self.log_after(header.incarnation, after, limit)?;
        Ok(Some(LogPage { incarnation: header.incarnation, head: header.log_head, entries }))
    }

    fn log_after(&self, life: Incarnation, after: Seq, limit: usize) -> Outcome<Vec<LogEntry>> {
        let mut page = PageBytes::default();
        self.db.until(LOG, (life.0, after.0, at_most(limit)), |row| {
            let entry = LogEntry { seq: Seq(row.int(0)?), at: row.time(1)?, value: row.json(2)? };
            Ok(page.takes(&entry).then_some(entry))
        })
    }

    pub(crate) fn timers(&self, after: Time) -> Outcome<Timers> {
        let first = |sql: &'static str| -> Outcome<Option<Time>> { Ok(self.db.number(sql, [])?.map(Time)) };
        let later =
            |sql: &'static str| -> Outcome<Option<Time>> { Ok(self.db.number(sql, [after.0])?.map(Time)) };
        let scheduled_at = schedule::streams(&self.db)?.into_iter().map(|(_, at)| at).min();
        Ok(Timers {
            alarm_at: later(FIRST_ALARM)?,
            message_at: earliest(later(FIRST_MESSAGE)?, later(FIRST_FOLLOW)?),
            job_at: earliest(scheduled_at, first(FIRST_OPENING)?),
            lease_at: first(FIRST_LEASE)?,
            prune_at: prune::first_end_of_retention(&self.db)?,
            sweep: self.db.number(UNSWEPT, [])? == Some(1),
        })
    }
}
