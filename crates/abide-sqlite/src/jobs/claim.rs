//! Claims: jobs for a worker, best first, never past a limit.

use crate::error::{Fault, Outcome};
use crate::jobs::job::{self, Carried, Job, Rank, Running, Stream, impossible, job_columns};
use crate::writer::Writer;
use abide_core::job::{JobEvent, JobId, Lease, LeaseRef, LeaseToken};
use abide_core::limit::Room;
use abide_core::limits::{CLAIM_LOOKS, PAGE_BYTES};
use abide_core::name::{IdempotencyKey, LimitKey, QueueName};
use abide_core::time::{Time, earliest};
use abide_store::write::{Claim, Claimed, Renewal};
use std::collections::BTreeSet;

const MAKE_READY: &str = "UPDATE jobs SET state = 'ready', parked_on = ?2, updated_at = ?3 WHERE id = ?1";
const LEASE: &str = "UPDATE jobs SET state = 'running', attempt = ?2, worker = ?3, life = ?4, token = ?5,
         started_at = ?6, lease_expires_at = ?7, updated_at = ?6, claim_key = ?8, progress = NULL,
         has_vacated = 0
     WHERE id = ?1";
const UNDER_KEY: &str = concat!(
    "SELECT ",
    job_columns!(),
    " FROM jobs WHERE worker = ?1 AND claim_key IS NOT NULL AND claim_key = ?2 ORDER BY id"
);
const CARRIED: &str = "SELECT payload, trace FROM job_payloads WHERE job = ?1";

impl Writer<'_> {
    pub(crate) fn claim(&mut self, claim: &Claim) -> Outcome<Claimed> {
        let leases = self.held_under_key(claim)?;
        if !leases.is_empty() {
            return Ok(Claimed { leases, more: false, next_at: None });
        }
        self.make_due()?;
        for key in self.held.limits.to_open(self.now, CLAIM_LOOKS) {
            self.refill_key(&key)?;
        }
        let mut heads = self.heads(claim)?;
        let mut leases = Vec::new();
        let (mut looks, mut bytes) = (0, 0);
        while leases.len() < claim.max
            && looks < CLAIM_LOOKS
            && bytes < PAGE_BYTES
            && let Some((rank, stream)) = self.best(&mut heads)?
        {
            looks += 1;
            let Some(job) = self.held.offers.get(&stream, &rank).cloned() else { break };
            match self.first_full_key(&job)? {
                Some(key) => self.park_offered(job, key)?,
                None => {
                    let lease = self.lease(job, claim)?;
                    bytes += lease.payload.len();
                    leases.push(lease);
                }
            }
            // Whatever was brought forward meanwhile is of the same stream.
            let wanted = claim.max - leases.len();
            if let Some(next) = self.held.offers.best(&self.db, &stream, wanted)? {
                heads.insert((next, stream));
            }
        }
        let more = self.best(&mut heads)?.is_some();
        let next_at = if more { None } else { self.next_claim_at(claim)? };
        Ok(Claimed { leases, more, next_at })
    }

    /// What the worker holds that it got under this key: its leases are lengthened, and it hears of them again.
    fn held_under_key(&mut self, claim: &Claim) -> Outcome<Vec<Lease>> {
        let Some(key) = &claim.key else { return Ok(Vec::new()) };
        let held = self.db.all(UNDER_KEY, (claim.worker.as_str(), key.as_str()), job::decode)?;
        let mut leases = Vec::with_capacity(held.len());
        for job in held {
            let Some(token) = job.token else { continue };
            let lease = LeaseRef { job: job.id, attempt: job.attempt, token };
            if let [Renewal::Held { until, .. }] = self.renew(&[lease], claim.lease_ms)?[..] {
                leases.push(self.hand_out(job, token, until)?);
            }
        }
        Ok(leases)
    }

    fn make_due(&mut self) -> Outcome<()> {
        for mut job in self.held.schedule.due(&self.db, self.now, CLAIM_LOOKS)? {
            let next = job.after(JobEvent::Due, self.now, 0).map_err(impossible)?;
            self.note_move(&job, next.state, None, job.run_at);
            self.held.schedule.remove(&job);
            job.move_to(&next);
            self.choose_place(&mut job)?;
            let parked_on = job.parked_on.as_ref().map(LimitKey::as_str);
            self.db.run(MAKE_READY, (job.id.0, parked_on, self.now.0))?;
        }
        self.held.schedule.look_ahead(&self.db, self.now)
    }

    /// The best job of each stream that is asked for and has one.
    fn heads(&mut self, claim: &Claim) -> Outcome<BTreeSet<(Rank, Stream)>> {
        let each = claim.max / (claim.queues.len() * claim.kinds.len()).max(1);
        let mut heads = BTreeSet::new();
        for queue in &claim.queues {
            if !self.is_open(queue)? {
                continue;
            }
            for kind in &claim.kinds {
                let stream = (queue.clone(), kind.clone());
                if let Some(rank) = self.held.offers.best(&self.db, &stream, each)? {
                    heads.insert((rank, stream));
                }
            }
        }
        Ok(heads)
    }

    /// Takes the best job of a queue that is still open.
    fn best(&mut self, heads: &mut BTreeSet<(Rank, Stream)>) -> Outcome<Option<(Rank, Stream)>> {
        while let Some((rank, stream)) = heads.pop_first() {
            if self.is_open(&stream.0)? {
                return Ok(Some((rank, stream)));
            }
        }
        Ok(None)
    }

    fn is_open(&mut self, queue: &QueueName) -> Outcome<bool> {
        let own_key = self.own_key(queue);
        Ok(!self.is_paused(queue) && !self.is_full(&own_key)?)
    }

    fn first_full_key(&mut self, job: &Job) -> Outcome<Option<LimitKey>> {
        for key in &job.limit_keys {
            if self.is_full(key)? {
                return Ok(Some(key.clone()));
            }
        }
        Ok(None)
    }

    /// Leases an offered job that passes all its limits.
    fn lease(&mut self, mut job: Job, claim: &Claim) -> Outcome<Lease> {
        self.lift(&mut job)?;
        let own_key = self.own_key(job.queue());
        self.take_key(&own_key)?;
        for key in &job.limit_keys {
            self.take_key(key)?;
        }
        let next = job.after(JobEvent::Claimed, self.now, 0).map_err(impossible)?;
        job.attempt += 1;
        self.note_move(&job, next.state, None, job.run_at);
        job.move_to(&next);
        let token = LeaseToken::draw(claim.seed, job.id, job.attempt);
        let expires_at = self.now.plus_ms(claim.lease_ms);
        let life = claim.life.map(|life| life.0);
        let (id, worker) = (job.id.0, claim.worker.as_str());
        let key = claim.key.as_ref().map(IdempotencyKey::as_str);
        let lease = (id, job.attempt, worker, life, token.to_hex(), self.now.0, expires_at.0, key);
        self.db.run(LEASE, lease)?;
        self.woken.lease(expires_at);
        self.refill_lanes_of(&job)?;
        self.set_wake(&own_key)?;
        job.token = Some(token);
        job.running =
            Some(Running { worker: claim.worker.clone(), started_at: self.now, has_vacated: false });
        self.hand_out(job, token, expires_at)
    }

    /// The lease as its worker gets it.
    fn hand_out(&mut self, mut job: Job, token: LeaseToken, lease_expires_at: Time) -> Outcome<Lease> {
        let Carried { payload, trace } = match job.carried.take() {
            Some(carried) => carried,
            None => self.carried_by(job.id)?,
        };
        let lease = Lease {
            lease: LeaseRef { job: job.id, attempt: job.attempt, token },
            queue: job.queue().clone(),
            kind: job.kind().clone(),
            payload,
            unique_key: job.unique_key.clone(),
            failures: job.failures,
            max_attempts: job.max_attempts,
            lease_expires_at,
            trace,
        };
        self.held.running.insert(job.id, job);
        Ok(lease)
    }

    fn carried_by(&self, job: JobId) -> Outcome<Carried> {
        let carried = self.db.one(CARRIED, [job.0], |row| {
            Ok(Carried { payload: row.json(0)?, trace: row.opt_text(1)?.map(str::to_owned) })
        })?;
        carried.ok_or_else(|| Fault::Damaged(format!("job {job} has no payload")))
    }

    /// When asking again may give more, if time alone can change it.
    fn next_claim_at(&mut self, claim: &Claim) -> Outcome<Option<Time>> {
        let mut next = self.held.limits.first_opening();
        for queue in &claim.queues {
            for kind in &claim.kinds {
                let stream = (queue.clone(), kind.clone());
                next = earliest(next, self.held.schedule.next_of(&self.db, &stream)?);
            }
            let own_key = self.own_key(queue);
            if let Room::Full(blocked) = self.room(&own_key)? {
                next = earliest(next, blocked.until());
            }
        }
        Ok(next)
    }
}
