//! What a turn wants of an object.

use crate::db::{Columns, at_most};
use crate::error::{Fault, Outcome};
use crate::reader::Snapshot;
use abide_core::commit::{KeyedReply, Reply};
use abide_core::limits::REPLY_KEPT_MS;
use abide_core::log::Seq;
use abide_core::name::IdempotencyKey;
use abide_core::object::{Incarnation, Life, ObjectKey, Version};
use abide_core::row::{Row, prefix_end};
use abide_core::ticket::Ticket;
use abide_core::time::Time;
use abide_store::read::{Got, Header, Load, Loaded, Want, first_key};
use rusqlite::types::Value;

const HEADER: &str =
    "SELECT incarnation, version, by, log_head, turn_at FROM objects WHERE kind = ?1 AND name = ?2";
const ROW: &str = "SELECT schema, value FROM \"rows\" WHERE incarnation = ?1 AND key = ?2";
const ALARM: &str = "SELECT at FROM alarms WHERE incarnation = ?1 AND name = ?2";
/// Text is less than a blob, so an empty blob is past all keys.
const SCAN: &str = "SELECT schema, value, key FROM \"rows\" WHERE incarnation = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4";
const REPLY: &str =
    "SELECT request, reply, ticket FROM replies WHERE kind = ?1 AND name = ?2 AND key = ?3 AND kept_at > ?4";

impl Snapshot<'_> {
    pub(crate) fn load(&self, load: &Load) -> Outcome<Loaded> {
        let header = self.header(&load.object)?;
        let life = header.map(|header| header.incarnation);
        let mut got = Vec::with_capacity(load.wants.len());
        for want in &load.wants {
            got.push(match life {
                Some(life) => self.get(life, want)?,
                None => nothing(want),
            });
        }
        let kept = match &load.reply_for {
            Some(key) => self.kept_reply(&load.object, key)?,
            None => None,
        };
        Ok(Loaded { header, got, kept })
    }

    pub(crate) fn header(&self, object: &ObjectKey) -> Outcome<Option<Header>> {
        self.db.one(HEADER, (object.kind.as_str(), object.name.as_str()), |row| {
            Ok(Header {
                incarnation: row.incarnation(0)?,
                version: Version(row.int(1)?),
                by: Life(row.count(2)?),
                log_head: Seq(row.int(3)?),
                turn_at: row.time(4)?,
            })
        })
    }

    fn get(&self, life: Incarnation, want: &Want) -> Outcome<Got> {
        Ok(match want {
            Want::Row(key) => Got::Row(self.db.one(ROW, (life.0, key.as_str()), decode_row)?),
            Want::Alarm(name) => Got::Alarm(self.db.number(ALARM, (life.0, name.as_str()))?.map(Time)),
            Want::Scan { prefix, from, limit } => self.scan(life, prefix, from.as_deref(), *limit)?,
        })
    }

    fn scan(&self, life: Incarnation, prefix: &str, from: Option<&str>, limit: usize) -> Outcome<Got> {
        let from = first_key(prefix, from);
        let end = prefix_end(prefix).map_or(Value::Blob(Vec::new()), Value::Text);
        let one_more = at_most(limit).saturating_add(1);
        let mut rows = self.db.all(SCAN, (life.0, from, end, one_more), |row| {
            Ok((row.text(2)?.to_owned(), decode_row(row)?))
        })?;
        let is_end = rows.len() <= limit;
        rows.truncate(limit);
        Ok(Got::Scan { rows, end: is_end })
    }

    fn kept_reply(&self, object: &ObjectKey, key: &IdempotencyKey) -> Outcome<Option<KeyedReply>> {
        let since = self.now.plus_ms(-REPLY_KEPT_MS).0;
        let asked = (object.kind.as_str(), object.name.as_str(), key.as_str(), since);
        self.db.one(REPLY, asked, |row| {
            let damaged = |_| Fault::Damaged(format!("the request of the reply for {key:?} is not a digest"));
            let request = u64::from_str_radix(row.text(0)?, 16).map_err(damaged)?;
            let reply = match row.opt_json(1)? {
                Some(reply) => Reply::Now(reply),
                None => Reply::Later(Ticket::trusted(row.text(2)?.to_owned())),
            };
            Ok(KeyedReply { key: key.clone(), request, reply })
        })
    }
}

fn nothing(want: &Want) -> Got {
    match want {
        Want::Row(_) => Got::Row(None),
        Want::Alarm(_) => Got::Alarm(None),
        Want::Scan { .. } => Got::Scan { rows: Vec::new(), end: true },
    }
}

fn decode_row(row: Columns<'_>) -> Outcome<Row> {
    let schema = u16::try_from(row.int(0)?);
    let schema = schema.map_err(|_| Fault::Damaged("a row's schema is not a number of 16 bits".into()))?;
    Ok(Row { schema, value: row.json(1)? })
}
