//! One job as the writer sees it: everything but what it carries.

use crate::db::Columns;
use crate::error::{Fault, Outcome};
use crate::writer::Writer;
use abide_core::job::{AttemptWord, JobEvent, JobId, JobState, LeaseToken, Misfit, Next, Owner, Standing};
use abide_core::json::Json;
use abide_core::name::{JobKind, LimitKey, QueueName, UniqueKey, WorkerId};
use abide_core::object::{Incarnation, Life};
use abide_core::retry::Backoff;
use abide_core::seed::Seed;
use abide_core::time::Time;
use abide_store::write::JobMove;
use std::cmp::Reverse;

/// A queue and a kind: what a claim chooses from.
pub(crate) type Stream = (QueueName, JobKind);

/// A job.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    /// Its queue and kind.
    pub(crate) stream: Stream,
    pub(crate) state: JobState,
    pub(crate) priority: i32,
    pub(crate) run_at: Time,
    /// The key under which it is parked, if it is.
    pub(crate) parked_on: Option<LimitKey>,
    pub(crate) attempt: u32,
    pub(crate) failures: u32,
    pub(crate) restarts: u32,
    pub(crate) cancel_asked: bool,
    /// Of the running attempt, or of the last one if its worker ended it.
    pub(crate) token: Option<LeaseToken>,
    pub(crate) running: Option<Running>,
    pub(crate) max_attempts: u32,
    pub(crate) backoff: Backoff,
    pub(crate) unique_key: Option<UniqueKey>,
    /// Where its unique key keeps others out, as long as it does.
    pub(crate) key_scope: Option<String>,
    pub(crate) limit_keys: Vec<LimitKey>,
    pub(crate) owner: Option<Owner>,
    pub(crate) reason: Option<String>,
    /// What it carries, if it is at hand.
    pub(crate) carried: Option<Carried>,
}

/// What a job carries from whoever enqueued it to whoever runs it.
#[derive(Debug, Clone)]
pub(crate) struct Carried {
    pub(crate) payload: Json,
    pub(crate) trace: Option<String>,
}

/// What is true of a job while it runs.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) worker: WorkerId,
    pub(crate) started_at: Time,
    /// Whether it gave back the places of its limit keys.
    pub(crate) has_vacated: bool,
}

/// The order in which ready jobs start: the least is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub(crate) priority: Reverse<i32>,
    pub(crate) run_at: Time,
    pub(crate) job: JobId,
}

/// The columns that [`decode`] reads, in its order.
macro_rules! job_columns {
    () => {
        "id, queue, kind, state, priority, run_at, parked_on, attempt, failures, restarts, cancel_asked, token,
         worker, started_at, max_attempts, backoff_base_ms, backoff_cap_ms, unique_key,
         key_scope, limit_keys, owner_kind, owner_name, owner_incarnation, reason, has_vacated"
    };
}
pub(crate) use job_columns;

const FIND: &str = concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = ?1");

impl Job {
    pub(crate) fn queue(&self) -> &QueueName {
        &self.stream.0
    }

    pub(crate) fn kind(&self) -> &JobKind {
        &self.stream.1
    }

    pub(crate) fn rank(&self) -> Rank {
        Rank { priority: Reverse(self.priority), run_at: self.run_at, job: self.id }
    }

    /// Where the lifecycle takes it.
    pub(crate) fn after(&self, event: JobEvent<'_>, now: Time, seed: u64) -> Result<Next, Misfit> {
        let standing = Standing {
            state: self.state,
            failures: self.failures,
            restarts: self.restarts,
            max_attempts: self.max_attempts,
            backoff: self.backoff,
            cancel_asked: self.cancel_asked,
        };
        standing.after(event, now, &mut Seed::new(seed))
    }

    /// Moves to where the lifecycle says.
    pub(crate) fn move_to(&mut self, next: &Next) {
        self.state = next.state;
        self.failures = next.failures;
        self.restarts = next.restarts;
        self.cancel_asked = next.cancel_asked;
    }
}

impl Writer<'_> {
    /// Counts a move of a job and tells the engine. To be called before the job moves.
    pub(crate) fn note_move(&mut self, job: &Job, to: JobState, ended: Option<AttemptWord>, since: Time) {
        self.held.queues.count_move(job.queue(), job.state, to);
        self.tell_move(job, Some(job.state), to, ended, since);
    }

    /// Counts a job that is new and tells the engine.
    pub(crate) fn note_new(&mut self, job: &Job) {
        self.held.queues.add(job.queue(), job.state);
        self.tell_move(job, None, job.state, None, job.run_at);
    }

    fn tell_move(
        &mut self,
        job: &Job,
        from: Option<JobState>,
        to: JobState,
        ended: Option<AttemptWord>,
        since: Time,
    ) {
        let (queue, kind) = job.stream.clone();
        let attempt = job.attempt;
        self.woken.moves.push(JobMove { job: job.id, queue, kind, from, to, attempt, ended, since });
    }

    pub(crate) fn find_job(&self, id: JobId) -> Outcome<Option<Job>> {
        self.db.one(FIND, [id.0], decode)
    }
}

/// A move that the lifecycle refuses, of a job that was looked up in the state that allows it.
pub(crate) fn impossible(misfit: Misfit) -> Fault {
    Fault::Damaged(format!("a job is not where it was found: {misfit}"))
}

/// A job from its columns.
pub(crate) fn decode(row: Columns<'_>) -> Outcome<Job> {
    let damaged = |what: &str| Fault::Damaged(format!("job {:?} has no {what}", row.int(0)));
    let running = match row.opt_text(12)? {
        Some(worker) => Some(Running {
            worker: WorkerId::trusted(worker),
            started_at: row.time(13)?,
            has_vacated: row.flag(24)?,
        }),
        None => None,
    };
    let owner = match row.opt_int(22)? {
        Some(life) => Some(Owner { object: row.object(20)?, incarnation: Incarnation(life) }),
        None => None,
    };
    let token = match row.opt_text(11)? {
        Some(token) => Some(LeaseToken::from_hex(token).ok_or_else(|| damaged("readable token"))?),
        None => None,
    };
    Ok(Job {
        id: JobId(row.int(0)?),
        stream: (QueueName::trusted(row.text(1)?), JobKind::trusted(row.text(2)?)),
        state: decode_state(row.text(3)?)?,
        priority: i32::try_from(row.int(4)?).map_err(|_| damaged("possible priority"))?,
        run_at: row.time(5)?,
        parked_on: row.opt_text(6)?.map(LimitKey::trusted),
        attempt: row.count(7)?,
        failures: row.count(8)?,
        restarts: row.count(9)?,
        cancel_asked: row.flag(10)?,
        token,
        running,
        max_attempts: row.count(14)?,
        backoff: Backoff { base_ms: row.int(15)?, cap_ms: row.int(16)? },
        unique_key: row.opt_text(17)?.map(UniqueKey::trusted),
        key_scope: row.opt_text(18)?.map(str::to_owned),
        limit_keys: decode_keys(row.opt_text(19)?)?,
        owner,
        reason: row.opt_text(23)?.map(str::to_owned),
        carried: None,
    })
}

pub(crate) fn decode_state(word: &str) -> Outcome<JobState> {
    JobState::parse(word).ok_or_else(|| Fault::Damaged(format!("{word:?} is not a job's state")))
}

pub(crate) fn decode_life(life: Option<i64>) -> Outcome<Option<Life>> {
    let damaged = |_| Fault::Damaged("a life is not a number of 32 bits".into());
    life.map(|life| u32::try_from(life).map(Life).map_err(damaged)).transpose()
}

/// Limit keys are kept as a JSON array; a job without any has none.
pub(crate) fn decode_keys(keys: Option<&str>) -> Outcome<Vec<LimitKey>> {
    match keys {
        Some(keys) => Ok(serde_json::from_str(keys)?),
        None => Ok(Vec::new()),
    }
}
