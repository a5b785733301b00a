//! What is known about why a job is not running.

use crate::error::Outcome;
use crate::jobs::job::Stream;
use crate::reader::Snapshot;
use crate::workers;
use abide_core::job::{JobId, JobState};
use abide_core::limits::{AHEAD_COUNTED, WORKER_SEEN_MS};
use abide_core::name::{JobKind, LimitKey};
use abide_core::queue::QueuePolicy;
use abide_core::why::{Ahead, KeyFacts, WhyFacts};
use abide_store::view::JobView;

/// The better jobs of a place are three ranges of its index. Each is counted up to a bound.
macro_rules! better {
    ($place:literal) => {
        [
            concat!(
                "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ",
                $place,
                " AND queue = ?1 AND kind = ?2 AND priority > ?3 LIMIT ?4)"
            ),
            concat!(
                "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ",
                $place,
                " AND queue = ?1 AND kind = ?2 AND priority = ?3 AND run_at < ?5 LIMIT ?4)"
            ),
            concat!(
                "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE ",
                $place,
                " AND queue = ?1 AND kind = ?2 AND priority = ?3 AND run_at = ?5 AND id < ?6 LIMIT ?4)"
            ),
        ]
    };
}
const BETTER_OFFERED: [&str; 3] = better!("state = 'ready' AND parked_on IS NULL");
const BETTER_PARKED: [&str; 3] = better!("parked_on = ?7");

const POLICY: &str = "SELECT policy FROM queues WHERE queue = ?1";
const NEXT_KIND: &str =
    "SELECT kind FROM jobs WHERE state = 'ready' AND parked_on IS NULL AND queue = ?1 AND kind > ?2
     ORDER BY kind LIMIT 1";
const NEXT_PARKED_KEY: &str = "SELECT parked_on FROM jobs WHERE parked_on > ?1 ORDER BY parked_on LIMIT 1";

/// What is counted at most: one more than is told.
const BOUND: i64 = AHEAD_COUNTED as i64 + 1;

/// Keys with parked jobs that are looked at.
const KEYS: usize = 1_000;

/// Counts up to [`AHEAD_COUNTED`] and notes whether there are more.
#[derive(Default)]
struct Tally(u64);

impl Tally {
    fn is_full(&self) -> bool {
        self.0 > AHEAD_COUNTED
    }

    fn ahead(&self) -> Ahead {
        Ahead { count: self.0.min(AHEAD_COUNTED), or_more: self.is_full() }
    }
}

impl Snapshot<'_> {
    pub(crate) fn why(&self, id: JobId) -> Outcome<Option<WhyFacts>> {
        let Some(job) = self.job(id)? else { return Ok(None) };
        let policy = self.db.one(POLICY, [job.queue.as_str()], |row| {
            Ok(serde_json::from_str::<QueuePolicy>(row.text(0)?)?)
        })?;
        let mut keys = vec![self.own_key_facts(&job)?];
        for key in &job.limit_keys {
            keys.push(self.key_facts(&job, key)?);
        }
        let lease = job.worker.clone().zip(job.lease_expires_at);
        Ok(Some(WhyFacts {
            state: job.state,
            run_at: job.run_at,
            failures: job.failures,
            reason: job.reason.clone(),
            cancel_asked: job.cancel_asked,
            lease: lease.map(|(worker, expires_at)| (worker, job.attempt, expires_at)),
            paused: policy.is_some_and(|policy| policy.paused),
            keys,
            has_worker: self.has_worker(&job)?,
            ahead: match job.state {
                JobState::Ready => self.ahead_in_stream(&job)?,
                // Nobody asks: it is for other reasons that it does not run.
                JobState::Scheduled
                | JobState::Running
                | JobState::Done
                | JobState::Skipped
                | JobState::Failed
                | JobState::Cancelled => Ahead::NONE,
            },
            queue: job.queue,
            kind: job.kind,
        }))
    }

    fn own_key_facts(&self, job: &JobView) -> Outcome<KeyFacts> {
        let key = LimitKey::of_queue(&job.queue);
        let mut tally = Tally::default();
        let mut last = String::new();
        let next = |last: &str| {
            self.db.one(NEXT_KIND, (job.queue.as_str(), last), |row| Ok(row.text(0)?.to_owned()))
        };
        while let Some(kind) = next(&last)? {
            let stream = (job.queue.clone(), JobKind::trusted(kind.as_str()));
            self.count_offered(job, &stream, &mut tally)?;
            last = kind;
        }
        let now = self.key_now(&key)?;
        Ok(KeyFacts { key, room: now.room, in_use: now.in_use, ahead: tally.ahead() })
    }

    fn key_facts(&self, job: &JobView, key: &LimitKey) -> Outcome<KeyFacts> {
        let now = self.key_now(key)?;
        let mut tally = Tally::default();
        for (stream, _) in now.lanes.iter().filter(|(_, lane)| lane.parked > 0) {
            self.count_parked(job, stream, key, &mut tally)?;
        }
        Ok(KeyFacts { key: key.clone(), room: now.room, in_use: now.in_use, ahead: tally.ahead() })
    }

    /// The better ready jobs of its queue and kind: those on offer, and those parked under the first [`KEYS`] keys. Under any
    /// more of them there may be others.
    fn ahead_in_stream(&self, job: &JobView) -> Outcome<Ahead> {
        let stream = (job.queue.clone(), job.kind.clone());
        let mut tally = Tally::default();
        self.count_offered(job, &stream, &mut tally)?;
        let mut last = String::new();
        let next = |last: &str| self.db.one(NEXT_PARKED_KEY, [last], |row| Ok(row.text(0)?.to_owned()));
        for _ in 0..KEYS {
            let Some(key) = next(&last)?.filter(|_| !tally.is_full()) else { return Ok(tally.ahead()) };
            self.count_parked(job, &stream, &LimitKey::trusted(key.as_str()), &mut tally)?;
            last = key;
        }
        let Ahead { count, or_more } = tally.ahead();
        Ok(Ahead { count, or_more: or_more || next(&last)?.is_some() })
    }

    fn count_offered(&self, job: &JobView, (queue, kind): &Stream, tally: &mut Tally) -> Outcome<()> {
        let (queue, kind) = (queue.as_str(), kind.as_str());
        let (priority, limit, run_at, id) = (job.priority, BOUND, job.run_at.0, job.job.0);
        let [higher, earlier, lower] = BETTER_OFFERED;
        for found in [
            self.db.number(higher, (queue, kind, priority, limit))?,
            self.db.number(earlier, (queue, kind, priority, limit, run_at))?,
            self.db.number(lower, (queue, kind, priority, limit, run_at, id))?,
        ] {
            tally.0 += found.unwrap_or(0).unsigned_abs();
        }
        Ok(())
    }

    fn count_parked(
        &self,
        job: &JobView,
        (queue, kind): &Stream,
        key: &LimitKey,
        tally: &mut Tally,
    ) -> Outcome<()> {
        let better = rusqlite::params![
            queue.as_str(),
            kind.as_str(),
            job.priority,
            BOUND,
            job.run_at.0,
            job.job.0,
            key.as_str()
        ];
        for sql in BETTER_PARKED {
            tally.0 += self.db.number(sql, better)?.unwrap_or(0).unsigned_abs();
        }
        Ok(())
    }

    fn has_worker(&self, job: &JobView) -> Outcome<bool> {
        Ok(workers::load(&self.db)?.iter().any(|card| {
            let is_there = card.life.is_some() || self.now.since(card.seen_at) < WORKER_SEEN_MS;
            is_there && card.queues.contains(&job.queue) && card.kinds.contains(&job.kind)
        }))
    }
}
