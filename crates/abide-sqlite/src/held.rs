//! What the writer keeps in memory between batches. It is what the file held after the last one; after anything went
//! wrong it is thrown away and read again.

use crate::db::Db;
use crate::error::Outcome;
use crate::headers::Headers;
use crate::jobs::history::History;
use crate::jobs::job::Job;
use crate::jobs::offers::Offers;
use crate::jobs::schedule::Schedule;
use crate::limits::Limits;
use crate::meta::Meta;
use crate::queues::Queues;
use abide_core::job::JobId;
use abide_core::time::Time;
use std::collections::BTreeMap;

/// Running jobs held at most after a batch.
const HELD_RUNNING: usize = 50_000;

/// Everything kept.
pub(crate) struct Held {
    pub(crate) meta: Meta,
    saved: Meta,
    /// Tells whether another connection wrote to the file.
    data_version: Option<i64>,
    pub(crate) headers: Headers,
    pub(crate) queues: Queues,
    pub(crate) limits: Limits,
    pub(crate) schedule: Schedule,
    pub(crate) offers: Offers,
    /// Jobs that were leased lately, as they are.
    pub(crate) running: BTreeMap<JobId, Job>,
    pub(crate) history: History,
}

/// Changes when another connection wrote to the file.
const DATA_VERSION: &str = "PRAGMA data_version";

impl Held {
    pub(crate) fn load(db: &Db<'_>) -> Outcome<Held> {
        let meta = Meta::load(db)?;
        Ok(Held {
            meta,
            saved: meta,
            data_version: db.number(DATA_VERSION, [])?,
            headers: Headers::default(),
            queues: Queues::load(db)?,
            limits: Limits::load(db)?,
            schedule: Schedule::load(db)?,
            offers: Offers::default(),
            running: BTreeMap::new(),
            history: History::default(),
        })
    }

    /// Whether nobody else wrote to the file in the meantime.
    pub(crate) fn is_current(&self, db: &Db<'_>) -> Outcome<bool> {
        Ok(db.number(DATA_VERSION, [])? == self.data_version)
    }

    pub(crate) fn clock_at(&self) -> Time {
        self.saved.clock_at
    }

    /// Writes what was counted in memory.
    pub(crate) fn flush(&mut self, db: &Db<'_>, now: Time) -> Outcome<()> {
        self.queues.flush(db)?;
        self.history.flush(db)?;
        self.limits.flush(db, now)?;
        self.headers.shrink();
        self.offers.shrink();
        if self.running.len() > HELD_RUNNING {
            self.running.clear();
        }
        if self.meta != self.saved {
            self.meta.save(db)?;
            self.saved = self.meta;
        }
        Ok(())
    }
}
