//! What became of attempts. Nobody reads it while a batch is written, so several are written at once.

use crate::db::Db;
use crate::error::Outcome;
use abide_core::job::{Attempt, JobId};
use abide_core::limits::ATTEMPTS_KEPT;
use rusqlite::ToSql;

/// Attempts that ended and are not written yet.
#[derive(Default)]
pub(crate) struct History {
    ended: Vec<(JobId, Attempt)>,
}

/// Attempts that one statement writes.
const TOGETHER: usize = 8;

macro_rules! insert {
    ($values:expr) => {
        concat!(
            "INSERT INTO job_attempts (job, attempt, worker, started_at, ended_at, end, reason) VALUES ",
            $values
        )
    };
}
const ADD: &str = insert!("(?, ?, ?, ?, ?, ?, ?)");
const ADD_TOGETHER: &str = insert!(
    "(?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?),
     (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?)"
);

const FORGET: &str = "DELETE FROM job_attempts WHERE job = ?1 AND attempt <= ?2";

impl History {
    /// Adds one. What is not remembered any more goes.
    pub(crate) fn add(&mut self, db: &Db<'_>, job: JobId, attempt: Attempt) -> Outcome<()> {
        if attempt.attempt > ATTEMPTS_KEPT {
            db.run(FORGET, (job.0, attempt.attempt - ATTEMPTS_KEPT))?;
        }
        self.ended.push((job, attempt));
        if self.ended.len() < TOGETHER {
            return Ok(());
        }
        let written = write(db, ADD_TOGETHER, &self.ended);
        self.ended.clear();
        written
    }

    /// Writes what is left.
    pub(crate) fn flush(&mut self, db: &Db<'_>) -> Outcome<()> {
        for ended in self.ended.drain(..) {
            write(db, ADD, &[ended])?;
        }
        Ok(())
    }
}

fn write(db: &Db<'_>, sql: &'static str, ended: &[(JobId, Attempt)]) -> Outcome<()> {
    let texts: Vec<&str> = ended.iter().map(|(_, attempt)| attempt.end.as_str()).collect();
    let mut values: Vec<&dyn ToSql> = Vec::with_capacity(7 * ended.len());
    let workers: Vec<&str> = ended.iter().map(|(_, attempt)| attempt.worker.as_str()).collect();
    for (((job, attempt), end), worker) in ended.iter().zip(&texts).zip(&workers) {
        values.extend::<[&dyn ToSql; 7]>([
            &job.0,
            &attempt.attempt,
            worker,
            &attempt.started_at.0,
            &attempt.ended_at.0,
            end,
            &attempt.reason,
        ]);
    }
    db.run(sql, values.as_slice()).map(drop)
}
