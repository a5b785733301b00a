//! The store's clock and the last number of each sort of id: one row, written at most once per batch.

use crate::db::Db;
use crate::error::{Fault, Outcome};
use abide_core::dead::DeadId;
use abide_core::event::MessageId;
use abide_core::job::JobId;
use abide_core::object::Life;
use abide_core::time::Time;

/// The one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta {
    /// The latest time of a batch.
    pub(crate) clock_at: Time,
    life: i64,
    job: i64,
    message: i64,
    dead: i64,
}

const LOAD: &str = "SELECT clock_at, life, job, message, dead FROM meta WHERE only_row = 1";
const SAVE: &str =
    "UPDATE meta SET clock_at = ?1, life = ?2, job = ?3, message = ?4, dead = ?5 WHERE only_row = 1";

impl Meta {
    pub(crate) fn load(db: &Db<'_>) -> Outcome<Meta> {
        let found = db.one(LOAD, [], |row| {
            Ok(Meta {
                clock_at: row.time(0)?,
                life: row.int(1)?,
                job: row.int(2)?,
                message: row.int(3)?,
                dead: row.int(4)?,
            })
        })?;
        found.ok_or_else(|| Fault::Damaged("the table meta is empty".into()))
    }

    pub(crate) fn save(&self, db: &Db<'_>) -> Outcome<()> {
        let changed = db.run(SAVE, (self.clock_at.0, self.life, self.job, self.message, self.dead))?;
        if changed == 1 { Ok(()) } else { Err(Fault::Damaged("the table meta is empty".into())) }
    }

    pub(crate) fn next_life(&mut self) -> Outcome<Life> {
        self.life += 1;
        u32::try_from(self.life).map(Life).map_err(|_| Fault::Damaged("there are no more lives".into()))
    }

    /// The id that the next job gets.
    pub(crate) fn peek_job(&self) -> JobId {
        JobId(self.job + 1)
    }

    pub(crate) fn next_job(&mut self) -> JobId {
        self.job += 1;
        JobId(self.job)
    }

    pub(crate) fn next_message(&mut self) -> MessageId {
        self.message += 1;
        MessageId(self.message)
    }

    pub(crate) fn next_dead(&mut self) -> DeadId {
        self.dead += 1;
        DeadId(self.dead)
    }
}
