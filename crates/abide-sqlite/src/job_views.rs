//! What people see of jobs: one with its attempts, and pages of them.

use crate::db::{Columns, at_most};
use crate::error::{Fault, Outcome};
use crate::jobs::job::{decode_keys, decode_state};
use crate::reader::Snapshot;
use abide_core::job::{Attempt, AttemptWord, JobId, JobState, Owner};
use abide_core::name::{JobKind, QueueName, UniqueKey, WorkerId};
use abide_core::object::Incarnation;
use abide_store::view::{JobFilter, JobPage, JobView};
use rusqlite::types::Value;

macro_rules! view_columns {
    () => {
        "j.id, j.queue, j.kind, j.state, j.priority, p.payload, j.unique_key, j.limit_keys, j.owner_kind,
         j.owner_name, j.owner_incarnation, j.run_at, j.attempt, j.failures, j.restarts, j.max_attempts,
         j.cancel_asked, j.worker, j.lease_expires_at, j.progress, j.result, j.reason, p.trace, j.created_at,
         j.updated_at, j.finished_at"
    };
}

const JOB: &str =
    concat!("SELECT ", view_columns!(), " FROM jobs j JOIN job_payloads p ON p.job = j.id WHERE j.id = ?1");
const ATTEMPTS: &str = "SELECT attempt, worker, started_at, ended_at, end, reason FROM job_attempts WHERE job = ?1 ORDER BY attempt";

/// A listing is this, the index to take, the other table, its conditions and the order.
const JOBS: &str = concat!("SELECT ", view_columns!(), " FROM jobs j");
const AND_PAYLOADS: &str = "CROSS JOIN job_payloads p ON p.job = j.id WHERE j.id < ?1";

impl Snapshot<'_> {
    pub(crate) fn job(&self, id: JobId) -> Outcome<Option<JobView>> {
        let Some(view) = self.db.one(JOB, [id.0], decode)? else { return Ok(None) };
        let attempts = self.db.all(ATTEMPTS, [id.0], decode_attempt)?;
        Ok(Some(JobView { attempts, ..view }))
    }

    pub(crate) fn jobs(&self, filter: &JobFilter) -> Outcome<JobPage> {
        let (sql, values) = listing(filter);
        let mut jobs = self.db.all_of(&sql, rusqlite::params_from_iter(values), decode)?;
        let next = jobs.get(filter.limit.wrapping_sub(1)).map(|job| job.job);
        let next = next.filter(|_| jobs.len() > filter.limit);
        jobs.truncate(filter.limit);
        Ok(JobPage { jobs, next })
    }
}

/// The statement for a listing, one job more than asked for.
pub(crate) fn listing(filter: &JobFilter) -> (String, Vec<Value>) {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut sql = format!("{JOBS} {} {AND_PAYLOADS}", index(filter));
    let mut values = vec![Value::Integer(filter.before.map_or(i64::MAX, |before| before.0))];
    let mut condition = |column: &str, value: Value| {
        values.push(value);
        sql.push_str(&format!(" AND {column} = ?{}", values.len()));
    };
    if let Some(owner) = &filter.owner {
        condition("j.owner_kind", text(owner.kind.as_str()));
        condition("j.owner_name", text(owner.name.as_str()));
    }
    if let Some(queue) = &filter.queue {
        condition("j.queue", text(queue.as_str()));
    }
    if let Some(kind) = &filter.kind {
        condition("j.kind", text(kind.as_str()));
    }
    if let Some(state) = filter.state {
        // The word itself, not a parameter: only so can an index be taken that has jobs of one state alone.
        sql.push_str(&format!(" AND j.state = '{state}'"));
        sql.push_str(match state {
            JobState::Running => " AND j.lease_expires_at IS NOT NULL",
            JobState::Skipped | JobState::Failed | JobState::Cancelled => {
                " AND j.finished_at IS NOT NULL AND j.queue IN (SELECT queue FROM queues)"
            }
            JobState::Scheduled => " AND j.queue IN (SELECT queue FROM queues)",
            JobState::Ready | JobState::Done => "",
        });
    }
    values.push(Value::Integer(at_most(filter.limit).saturating_add(1)));
    sql.push_str(&format!(" ORDER BY j.id DESC LIMIT ?{}", values.len()));
    (sql, values)
}

/// The index that leads to the fewest jobs. Where none does, it walks back from the newest job.
fn index(filter: &JobFilter) -> &'static str {
    match (&filter.owner, filter.state) {
        (Some(_), _) => "INDEXED BY jobs_by_owner",
        (None, Some(JobState::Running)) => "INDEXED BY jobs_leased",
        (None, Some(JobState::Scheduled)) => "INDEXED BY jobs_scheduled",
        (None, Some(JobState::Skipped | JobState::Failed | JobState::Cancelled)) => "INDEXED BY jobs_over",
        (None, Some(JobState::Ready | JobState::Done) | None) => "NOT INDEXED",
    }
}

fn decode(row: Columns<'_>) -> Outcome<JobView> {
    let owner = match row.opt_int(10)? {
        Some(life) => Some(Owner { object: row.object(8)?, incarnation: Incarnation(life) }),
        None => None,
    };
    let priority = i32::try_from(row.int(4)?);
    Ok(JobView {
        job: JobId(row.int(0)?),
        queue: QueueName::trusted(row.text(1)?),
        kind: JobKind::trusted(row.text(2)?),
        state: decode_state(row.text(3)?)?,
        priority: priority.map_err(|_| Fault::Damaged("a priority is not a number of 32 bits".into()))?,
        payload: row.json(5)?,
        unique_key: row.opt_text(6)?.map(UniqueKey::trusted),
        limit_keys: decode_keys(row.opt_text(7)?)?,
        owner,
        run_at: row.time(11)?,
        attempt: row.count(12)?,
        failures: row.count(13)?,
        restarts: row.count(14)?,
        max_attempts: row.count(15)?,
        cancel_asked: row.flag(16)?,
        worker: row.opt_text(17)?.map(WorkerId::trusted),
        lease_expires_at: row.opt_time(18)?,
        progress: row.opt_json(19)?,
        result: row.opt_json(20)?,
        reason: row.opt_text(21)?.map(str::to_owned),
        trace: row.opt_text(22)?.map(str::to_owned),
        created_at: row.time(23)?,
        updated_at: row.time(24)?,
        finished_at: row.opt_time(25)?,
        attempts: Vec::new(),
    })
}

fn decode_attempt(row: Columns<'_>) -> Outcome<Attempt> {
    let word = row.text(4)?;
    let damaged = || Fault::Damaged(format!("{word:?} is not how an attempt ends"));
    Ok(Attempt {
        attempt: row.count(0)?,
        worker: WorkerId::trusted(row.text(1)?),
        started_at: row.time(2)?,
        ended_at: row.time(3)?,
        end: AttemptWord::parse(word).ok_or_else(damaged)?,
        reason: row.opt_text(5)?.map(str::to_owned),
    })
}
