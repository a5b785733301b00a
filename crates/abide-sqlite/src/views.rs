//! What people see: objects, tickets, dead letters, queues, limits.

use crate::db::{Columns, at_most};
use crate::dead::{self, dead_columns};
use crate::error::Outcome;
use crate::jobs::job::Stream;
use crate::limits;
use crate::queues;
use crate::reader::Snapshot;
use abide_core::dead::{DeadId, DeadLetter};
use abide_core::lane::Lane;
use abide_core::limit::{LimitPolicy, Room};
use abide_core::limits::{PAGE_ITEMS, REPLY_KEPT_MS};
use abide_core::log::Seq;
use abide_core::name::{AlarmName, Kind, LimitKey};
use abide_core::object::{ObjectKey, Version};
use abide_core::ticket::Ticket;
use abide_store::view::{LimitView, ObjectView, QueueView, TicketView};
use std::collections::BTreeMap;

const OBJECTS_AFTER: &str =
    "SELECT kind, name, incarnation, version, log_head, created_at, turn_at FROM objects
     WHERE (kind, name) > (?1, ?2) ORDER BY kind, name LIMIT ?3";
const OBJECTS_OF_KIND: &str =
    "SELECT kind, name, incarnation, version, log_head, created_at, turn_at FROM objects
     WHERE kind = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
/// Lives are numbered as they begin.
const NEWEST_OBJECTS: &str =
    "SELECT kind, name, incarnation, version, log_head, created_at, turn_at FROM objects
     WHERE incarnation > 0 ORDER BY incarnation DESC LIMIT ?1";
const OBJECT: &str = "SELECT kind, name, incarnation, version, log_head, created_at, turn_at FROM objects
     WHERE kind = ?1 AND name = ?2";
const ALARMS_OF: &str = "SELECT name, at FROM alarms WHERE incarnation = ?1 ORDER BY name LIMIT ?2";
const TICKET: &str = "SELECT resolution, resolved_at FROM tickets WHERE ticket = ?1";
const DEAD: &str =
    concat!("SELECT ", dead_columns!(), " FROM dead_letters WHERE id > ?1 ORDER BY id LIMIT ?2");

const POLICY: &str = "SELECT policy FROM limit_policies WHERE key = ?1";
const USED: &str = "SELECT in_use, buckets, cooldown_until, lanes FROM limits WHERE key = ?1";
/// The next key that has a policy of its own, and the next that has something to remember.
const NEXT_POLICY: &str = "SELECT key FROM limit_policies WHERE key > ?1 ORDER BY key LIMIT 1";
const NEXT_USED: &str = "SELECT key FROM limits WHERE key > ?1 ORDER BY key LIMIT 1";

/// What is known of a limit key.
pub(crate) struct KeyNow {
    pub(crate) own_policy: bool,
    pub(crate) policy: Option<LimitPolicy>,
    pub(crate) in_use: u32,
    pub(crate) lanes: BTreeMap<Stream, Lane>,
    pub(crate) room: Room,
}

impl Snapshot<'_> {
    pub(crate) fn objects(
        &self,
        kind: Option<&Kind>,
        after: Option<&ObjectKey>,
        limit: usize,
    ) -> Outcome<Vec<ObjectView>> {
        match (kind, after) {
            (None, None) => self.db.all(OBJECTS_AFTER, ("", "", at_most(limit)), decode_object),
            (None, Some(ObjectKey { kind, name })) => {
                self.db.all(OBJECTS_AFTER, (kind.as_str(), name.as_str(), at_most(limit)), decode_object)
            }
            (Some(kind), None) => {
                self.db.all(OBJECTS_OF_KIND, (kind.as_str(), "", at_most(limit)), decode_object)
            }
            (Some(kind), Some(after)) if after.kind > *kind => Ok(Vec::new()),
            (Some(kind), Some(after)) => {
                let name = if after.kind == *kind { after.name.as_str() } else { "" };
                self.db.all(OBJECTS_OF_KIND, (kind.as_str(), name, at_most(limit)), decode_object)
            }
        }
    }

    pub(crate) fn newest_objects(&self, limit: usize) -> Outcome<Vec<ObjectView>> {
        self.db.all(NEWEST_OBJECTS, [at_most(limit)], decode_object)
    }

    pub(crate) fn object(&self, key: &ObjectKey) -> Outcome<Option<ObjectView>> {
        let found = self.db.one(OBJECT, (key.kind.as_str(), key.name.as_str()), decode_object)?;
        let Some(view) = found else { return Ok(None) };
        let alarms = self.db.all(ALARMS_OF, (view.incarnation.0, at_most(PAGE_ITEMS)), |row| {
            Ok((AlarmName::trusted(row.text(0)?), row.time(1)?))
        })?;
        Ok(Some(ObjectView { alarms, ..view }))
    }

    pub(crate) fn ticket(&self, ticket: &Ticket) -> Outcome<Option<TicketView>> {
        let found = self.db.one(TICKET, [ticket.as_str()], |row| {
            Ok(match row.opt_time(1)? {
                None => Some(TicketView::Open),
                Some(at) if at.plus_ms(REPLY_KEPT_MS) <= self.now => None,
                Some(_) => Some(TicketView::Resolved(serde_json::from_str(row.text(0)?)?)),
            })
        })?;
        Ok(found.flatten())
    }

    pub(crate) fn dead(&self, after: Option<DeadId>, limit: usize) -> Outcome<Vec<DeadLetter>> {
        let after = after.map_or(i64::MIN, |after| after.0);
        self.db.all(DEAD, (after, at_most(limit)), dead::decode)
    }

    pub(crate) fn queues(&self) -> Outcome<Vec<QueueView>> {
        let view = |(queue, policy, counts)| QueueView { queue, policy, counts };
        Ok(queues::load(&self.db)?.into_iter().map(view).collect())
    }

    pub(crate) fn limits(&self, after: Option<&LimitKey>, limit: usize) -> Outcome<Vec<LimitView>> {
        let mut views = Vec::new();
        let mut last = after.map_or(String::new(), |after| after.as_str().to_owned());
        while views.len() < limit {
            let next = |sql: &'static str| self.db.one(sql, [&last], |row| Ok(row.text(0)?.to_owned()));
            let key = match (next(NEXT_POLICY)?, next(NEXT_USED)?) {
                (Some(a), Some(b)) => a.min(b),
                (Some(key), None) | (None, Some(key)) => key,
                (None, None) => break,
            };
            last.clone_from(&key);
            let key = LimitKey::trusted(key);
            let now = self.key_now(&key)?;
            let blocked = now.room.blocked();
            let until = blocked.and_then(|blocked| blocked.until());
            let waiting = now.lanes.values().map(|lane| lane.parked).sum();
            if now.own_policy || now.in_use > 0 || waiting > 0 || until.is_some() {
                let KeyNow { policy, in_use, .. } = now;
                views.push(LimitView { key, policy, in_use, waiting, blocked, until });
            }
        }
        Ok(views)
    }

    pub(crate) fn key_now(&self, key: &LimitKey) -> Outcome<KeyNow> {
        let own = self.policy(key)?;
        let own_policy = own.is_some();
        let policy = match (own, key.class()) {
            (None, Some(class)) => self.policy(&class)?,
            (own, _) => own,
        };
        let used = self.db.one(USED, [key.as_str()], limits::decode)?;
        let (used, lanes) = used.unwrap_or_default();
        let room = match &policy {
            Some(policy) => policy.room(&used, self.now),
            None => LimitPolicy::default().room(&used, self.now),
        };
        Ok(KeyNow { own_policy, policy, in_use: used.in_use, lanes, room })
    }

    fn policy(&self, key: &LimitKey) -> Outcome<Option<LimitPolicy>> {
        self.db.one(POLICY, [key.as_str()], |row| Ok(serde_json::from_str(row.text(0)?)?))
    }
}

fn decode_object(row: Columns<'_>) -> Outcome<ObjectView> {
    Ok(ObjectView {
        object: row.object(0)?,
        incarnation: row.incarnation(2)?,
        version: Version(row.int(3)?),
        log_head: Seq(row.int(4)?),
        created_at: row.time(5)?,
        updated_at: row.time(6)?,
        alarms: Vec::new(),
    })
}
