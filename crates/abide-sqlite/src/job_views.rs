//! What people see of a job.

use crate::db::Columns;
use crate::error::{Fault, Outcome};
use crate::jobs::job::{decode_keys, decode_state};
use crate::reader::Snapshot;
use abide_core::job::{Attempt, AttemptWord, JobId, Owner};
use abide_core::name::{JobKind, QueueName, UniqueKey, WorkerId};
use abide_core::object::Incarnation;
use abide_store::view::JobView;

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

impl Snapshot<'_> {
    pub(crate) fn job(&self, id: JobId) -> Outcome<Option<JobView>> {
        let Some(view) = self.job_without_attempts(id)? else { return Ok(None) };
        let attempts = self.db.all(ATTEMPTS, [id.0], decode_attempt)?;
        Ok(Some(JobView { attempts, ..view }))
    }

    /// A job as listings have it.
    pub(crate) fn job_without_attempts(&self, id: JobId) -> Outcome<Option<JobView>> {
        self.db.one(JOB, [id.0], decode)
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
