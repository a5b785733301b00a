//! Jobs that somebody wants not to run, or to run again.

use crate::error::Outcome;
use crate::jobs::job::{self, Job, impossible, job_columns};
use crate::writer::Writer;
use abide_core::job::{JobEvent, JobId, JobState, Misfit};
use abide_core::name::{LimitKey, UniqueKey};
use abide_core::object::Incarnation;
use abide_store::write::JobRefused;

/// Why a job that somebody cancelled has ended.
const CANCELLED: &str = "cancelled";
/// Why the jobs of a deleted object end.
const OWNER_DELETED: &str = "owner deleted";

const ASK_TO_STOP: &str = "UPDATE jobs SET cancel_asked = 1, reason = ?2, updated_at = ?3 WHERE id = ?1";
const END: &str = "UPDATE jobs SET state = 'cancelled', parked_on = NULL, reason = ?2, updated_at = ?3,
         finished_at = ?3
     WHERE id = ?1";
const RETRY: &str =
    "UPDATE jobs SET state = 'ready', failures = 0, restarts = 0, cancel_asked = 0, run_at = ?3,
         parked_on = ?2, reason = NULL, updated_at = ?3, finished_at = NULL
     WHERE id = ?1";
const UNFINISHED_OF: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE owner_incarnation = ?1 AND finished_at IS NULL ORDER BY id"
);
const LOSE_OWNER: &str =
    "UPDATE jobs SET owner_kind = NULL, owner_name = NULL, owner_incarnation = NULL WHERE id = ?1";

impl Writer<'_> {
    pub(crate) fn cancel(&mut self, id: JobId) -> Outcome<Result<JobState, JobRefused>> {
        match self.find_job(id)? {
            Some(mut job) => Ok(self.cancel_for(&mut job, CANCELLED)?.map_err(JobRefused::from)),
            None => Ok(Err(JobRefused::NoJob)),
        }
    }

    /// Cancels a job of this life by its unique key; one that is over or not there changes nothing.
    pub(crate) fn cancel_owned(&mut self, life: Incarnation, key: &UniqueKey) -> Outcome<()> {
        let Some(id) = self.owned_by_key(life, key)? else { return Ok(()) };
        let Some(mut job) = self.find_job(id)? else { return Ok(()) };
        match self.cancel_for(&mut job, CANCELLED)? {
            Ok(_) | Err(Misfit::Over(_)) => Ok(()),
            Err(misfit) => Err(impossible(misfit)),
        }
    }

    /// Cancels what a deleted object has not got an outcome of yet.
    pub(crate) fn cancel_jobs_of(&mut self, life: Incarnation) -> Outcome<()> {
        for mut job in self.db.all(UNFINISHED_OF, [life.0], job::decode)? {
            // An earlier one's end may have moved this one to another place.
            if job.state == JobState::Ready
                && let Some(now) = self.find_job(job.id)?
            {
                job = now;
            }
            let state = self.cancel_for(&mut job, OWNER_DELETED)?.map_err(impossible)?;
            if !state.is_over() {
                self.db.run(LOSE_OWNER, [job.id.0])?;
            }
        }
        Ok(())
    }

    /// Ends a job that waits; asks one that runs to stop.
    fn cancel_for(&mut self, job: &mut Job, reason: &str) -> Outcome<Result<JobState, Misfit>> {
        let next = match job.after(JobEvent::CancelAsked, self.now, 0) {
            Ok(next) => next,
            Err(misfit) => return Ok(Err(misfit)),
        };
        let was = job.state;
        if was == JobState::Running {
            self.woken.cancelling.push(job.id);
            self.held.running.remove(&job.id);
            self.db.run(ASK_TO_STOP, (job.id.0, reason, self.now.0))?;
            return Ok(Ok(next.state));
        }
        self.note_move(job, next.state, None, job.run_at);
        job.move_to(&next);
        job.reason = Some(reason.to_owned());
        self.db.run(END, (job.id.0, reason, self.now.0))?;
        if was == JobState::Scheduled {
            self.held.schedule.remove(job);
        } else {
            self.leave_place(job)?;
        }
        self.job_is_over(job, None)?;
        Ok(Ok(next.state))
    }

    pub(crate) fn retry(&mut self, id: JobId) -> Outcome<Result<JobState, JobRefused>> {
        let Some(mut job) = self.find_job(id)? else { return Ok(Err(JobRefused::NoJob)) };
        let next = match job.after(JobEvent::RetryAsked, self.now, 0) {
            Ok(next) => next,
            Err(misfit) => return Ok(Err(misfit.into())),
        };
        self.note_move(&job, next.state, None, job.run_at);
        job.move_to(&next);
        job.run_at = self.now;
        job.reason = None;
        self.choose_place(&mut job)?;
        let parked_on = job.parked_on.as_ref().map(LimitKey::as_str);
        self.db.run(RETRY, (id.0, parked_on, self.now.0))?;
        Ok(Ok(next.state))
    }
}
