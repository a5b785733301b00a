//! Reads: each from one snapshot, beside the writer.

use crate::db::{Db, Link};
use crate::error::{Fault, Outcome};
use abide_core::time::Time;
use abide_store::{Answer, Read, Reader, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A connection that reads.
pub(crate) struct SqliteReader {
    link: Link,
    /// The latest time of a batch.
    clock_at: Arc<AtomicI64>,
}

/// One read under way.
pub(crate) struct Snapshot<'a> {
    pub(crate) db: Db<'a>,
    /// The later of the store's time and the caller's.
    pub(crate) now: Time,
}

const BEGIN: &str = "BEGIN DEFERRED";
const END: &str = "COMMIT";
/// Ends a snapshot that an earlier failure left open.
const ABANDON: &str = "ROLLBACK";

impl SqliteReader {
    pub(crate) fn new(link: Link, clock_at: Arc<AtomicI64>) -> SqliteReader {
        SqliteReader { link, clock_at }
    }

    fn answer(&self, now: Time, read: &Read) -> Outcome<Answer> {
        let db = self.link.db();
        if !self.link.conn().is_autocommit() {
            db.run(ABANDON, [])?;
        }
        db.run(BEGIN, [])?;
        let now = now.max(Time(self.clock_at.load(Ordering::Acquire)));
        let snapshot = Snapshot { db, now };
        let answer = snapshot.answer(read);
        let ended = snapshot.db.run(END, []);
        let answer = answer?;
        ended?;
        Ok(answer)
    }
}

impl Reader for SqliteReader {
    fn read(&mut self, now: Time, read: &Read) -> Result<Answer, StoreError> {
        self.answer(now, read).map_err(Fault::into_store)
    }
}

impl Snapshot<'_> {
    fn answer(&self, read: &Read) -> Outcome<Answer> {
        Ok(match read {
            Read::Load(load) => Answer::Load(self.load(load)?),
            Read::Inboxes { after, limit } => Answer::Inboxes(self.inboxes(after.as_ref(), *limit)?),
            Read::Messages { to, after, limit } => Answer::Messages(self.messages(to, *after, *limit)?),
            Read::MessagesDue { limit } => Answer::MessagesDue(self.messages_due(*limit)?),
            Read::AlarmsDue { after, limit } => Answer::AlarmsDue(self.alarms_due(after.as_ref(), *limit)?),
            Read::Timers { after } => Answer::Timers(self.timers(*after)?),
            Read::Followers { after, limit } => Answer::Followers(self.followers(after.as_ref(), *limit)?),
            Read::Entries { follower, limit } => Answer::Entries(self.entries(follower, *limit)?),
            Read::Log { object, after, limit } => Answer::Log(self.log_page(object, *after, *limit)?),
            Read::Ticket(ticket) => Answer::Ticket(self.ticket(ticket)?),
            Read::Job(job) => Answer::Job(self.job(*job)?.map(Box::new)),
            Read::Jobs(filter) => Answer::Jobs(self.jobs(filter)?),
            Read::Why(job) => Answer::Why(self.why(*job)?.map(Box::new)),
            Read::Queues => Answer::Queues(self.queues()?),
            Read::Limits { after, limit } => Answer::Limits(self.limits(after.as_ref(), *limit)?),
            Read::Objects { kind, after, limit } => {
                Answer::Objects(self.objects(kind.as_ref(), after.as_ref(), *limit)?)
            }
            Read::NewestObjects { limit } => Answer::Objects(self.newest_objects(*limit)?),
            Read::Object(key) => Answer::Object(self.object(key)?),
            Read::Dead { after, limit } => Answer::Dead(self.dead(*after, *limit)?),
            Read::Workers => Answer::Workers(crate::workers::load(&self.db)?),
        })
    }
}
