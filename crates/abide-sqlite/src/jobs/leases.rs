//! Leases: held, lengthened, run out, void with the engine that gave them.

use crate::error::Outcome;
use crate::jobs::job::{self, job_columns};
use crate::writer::Writer;
use abide_core::job::{AttemptEnd, JobEvent, JobId, LeaseRef};
use abide_core::json::Json;
use abide_core::object::Life;
use abide_store::write::{Began, Begin, LeaseLost, Renewal};
use std::collections::BTreeMap;

const RENEW: &str = "UPDATE jobs SET lease_expires_at = max(lease_expires_at, ?4)
     WHERE id = ?1 AND state = 'running' AND attempt = ?2 AND token = ?3
     RETURNING lease_expires_at, cancel_asked";
const REGRANT: &str =
    "UPDATE jobs SET lease_expires_at = ?1 WHERE lease_expires_at IS NOT NULL AND lease_expires_at < ?1";
const PROGRESS: &str = "UPDATE jobs SET progress = ?4, updated_at = ?5
     WHERE id = ?1 AND state = 'running' AND attempt = ?2 AND token = ?3";
const EXPIRED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE lease_expires_at IS NOT NULL AND lease_expires_at <= ?1 ORDER BY lease_expires_at, id"
);
const OF_A_LIFE: &str =
    concat!("SELECT ", job_columns!(), " FROM jobs WHERE lease_expires_at IS NOT NULL AND life IS NOT NULL");

const OF_THIS_LIFE: &str =
    concat!("SELECT ", job_columns!(), " FROM jobs WHERE lease_expires_at IS NOT NULL AND life = ?1");

impl Writer<'_> {
    pub(crate) fn begin_life(&mut self, begin: &Begin) -> Outcome<Began> {
        let life = self.held.meta.next_life()?;
        if !begin.alone {
            return Ok(Began { life, voided: 0 });
        }
        self.remove_workers_of_lives()?;
        let mut void = self.db.all(OF_A_LIFE, [], job::decode)?;
        void.sort_by_key(|job| job.id);
        for job in &mut void {
            self.cut_short(job, JobEvent::Restarted)?;
        }
        Ok(Began { life, voided: void.len() as u64 })
    }

    pub(crate) fn release_expired(&mut self) -> Outcome<Vec<JobId>> {
        let mut expired = self.db.all(EXPIRED, [self.now.0], job::decode)?;
        for job in &mut expired {
            self.cut_short(job, JobEvent::Expired)?;
        }
        Ok(expired.into_iter().map(|job| job.id).collect())
    }

    pub(crate) fn disown(&mut self, life: Life, held: &[LeaseRef]) -> Outcome<Vec<JobId>> {
        let held: BTreeMap<JobId, &LeaseRef> = held.iter().map(|lease| (lease.job, lease)).collect();
        let mut lost = self.db.all(OF_THIS_LIFE, [life.0], job::decode)?;
        lost.sort_by_key(|job| job.id);
        lost.retain(|job| held.get(&job.id).is_none_or(|lease| !job.is_held_by(lease)));
        for job in &mut lost {
            self.cut_short(job, JobEvent::Finished(&AttemptEnd::HandedBack))?;
        }
        Ok(lost.into_iter().map(|job| job.id).collect())
    }

    pub(crate) fn renew(&mut self, leases: &[LeaseRef], lease_ms: i64) -> Outcome<Vec<Renewal>> {
        let until = self.now.plus_ms(lease_ms);
        let mut renewals = Vec::with_capacity(leases.len());
        for lease in leases {
            let held = (lease.job.0, lease.attempt, lease.token.to_hex(), until.0);
            let renewal = self.db.one(RENEW, held, |row| {
                Ok(Renewal::Held { until: row.time(0)?, cancel_asked: row.flag(1)? })
            })?;
            renewals.push(renewal.unwrap_or(Renewal::Lost));
        }
        Ok(renewals)
    }

    pub(crate) fn regrant(&mut self, lease_ms: i64) -> Outcome<()> {
        self.db.run(REGRANT, [self.now.plus_ms(lease_ms).0]).map(drop)
    }

    pub(crate) fn progress(&mut self, lease: &LeaseRef, progress: &Json) -> Outcome<Result<(), LeaseLost>> {
        let noted = (lease.job.0, lease.attempt, lease.token.to_hex(), progress.as_str(), self.now.0);
        if self.db.run(PROGRESS, noted)? == 1 {
            return Ok(Ok(()));
        }
        Ok(Err(match self.find_job(lease.job)? {
            Some(job) => LeaseLost::Stale(job.state),
            None => LeaseLost::NoJob,
        }))
    }
}
