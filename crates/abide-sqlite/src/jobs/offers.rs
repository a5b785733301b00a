//! What claims choose from: the best jobs on offer in each queue and kind, kept in memory and read in pieces.

use crate::db::{Db, at_most};
use crate::error::Outcome;
use crate::jobs::job::{self, Job, Rank, Stream, job_columns};
use crate::writer::Writer;
use abide_core::name::{JobKind, QueueName};
use std::collections::BTreeMap;

/// Jobs of one stream that are read at a time, and that are held, at most.
const PIECE: usize = 1_024;
const HELD_OF_STREAM: usize = 4_096;
/// Jobs held after a batch at most.
const HELD: usize = 65_536;

/// The heads of the streams that were claimed from.
#[derive(Default)]
pub(crate) struct Offers {
    streams: BTreeMap<Stream, Heads>,
}

/// The best jobs on offer in one stream.
#[derive(Default)]
struct Heads {
    jobs: BTreeMap<Rank, Job>,
    /// Whether these are all there are.
    is_whole: bool,
}

const OFFERED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE state = 'ready' AND parked_on IS NULL AND queue = ?1 AND kind = ?2
      ORDER BY priority DESC, run_at, id LIMIT ?3"
);
const NEXT_KIND: &str =
    "SELECT kind FROM jobs WHERE state = 'ready' AND parked_on IS NULL AND queue = ?1 AND kind > ?2
     ORDER BY kind LIMIT 1";

impl Offers {
    /// A job is offered.
    pub(crate) fn add(&mut self, job: &Job) {
        let Some(heads) = self.streams.get_mut(&job.stream) else { return };
        let rank = job.rank();
        if heads.is_whole || heads.jobs.last_key_value().is_some_and(|(last, _)| rank < *last) {
            heads.jobs.insert(rank, job.clone());
        }
        if heads.jobs.len() > HELD_OF_STREAM {
            heads.jobs.pop_last();
            heads.is_whole = false;
        }
    }

    /// A job is offered no more.
    pub(crate) fn remove(&mut self, job: &Job) {
        if let Some(heads) = self.streams.get_mut(&job.stream) {
            heads.jobs.remove(&job.rank());
        }
    }

    /// The best job on offer in a stream; about `wanted` of them will be asked for.
    pub(crate) fn best(&mut self, db: &Db<'_>, stream: &Stream, wanted: usize) -> Outcome<Option<Rank>> {
        if !self.streams.contains_key(stream) {
            self.streams.insert(stream.clone(), Heads::default());
        }
        let heads = self.streams.get_mut(stream).expect("put there if it was not");
        if heads.jobs.is_empty() && !heads.is_whole {
            let limit = wanted.saturating_add(1).min(PIECE);
            let read = (stream.0.as_str(), stream.1.as_str(), at_most(limit));
            let jobs = db.all(OFFERED, read, job::decode)?;
            heads.is_whole = jobs.len() < limit;
            heads.jobs = jobs.into_iter().map(|job| (job.rank(), job)).collect();
        }
        Ok(heads.jobs.first_key_value().map(|(rank, _)| *rank))
    }

    /// The job that was found best.
    pub(crate) fn get(&self, stream: &Stream, rank: &Rank) -> Option<&Job> {
        self.streams.get(stream)?.jobs.get(rank)
    }

    /// Forgets everything if it has become too much.
    pub(crate) fn shrink(&mut self) {
        if self.streams.values().map(|heads| heads.jobs.len() + 1).sum::<usize>() > HELD {
            self.streams.clear();
        }
    }
}

impl Writer<'_> {
    /// Reports the offered jobs of a queue: a kind at a time, however many jobs there are of it.
    pub(crate) fn wake_queue(&mut self, queue: &QueueName) -> Outcome<()> {
        // What is offered later in the batch is reported then, so once is enough.
        if !self.woken_queues.insert(queue.clone()) {
            return Ok(());
        }
        let next = |last: &str| {
            self.db.one(NEXT_KIND, (queue.as_str(), last), |row| Ok(JobKind::trusted(row.text(0)?)))
        };
        let mut kinds: Vec<JobKind> = Vec::new();
        while let Some(kind) = next(kinds.last().map_or("", JobKind::as_str))? {
            kinds.push(kind);
        }
        self.woken.ready.extend(kinds.into_iter().map(|kind| (queue.clone(), kind)));
        Ok(())
    }
}
