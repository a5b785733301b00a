//! When scheduled jobs are due: the earliest of each queue and kind, known in memory.

use crate::db::{Columns, Db, at_most};
use crate::error::Outcome;
use crate::jobs::job::{self, Job, Stream, job_columns};
use abide_core::name::{JobKind, QueueName};
use abide_core::time::Time;
use std::collections::BTreeMap;

/// The streams that have scheduled jobs.
pub(crate) struct Schedule {
    streams: BTreeMap<Stream, Earliest>,
    /// No scheduled job of all is earlier.
    not_before: Time,
}

/// The earliest scheduled job of a stream: none is earlier, and if it is exact one is just then.
struct Earliest {
    at: Time,
    is_exact: bool,
}

const NEXT: &str =
    "SELECT run_at FROM jobs WHERE state = 'scheduled' AND queue = ?1 AND kind = ?2 ORDER BY run_at LIMIT 1";
const DUE: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'scheduled' AND queue = ?1 AND kind = ?2 AND run_at <= ?3
      ORDER BY run_at, id LIMIT ?4"
);
/// The first stream of all; the next one of the same queue; the first one of a later queue; each with its earliest job.
const FIRST_STREAM: &str =
    "SELECT queue, kind, run_at FROM jobs WHERE state = 'scheduled' ORDER BY queue, kind, run_at LIMIT 1";
const NEXT_KIND: &str =
    "SELECT queue, kind, run_at FROM jobs WHERE state = 'scheduled' AND queue = ?1 AND kind > ?2
     ORDER BY kind, run_at LIMIT 1";
const NEXT_QUEUE: &str = "SELECT queue, kind, run_at FROM jobs WHERE state = 'scheduled' AND queue > ?1
     ORDER BY queue, kind, run_at LIMIT 1";

/// Every stream that has scheduled jobs, with its earliest, one seek or two for each.
pub(crate) fn streams(db: &Db<'_>) -> Outcome<Vec<(Stream, Time)>> {
    let decode = |row: Columns<'_>| {
        Ok(((QueueName::trusted(row.text(0)?), JobKind::trusted(row.text(1)?)), row.time(2)?))
    };
    let mut found = Vec::new();
    let mut next = db.one(FIRST_STREAM, [], decode)?;
    while let Some(stream) = next {
        let (queue, kind) = (stream.0.0.as_str(), stream.0.1.as_str());
        next = match db.one(NEXT_KIND, (queue, kind), decode)? {
            Some(next) => Some(next),
            None => db.one(NEXT_QUEUE, [queue], decode)?,
        };
        found.push(stream);
    }
    Ok(found)
}

impl Schedule {
    pub(crate) fn load(db: &Db<'_>) -> Outcome<Schedule> {
        let streams = streams(db)?;
        let not_before = streams.iter().map(|(_, at)| *at).min().unwrap_or(Time::MAX);
        let exact = |(stream, at)| (stream, Earliest { at, is_exact: true });
        Ok(Schedule { streams: streams.into_iter().map(exact).collect(), not_before })
    }

    /// A job is scheduled.
    pub(crate) fn add(&mut self, job: &Job) {
        let at = job.run_at;
        self.not_before = self.not_before.min(at);
        match self.streams.get_mut(&job.stream) {
            Some(earliest) if at <= earliest.at => *earliest = Earliest { at, is_exact: true },
            Some(_) => {}
            None => {
                self.streams.insert(job.stream.clone(), Earliest { at, is_exact: true });
            }
        }
    }

    /// A job is scheduled no more.
    pub(crate) fn remove(&mut self, job: &Job) {
        if let Some(earliest) = self.streams.get_mut(&job.stream)
            && job.run_at <= earliest.at
        {
            earliest.is_exact = false;
        }
    }

    /// When the next job of a stream is due.
    pub(crate) fn next_of(&mut self, db: &Db<'_>, stream: &Stream) -> Outcome<Option<Time>> {
        let Some(earliest) = self.streams.get_mut(stream) else { return Ok(None) };
        if !earliest.is_exact {
            match db.number(NEXT, (stream.0.as_str(), stream.1.as_str()))? {
                Some(at) => *earliest = Earliest { at: Time(at), is_exact: true },
                None => {
                    self.streams.remove(stream);
                    return Ok(None);
                }
            }
        }
        Ok(Some(earliest.at))
    }

    /// The jobs whose time has come, in the order of their times, at most `max` of them.
    pub(crate) fn due(&mut self, db: &Db<'_>, now: Time, max: usize) -> Outcome<Vec<Job>> {
        if self.not_before > now {
            return Ok(Vec::new());
        }
        let mut due = Vec::new();
        for ((queue, kind), _) in self.streams.iter().filter(|(_, earliest)| earliest.at <= now) {
            due.extend(db.all(DUE, (queue.as_str(), kind.as_str(), now.0, at_most(max)), job::decode)?);
        }
        due.sort_by_key(|job| (job.run_at, job.id));
        due.truncate(max);
        Ok(due)
    }

    /// Looks again when the next job of all is due, after those that were have left.
    pub(crate) fn look_ahead(&mut self, db: &Db<'_>, now: Time) -> Outcome<()> {
        if self.not_before <= now {
            let streams: Vec<Stream> = self.streams.keys().cloned().collect();
            self.not_before = Time::MAX;
            for stream in streams {
                let next = self.next_of(db, &stream)?.unwrap_or(Time::MAX);
                self.not_before = self.not_before.min(next);
            }
        }
        Ok(())
    }
}
