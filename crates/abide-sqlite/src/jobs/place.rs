//! Where ready jobs wait: offered to claims, or parked under the key that blocks them.

use crate::error::Outcome;
use crate::jobs::job::{self, Job, Stream, job_columns};
use crate::writer::Writer;
use abide_core::name::LimitKey;

const BEST_PARKED: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE parked_on = ?1 AND queue = ?2 AND kind = ?3 ORDER BY priority DESC, run_at, id LIMIT 1"
);
const OFFER: &str = "UPDATE jobs SET parked_on = NULL WHERE id = ?1";
const PARK: &str = "UPDATE jobs SET parked_on = ?2 WHERE id = ?1";

impl Writer<'_> {
    /// Chooses where a job that becomes ready waits. The caller writes it down.
    pub(crate) fn choose_place(&mut self, job: &mut Job) -> Outcome<()> {
        for key in &job.limit_keys {
            let room = self.room(key)?;
            if self.lane(key, &job.stream)?.must_park(room) {
                let key = key.clone();
                return self.note_parked(job, key);
            }
        }
        self.note_offered(job)
    }

    fn note_offered(&mut self, job: &mut Job) -> Outcome<()> {
        for key in &job.limit_keys {
            self.change_lane(key, &job.stream, |lane| lane.offered += 1)?;
        }
        job.parked_on = None;
        if !self.woken.ready.contains(&job.stream) {
            self.woken.ready.insert(job.stream.clone());
        }
        self.held.offers.add(job);
        Ok(())
    }

    fn note_parked(&mut self, job: &mut Job, key: LimitKey) -> Outcome<()> {
        self.change_lane(&key, &job.stream, |lane| lane.parked += 1)?;
        self.set_wake(&key)?;
        job.parked_on = Some(key);
        Ok(())
    }

    /// Takes a job out of its place; its lanes are left as they are.
    pub(crate) fn lift(&mut self, job: &mut Job) -> Outcome<()> {
        match job.parked_on.take() {
            Some(key) => {
                self.change_lane(&key, &job.stream, |lane| lane.parked = lane.parked.saturating_sub(1))
            }
            None => {
                for key in &job.limit_keys {
                    self.change_lane(key, &job.stream, |lane| lane.offered = lane.offered.saturating_sub(1))?;
                }
                self.held.offers.remove(job);
                Ok(())
            }
        }
    }

    /// Takes a job out of its place, for good.
    pub(crate) fn leave_place(&mut self, job: &mut Job) -> Outcome<()> {
        let parked_on = job.parked_on.clone();
        self.lift(job)?;
        match parked_on {
            Some(key) => self.set_wake(&key),
            None => self.refill_lanes_of(job),
        }
    }

    /// Moves an offered job under a key that turned out to be full.
    pub(crate) fn park_offered(&mut self, mut job: Job, key: LimitKey) -> Outcome<()> {
        self.lift(&mut job)?;
        self.db.run(PARK, (job.id.0, key.as_str()))?;
        self.note_parked(&mut job, key)?;
        self.refill_lanes_of(&job)
    }

    /// An offered job of these lanes is gone: others may come forward.
    pub(crate) fn refill_lanes_of(&mut self, job: &Job) -> Outcome<()> {
        for key in &job.limit_keys {
            self.refill(key, &job.stream)?;
            self.set_wake(key)?;
        }
        Ok(())
    }

    /// Something about a key changed: every lane of it is refilled.
    pub(crate) fn refill_key(&mut self, key: &LimitKey) -> Outcome<()> {
        let streams: Vec<Stream> = self.key(key)?.lanes.keys().cloned().collect();
        for stream in streams {
            self.refill(key, &stream)?;
        }
        self.set_wake_anew(key)
    }

    fn refill(&mut self, key: &LimitKey, stream: &Stream) -> Outcome<()> {
        loop {
            let room = self.room(key)?;
            if !self.lane(key, stream)?.should_offer(room) {
                return Ok(());
            }
            let best = (key.as_str(), stream.0.as_str(), stream.1.as_str());
            let Some(mut job) = self.db.one(BEST_PARKED, best, job::decode)? else { return Ok(()) };
            self.lift(&mut job)?;
            self.db.run(OFFER, [job.id.0])?;
            self.note_offered(&mut job)?;
        }
    }
}
