//! The turn: what a handler sees of its object and what it may change.

use crate::cache::{Known, Lookup, RowCache};
use crate::halt::{Miss, ReadHalt, TurnError};
use crate::record::{self, Record};
use abide_core::commit::{AlarmWrite, Commit, Ending, FollowWrite, Outgoing, TicketWrite};
use abide_core::event::Sender;
use abide_core::job::NewJob;
use abide_core::json::Json;
use abide_core::limits::{LOG_ENTRY_BYTES, ROW_KEY_BYTES, SCAN_ROWS, VALUE_BYTES, within};
use abide_core::log::Seq;
use abide_core::name::{AlarmName, UniqueKey};
use abide_core::object::{Incarnation, ObjectKey};
use abide_core::row::{Row, RowWrite, prefix_end, successor};
use abide_core::seed::{Seed, one_way};
use abide_core::ticket::{Resolution, Ticket};
use abide_core::time::Time;
use abide_store::read::{Want, first_key};
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// What the handler draws from a turn's seed.
const HANDLER: u64 = 1;
/// Tickets, which must not follow from what the handler shows of its own draws.
const TICKETS: u64 = 2;

/// One run of a handler: a pure function of rows, event, `now` and seed.
///
/// Reads answer from memory or miss; a miss ends the run with `?`, the engine loads what was missing and runs the
/// handler again from its start. Writes are gathered into one commit.
#[derive(Debug)]
pub struct Turn<'a> {
    cache: &'a RowCache,
    commit: Commit,
    rows: BTreeMap<String, Option<Row>>,
    log_head: Seq,
    seed: Seed,
    tickets: Seed,
    missed: Vec<Want>,
    existed: bool,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(
        cache: &'a RowCache,
        commit: Commit,
        log_head: Seq,
        seed: u64,
        existed: bool,
    ) -> Turn<'a> {
        Turn {
            cache,
            commit,
            rows: BTreeMap::new(),
            log_head,
            seed: Seed::new(one_way(seed, HANDLER)),
            tickets: Seed::new(one_way(seed, TICKETS)),
            missed: Vec::new(),
            existed,
        }
    }

    /// Whose turn it is.
    #[must_use]
    pub fn object(&self) -> &ObjectKey {
        &self.commit.object
    }

    /// Which life of the object this is, or would begin.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.commit.fence.incarnation()
    }

    /// Whether the object existed before this turn.
    #[must_use]
    pub fn existed(&self) -> bool {
        self.existed
    }

    /// The present. Never runs backwards for an object.
    #[must_use]
    pub fn now(&self) -> Time {
        self.commit.at
    }

    /// Randomness that is the same when the turn is run again.
    pub fn seed(&mut self) -> &mut Seed {
        &mut self.seed
    }

    /// A row.
    pub fn get<R: Record>(&mut self, key: &str) -> Result<Option<R>, ReadHalt> {
        let row = match self.rows.get(key) {
            Some(written) => written.as_ref(),
            None => match self.cache.row(key) {
                Lookup::Known(row) => row,
                Lookup::Unknown => {
                    self.missed.push(Want::Row(key.to_owned()));
                    return Err(ReadHalt::Miss(Miss(())));
                }
            },
        };
        row.map(|row| record::decode(key, row)).transpose().map_err(ReadHalt::Failed)
    }

    /// Sees to it that these rows are in memory, a thousand by one load. Reading them one by one would be a miss each, and a
    /// run of the handler each: a turn that reads many rows by their keys says so first.
    pub fn prefetch(&mut self, keys: impl IntoIterator<Item = String>) -> Result<(), ReadHalt> {
        let is_unknown =
            |key: &String| !self.rows.contains_key(key) && matches!(self.cache.row(key), Lookup::Unknown);
        let unknown: BTreeSet<String> = keys.into_iter().filter(is_unknown).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        self.missed.extend(unknown.into_iter().take(SCAN_ROWS).map(Want::Row));
        Err(ReadHalt::Miss(Miss(())))
    }

    /// Rows whose keys start with `prefix`, after the key `after`, in bytewise order of keys, at most `limit`.
    pub fn scan<R: Record>(
        &mut self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, R)>, ReadHalt> {
        within("rows in one scan", SCAN_ROWS, limit).map_err(|over| ReadHalt::Failed(over.into()))?;
        let behind = after.map(successor);
        let start = first_key(prefix, behind.as_deref());
        let end = prefix_end(prefix);
        if end.as_deref().is_some_and(|end| end <= start) {
            return Ok(Vec::new());
        }
        let (known_rows, known) = self.cache.known_rows(start, end.as_deref());
        let known_to = match &known {
            Known::Whole => end.as_deref(),
            Known::UpTo(key) => Some(key.as_str()),
        };
        let up_to = known_to.map_or(Bound::Unbounded, Bound::Excluded);
        let written = match known_to {
            Some(known_to) if known_to <= start => None,
            Some(_) | None => Some(self.rows.range::<str, _>((Bound::Included(start), up_to))),
        };
        let found: Vec<(&String, &Row)> =
            overlaid(known_rows, written.into_iter().flatten()).take(limit).collect();
        if let (Known::UpTo(from), true) = (&known, found.len() < limit) {
            let rest =
                (Bound::Included(from.as_str()), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded));
            let deleted = self.rows.range::<str, _>(rest).filter(|(_, row)| row.is_none()).count();
            let more = limit - found.len() + self.cache.gone_within(rest) + deleted;
            let (prefix, from) = (prefix.to_owned(), Some(from.clone()));
            self.missed.push(Want::Scan { prefix, from, limit: more });
            return Err(ReadHalt::Miss(Miss(())));
        }
        found
            .into_iter()
            .map(|(key, row)| Ok((key.clone(), record::decode(key, row).map_err(ReadHalt::Failed)?)))
            .collect()
    }

    /// Puts a row.
    pub fn put<R: Record>(&mut self, key: &str, record: &R) -> Result<(), TurnError> {
        within("bytes in a row's key", ROW_KEY_BYTES, key.len())?;
        let row = record::encode(key, record)?;
        within("bytes in a row", VALUE_BYTES, row.value.len())?;
        self.rows.insert(key.to_owned(), Some(row));
        Ok(())
    }

    /// Deletes a row. A missing one is fine.
    pub fn delete(&mut self, key: &str) {
        self.rows.insert(key.to_owned(), None);
    }

    /// When an alarm is set for.
    pub fn alarm(&mut self, name: &str) -> Result<Option<Time>, ReadHalt> {
        let name = AlarmName::new(name).map_err(|e| ReadHalt::Failed(e.into()))?;
        let written = self.commit.alarms.iter().find_map(|write| match write {
            AlarmWrite::Set { name: set, at } if *set == name => Some(Some(*at)),
            AlarmWrite::Clear { name: cleared } if *cleared == name => Some(None),
            AlarmWrite::Set { .. } | AlarmWrite::Clear { .. } => None,
        });
        match written.map_or_else(|| self.cache.alarm(&name), Lookup::Known) {
            Lookup::Known(at) => Ok(at),
            Lookup::Unknown => {
                self.missed.push(Want::Alarm(name));
                Err(ReadHalt::Miss(Miss(())))
            }
        }
    }

    /// Wakes the object at `at` with the alarm `name`; replaces an earlier setting of that name.
    pub fn set_alarm(&mut self, name: &str, at: Time) -> Result<(), TurnError> {
        let name = AlarmName::new(name)?;
        self.forget_alarm(&name);
        self.commit.alarms.push(AlarmWrite::Set { name, at });
        Ok(())
    }

    /// Clears an alarm. A missing one is fine.
    pub fn clear_alarm(&mut self, name: &str) -> Result<(), TurnError> {
        let name = AlarmName::new(name)?;
        self.forget_alarm(&name);
        self.commit.alarms.push(AlarmWrite::Clear { name });
        Ok(())
    }

    fn forget_alarm(&mut self, name: &AlarmName) {
        self.commit.alarms.retain(|write| match write {
            AlarmWrite::Set { name: other, .. } | AlarmWrite::Clear { name: other } => other != name,
        });
    }

    /// Sends a message. It is processed exactly once, after those sent to the same object before it.
    pub fn send<M: Serialize>(&mut self, to: &ObjectKey, message: &M) -> Result<(), TurnError> {
        self.send_bound(to, None, message)
    }

    /// Answers the sender of a message, in the life in which it sent it: a later life does not get it.
    pub fn answer<M: Serialize>(&mut self, to: &Sender, message: &M) -> Result<(), TurnError> {
        self.send_bound(&to.object, Some(to.incarnation), message)
    }

    fn send_bound<M: Serialize>(
        &mut self,
        to: &ObjectKey,
        to_incarnation: Option<Incarnation>,
        message: &M,
    ) -> Result<(), TurnError> {
        let body = encode(|| format!("a message to {to}"), message)?;
        within("bytes in a message", VALUE_BYTES, body.len())?;
        self.commit.messages.push(Outgoing { to: to.clone(), to_incarnation, body, trace: None });
        Ok(())
    }

    /// Enqueues a job. Its outcome comes back to this object as an event.
    pub fn enqueue(&mut self, job: NewJob) -> Result<(), TurnError> {
        job.check()?;
        self.commit.jobs.push(job);
        Ok(())
    }

    /// Cancels a job that this object enqueued with that unique key. Its outcome is `cancelled`.
    pub fn cancel(&mut self, key: &UniqueKey) {
        self.commit.cancels.push(key.clone());
    }

    /// The last entry of this object's log.
    #[must_use]
    pub fn log_head(&self) -> Seq {
        Seq(self.log_head.0 + i64::try_from(self.commit.log.len()).unwrap_or(i64::MAX))
    }

    /// Appends an entry to this object's log and gives its place.
    pub fn append<V: Serialize>(&mut self, entry: &V) -> Result<Seq, TurnError> {
        let value = encode(|| "a log entry".to_owned(), entry)?;
        within("bytes in a log entry", LOG_ENTRY_BYTES, value.len())?;
        self.commit.log.push(value);
        Ok(self.log_head())
    }

    /// Follows another object's log past `after`: its entries come as events, in order, each once.
    pub fn follow(&mut self, source: &ObjectKey, after: Seq) {
        self.forget_follow(source);
        self.commit.follows.push(FollowWrite::Follow { source: source.clone(), after });
    }

    /// Follows that log no more.
    pub fn leave(&mut self, source: &ObjectKey) {
        self.forget_follow(source);
        self.commit.follows.push(FollowWrite::Leave { source: source.clone() });
    }

    fn forget_follow(&mut self, source: &ObjectKey) {
        self.commit.follows.retain(|write| match write {
            FollowWrite::Follow { source: other, .. } | FollowWrite::Leave { source: other } => {
                other != source
            }
        });
    }

    /// A ticket for an answer that comes later. Keep it in a row; give it back as [`Answer::Later`](crate::Answer).
    pub fn open_ticket(&mut self) -> Ticket {
        let ticket = Ticket::draw(&mut self.tickets);
        self.commit.tickets.push(TicketWrite::Open(ticket.clone()));
        ticket
    }

    /// Gives a ticket's answer: whoever waits for it gets it when this turn is durable.
    pub fn resolve<V: Serialize>(&mut self, ticket: &Ticket, reply: &V) -> Result<(), TurnError> {
        let reply = encode(|| "a ticket's reply".to_owned(), reply)?;
        within("bytes in a ticket's reply", VALUE_BYTES, reply.len())?;
        self.commit.tickets.push(TicketWrite::Resolve(ticket.clone(), Resolution::Reply(reply)));
        Ok(())
    }

    /// Says that a ticket's work was refused or failed.
    pub fn resolve_refused(&mut self, ticket: &Ticket, code: &str, message: &str) {
        let resolution = Resolution::Refused { code: code.to_owned(), message: message.to_owned() };
        self.commit.tickets.push(TicketWrite::Resolve(ticket.clone(), resolution));
    }

    /// Ends this object with this turn. Its jobs are cancelled; what it sends still goes out.
    pub fn delete_self(&mut self) {
        self.commit.ending = Ending::Deleted;
    }

    pub(crate) fn missed(&mut self) -> Vec<Want> {
        std::mem::take(&mut self.missed)
    }

    /// The commit, complete and within its bounds.
    pub(crate) fn into_commit(self) -> Result<Commit, TurnError> {
        let mut commit = self.commit;
        if commit.ending == Ending::Deleted && !commit.jobs.is_empty() {
            return Err(TurnError::Contradiction("a turn that deletes its object cannot enqueue jobs"));
        }
        commit.rows = self
            .rows
            .into_iter()
            .map(|(key, row)| match row {
                Some(row) => RowWrite::Put { key, row },
                None => RowWrite::Delete { key },
            })
            .collect();
        commit.check()?;
        Ok(commit)
    }
}

/// Rows in order, with what a turn has written over them. Nothing past the last that is taken is looked at.
fn overlaid<'a>(
    rows: impl Iterator<Item = (&'a String, &'a Row)>,
    written: impl Iterator<Item = (&'a String, &'a Option<Row>)>,
) -> impl Iterator<Item = (&'a String, &'a Row)> {
    let (mut rows, mut written) = (rows.peekable(), written.peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (rows.peek(), written.peek()) {
                (Some((row, _)), Some((write, _))) => row.cmp(write),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return None,
            };
            if order.is_lt() {
                return rows.next();
            }
            if order.is_eq() {
                rows.next();
            }
            if let Some((key, Some(row))) = written.next() {
                return Some((key, row));
            }
        }
    })
}

fn encode<V: Serialize>(what: impl Fn() -> String, value: &V) -> Result<Json, TurnError> {
    Json::encode(value).map_err(|e| TurnError::BadValue { what: what(), reason: e.0 })
}
