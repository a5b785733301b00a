//! Pages of jobs, newest first.
//!
//! A filter chooses where its jobs are looked for: in ranges of an index that are in order of id and walked together, or,
//! where an index in another order leads to few, among those. What else the filter says is checked job by job. At most
//! [`LOOKS`] jobs are looked at for a page, so that a page ends in time whatever is asked; the next one goes on there.

use crate::db::{Columns, at_most};
use crate::error::Outcome;
use crate::jobs::job::{decode_keys, decode_state};
use crate::reader::Snapshot;
use abide_core::job::{JobId, JobState};
use abide_core::name::QueueName;
use abide_core::object::ObjectKey;
use abide_core::row::prefix_end;
use abide_core::time::Time;
use abide_store::view::{JobFacts, JobFilter, JobPage, TimeRange};
use rusqlite::types::Value;
use std::collections::BinaryHeap;

/// Jobs that are looked at for one page.
pub(crate) const LOOKS: usize = 5_000;
/// Ids that are read ahead from one range.
const AHEAD: usize = 64;

const NEWEST: &str = "SELECT id FROM jobs WHERE id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT ?3";
const OF_OWNER: &str = "SELECT id FROM jobs INDEXED BY jobs_by_owner
     WHERE owner_kind = ?4 AND owner_name = ?5 AND id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT ?3";
const OF_QUEUE: &str = "SELECT id FROM jobs INDEXED BY jobs_by_queue
     WHERE queue = ?4 AND id < ?1 AND id >= ?2 ORDER BY id DESC LIMIT ?3";
const OVER: &str = "SELECT id FROM jobs INDEXED BY jobs_over_by_id
     WHERE queue = ?4 AND state = ?5 AND finished_at IS NOT NULL AND id < ?1 AND id >= ?2
     ORDER BY id DESC LIMIT ?3";

const FINISHED: &str = "SELECT id FROM jobs INDEXED BY jobs_over
     WHERE queue = ?1 AND state = ?2 AND finished_at >= ?3 AND finished_at < ?4 LIMIT ?5";
const SCHEDULED: &str =
    "SELECT id FROM jobs INDEXED BY jobs_scheduled WHERE queue = ?1 AND state = 'scheduled' LIMIT ?2";
const OFFERED: &str = "SELECT id FROM jobs INDEXED BY jobs_offered
     WHERE queue = ?1 AND state = 'ready' AND parked_on IS NULL LIMIT ?2";
const SCHEDULED_OF_KIND: &str = "SELECT id FROM jobs INDEXED BY jobs_scheduled
     WHERE queue = ?1 AND kind = ?3 AND state = 'scheduled' LIMIT ?2";
const OFFERED_OF_KIND: &str = "SELECT id FROM jobs INDEXED BY jobs_offered
     WHERE queue = ?1 AND kind = ?3 AND state = 'ready' AND parked_on IS NULL LIMIT ?2";
const PARKED: &str = "SELECT id FROM jobs INDEXED BY jobs_parked WHERE parked_on > '' LIMIT ?1";
const LEASED: &str = "SELECT id FROM jobs INDEXED BY jobs_leased WHERE lease_expires_at > 0 LIMIT ?1";

/// Text is less than a blob, so an empty blob is past all keys.
const OF_KEYS: &str =
    "SELECT id FROM jobs INDEXED BY jobs_by_key WHERE unique_key >= ?1 AND unique_key < ?2 LIMIT ?3";

const FACTS: &str =
    "SELECT state, queue, kind, owner_kind, owner_name, limit_keys, unique_key, created_at, finished_at
     FROM jobs WHERE id = ?1";
const CREATED: &str = "SELECT id, created_at FROM jobs WHERE id >= ?1 ORDER BY id LIMIT 1";
const LAST: &str = "SELECT id FROM jobs ORDER BY id DESC LIMIT 1";

/// A range of an index in order of id.
enum Range {
    Newest,
    OfOwner(ObjectKey),
    OfQueue(QueueName),
    Over(QueueName, JobState),
    /// No more than what was found already.
    Found,
}

/// A range as it is walked.
struct Walk {
    range: Range,
    /// The ids read ahead, the newest last.
    ahead: Vec<i64>,
    /// Ids below this are still to be read; none if there are no more.
    below: Option<i64>,
}

impl Walk {
    fn of(range: Range, ids: Ids) -> Walk {
        Walk { range, ahead: Vec::new(), below: Some(ids.below) }
    }

    fn found(mut found: Vec<i64>, ids: Ids) -> Walk {
        found.retain(|id| (ids.from..ids.below).contains(id));
        found.sort_unstable();
        Walk { range: Range::Found, ahead: found, below: None }
    }
}

/// The jobs of a queue in a state.
struct Part {
    queue: QueueName,
    state: JobState,
    count: u64,
}

/// Where the ids of a listing lie: at or above the first, below the second.
#[derive(Clone, Copy)]
struct Ids {
    from: i64,
    below: i64,
}

impl Snapshot<'_> {
    pub(crate) fn jobs(&self, filter: &JobFilter) -> Outcome<JobPage> {
        let ids = self.ids(filter)?;
        let mut walks = self.walks(filter, ids)?;
        let mut heads = BinaryHeap::new();
        for (place, walk) in walks.iter_mut().enumerate() {
            heads.extend(self.next(walk, ids)?.map(|id| (id, place)));
        }
        let (mut found, mut looked) = (Vec::new(), None);
        for _ in 0..LOOKS {
            let Some((id, place)) = heads.pop().filter(|_| filter.limit > 0) else {
                return self.page(&found, None);
            };
            heads.extend(self.next(&mut walks[place], ids)?.map(|id| (id, place)));
            if self.passes(id, filter)? {
                if found.len() == filter.limit {
                    let next = found.last().copied();
                    return self.page(&found, next);
                }
                found.push(id);
            }
            looked = Some(id);
        }
        let next = looked.filter(|_| !heads.is_empty());
        self.page(&found, next)
    }

    fn page(&self, found: &[i64], next: Option<i64>) -> Outcome<JobPage> {
        let views = found.iter().filter_map(|id| self.job_without_attempts(JobId(*id)).transpose());
        JobPage::of(views, next.map(JobId))
    }

    fn passes(&self, id: i64, filter: &JobFilter) -> Outcome<bool> {
        Ok(self.db.one(FACTS, [id], |row| passes(row, filter))?.unwrap_or(false))
    }

    /// The next id of a range.
    fn next(&self, walk: &mut Walk, ids: Ids) -> Outcome<Option<i64>> {
        if let (true, Some(below)) = (walk.ahead.is_empty(), walk.below) {
            let (from, count) = (ids.from, at_most(AHEAD));
            walk.ahead = match &walk.range {
                Range::Newest => self.db.all(NEWEST, (below, from, count), |row| row.int(0))?,
                Range::OfOwner(ObjectKey { kind, name }) => {
                    let owner = (below, from, count, kind.as_str(), name.as_str());
                    self.db.all(OF_OWNER, owner, |row| row.int(0))?
                }
                Range::OfQueue(queue) => {
                    self.db.all(OF_QUEUE, (below, from, count, queue.as_str()), |row| row.int(0))?
                }
                Range::Over(queue, state) => {
                    let over = (below, from, count, queue.as_str(), state.as_str());
                    self.db.all(OVER, over, |row| row.int(0))?
                }
                Range::Found => Vec::new(),
            };
            walk.below = walk.ahead.last().copied().filter(|_| walk.ahead.len() == AHEAD);
            walk.ahead.reverse();
        }
        Ok(walk.ahead.pop())
    }

    /// Where the jobs of a filter are looked for.
    fn walks(&self, filter: &JobFilter, ids: Ids) -> Outcome<Vec<Walk>> {
        if let Some(few) = self.of_few_keys(filter)? {
            return Ok(vec![Walk::found(few, ids)]);
        }
        if let Some(owner) = &filter.owner {
            return Ok(vec![Walk::of(Range::OfOwner(owner.clone()), ids)]);
        }
        let states = match filter.state {
            Some(state) => vec![state],
            None if filter.finished != TimeRange::default() => {
                JobState::ALL.into_iter().filter(|state| state.is_over()).collect()
            }
            None => {
                let range = filter.queue.clone().map_or(Range::Newest, Range::OfQueue);
                return Ok(vec![Walk::of(range, ids)]);
            }
        };
        let parts = self.parts(filter.queue.as_ref(), &states)?;
        if let Some(few) = self.few(filter, &parts)? {
            return Ok(vec![Walk::found(few, ids)]);
        }
        let range = |part: Part| {
            if part.state.is_over() {
                Range::Over(part.queue, part.state)
            } else {
                Range::OfQueue(part.queue)
            }
        };
        Ok(parts.into_iter().map(|part| Walk::of(range(part), ids)).collect())
    }

    /// The queues and states that have jobs.
    fn parts(&self, queue: Option<&QueueName>, states: &[JobState]) -> Outcome<Vec<Part>> {
        let queues = crate::queues::load(&self.db)?;
        let asked = queues.into_iter().filter(|(name, ..)| queue.is_none_or(|queue| queue == name));
        let parts = asked.flat_map(|(queue, _, counts)| {
            let part = move |state: &JobState| Part {
                queue: queue.clone(),
                state: *state,
                count: counts.of(*state),
            };
            states.iter().map(part)
        });
        Ok(parts.filter(|part| part.count > 0).collect())
    }

    /// All jobs that the filter may mean, if an index in another order leads to few.
    fn few(&self, filter: &JobFilter, parts: &[Part]) -> Outcome<Option<Vec<i64>>> {
        let mut few = Vec::new();
        let room = |few: &[i64]| at_most(LOOKS + 1 - few.len());
        if filter.finished != TimeRange::default() {
            let TimeRange { from, until } = filter.finished;
            for Part { queue, state, .. } in parts {
                let within = (queue.as_str(), state.as_str(), from.0, until.0, room(&few));
                few.extend(self.db.all(FINISHED, within, |row| row.int(0))?);
                if few.len() > LOOKS {
                    return Ok(None);
                }
            }
            return Ok(Some(few));
        }
        let are_many = parts.iter().map(|part| part.count).sum::<u64>() > LOOKS as u64;
        if are_many && filter.kind.is_none() {
            return Ok(None);
        }
        match filter.state {
            Some(JobState::Running) => few = self.db.all(LEASED, (room(&few),), |row| row.int(0))?,
            Some(JobState::Scheduled) => {
                for Part { queue, .. } in parts {
                    few.extend(self.waiting(filter, queue, (SCHEDULED, SCHEDULED_OF_KIND), room(&few))?);
                }
            }
            Some(JobState::Ready) => {
                for Part { queue, .. } in parts {
                    few.extend(self.waiting(filter, queue, (OFFERED, OFFERED_OF_KIND), room(&few))?);
                }
                few.extend(self.db.all(PARKED, (room(&few),), |row| row.int(0))?);
            }
            Some(JobState::Done | JobState::Skipped | JobState::Failed | JobState::Cancelled) | None => {
                return Ok(None);
            }
        }
        Ok(Some(few).filter(|few| few.len() <= LOOKS))
    }

    /// All jobs whose unique keys begin as the filter says, if they are few.
    fn of_few_keys(&self, filter: &JobFilter) -> Outcome<Option<Vec<i64>>> {
        let Some(prefix) = filter.unique_prefix.as_deref().filter(|prefix| !prefix.is_empty()) else {
            return Ok(None);
        };
        let end = prefix_end(prefix).map_or(Value::Blob(Vec::new()), Value::Text);
        let few = self.db.all(OF_KEYS, (prefix, end, at_most(LOOKS + 1)), |row| row.int(0))?;
        Ok(Some(few).filter(|few| few.len() <= LOOKS))
    }

    /// At most `count` jobs of a queue that wait, of one kind if the filter names one.
    fn waiting(
        &self,
        filter: &JobFilter,
        queue: &QueueName,
        (of_any, of_kind): (&'static str, &'static str),
        count: i64,
    ) -> Outcome<Vec<i64>> {
        match &filter.kind {
            Some(kind) => self.db.all(of_kind, (queue.as_str(), count, kind.as_str()), |row| row.int(0)),
            None => self.db.all(of_any, (queue.as_str(), count), |row| row.int(0)),
        }
    }

    /// Ids rise with the times at which jobs were created, so a range of these is a range of ids.
    fn ids(&self, filter: &JobFilter) -> Outcome<Ids> {
        let TimeRange { from, until } = filter.created;
        let from = if from == Time(i64::MIN) { i64::MIN } else { self.first_created_at(from)? };
        let until = if until == Time::MAX { i64::MAX } else { self.first_created_at(until)? };
        Ok(Ids { from, below: filter.before.map_or(i64::MAX, |before| before.0).min(until) })
    }

    /// The first id that a job has or could have which was created at `at` or later.
    fn first_created_at(&self, at: Time) -> Outcome<i64> {
        let (mut low, mut high) = (0, self.db.number(LAST, [])?.map_or(0, |last| last + 1));
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.db.one(CREATED, [middle], |row| Ok((row.int(0)?, row.time(1)?)))?;
            match found {
                Some((id, created_at)) if created_at < at => low = id + 1,
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }
}

fn passes(row: Columns<'_>, filter: &JobFilter) -> Outcome<bool> {
    let limit_keys = match &filter.limit_key {
        Some(_) => decode_keys(row.opt_text(5)?)?,
        None => Vec::new(),
    };
    let owner = match row.opt_text(3)? {
        Some(kind) => Some((kind, row.text(4)?)),
        None => None,
    };
    Ok(filter.passes(&JobFacts {
        state: decode_state(row.text(0)?)?,
        queue: row.text(1)?,
        kind: row.text(2)?,
        owner,
        limit_keys: &limit_keys,
        unique_key: row.opt_text(6)?,
        created_at: row.time(7)?,
        finished_at: row.opt_time(8)?,
    }))
}
