//! Jobs: pieces of outside work.

mod lifecycle;

pub use lifecycle::{JobEvent, Misfit, Next, Standing};

use crate::json::{BadJson, Json};
use crate::limits::{LIMIT_KEYS_PER_JOB, OverBound, VALUE_BYTES, cut_reason, within};
use crate::name::{BadName, JobKind, LimitKey, QueueName, UniqueKey, WorkerId};
use crate::object::{Incarnation, ObjectKey};
use crate::retry::Backoff;
use crate::seed::mix;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names one job. Rises with every job of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub i64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits for its time.
    Scheduled,
    /// Could start now, or waits at a limit.
    Ready,
    /// Leased to a worker.
    Running,
    /// Did its work.
    Done,
    /// Ended without effect and without error.
    Skipped,
    /// A dead letter: used up its attempts.
    Failed,
    /// Was cancelled.
    Cancelled,
}

impl JobState {
    /// Every state, in the order of a job's life.
    pub const ALL: [JobState; 7] = [
        JobState::Scheduled,
        JobState::Ready,
        JobState::Running,
        JobState::Done,
        JobState::Skipped,
        JobState::Failed,
        JobState::Cancelled,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            JobState::Scheduled => "scheduled",
            JobState::Ready => "ready",
            JobState::Running => "running",
            JobState::Done => "done",
            JobState::Skipped => "skipped",
            JobState::Failed => "failed",
            JobState::Cancelled => "cancelled",
        }
    }

    /// The state of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<JobState> {
        JobState::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether it is over, unless somebody asks for a retry.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            JobState::Scheduled | JobState::Ready | JobState::Running => false,
            JobState::Done | JobState::Skipped | JobState::Failed | JobState::Cancelled => true,
        }
    }
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A job to be enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Into which queue.
    pub queue: QueueName,
    /// Which workers can run it.
    pub kind: JobKind,
    /// What it is about.
    pub payload: Json,
    /// Higher starts first.
    pub priority: i32,
    /// Not before this.
    pub run_at: Option<Time>,
    /// A second job with the same key changes nothing: per owner if a commit enqueues it, otherwise per queue.
    pub unique_key: Option<UniqueKey>,
    /// Limits it must pass, all of them.
    pub limit_keys: Vec<LimitKey>,
    /// Failures after which it is a dead letter; the queue's policy if none.
    pub max_attempts: Option<u32>,
    /// The wait between attempts; the queue's policy if none.
    pub backoff: Option<Backoff>,
    /// W3C trace context of whoever enqueued it.
    pub trace: Option<String>,
}

impl NewJob {
    /// A job with nothing but what it must have.
    #[must_use]
    pub fn new(queue: QueueName, kind: JobKind, payload: Json) -> NewJob {
        NewJob {
            queue,
            kind,
            payload,
            priority: 0,
            run_at: None,
            unique_key: None,
            limit_keys: Vec::new(),
            max_attempts: None,
            backoff: None,
            trace: None,
        }
    }

    /// A job from plain names and a payload that is written as JSON.
    pub fn of<P: Serialize>(queue: &str, kind: &str, payload: &P) -> Result<NewJob, BadJob> {
        Ok(NewJob::new(QueueName::new(queue)?, JobKind::new(kind)?, Json::encode(payload)?))
    }

    /// Bytes of what it carries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.payload.len()
            + self.unique_key.as_ref().map_or(0, |k| k.as_str().len())
            + self.limit_keys.iter().map(|k| k.as_str().len()).sum::<usize>()
    }

    /// Checks its bounds.
    pub fn check(&self) -> Result<(), OverBound> {
        within("bytes in a job's payload", VALUE_BYTES, self.payload.len())?;
        within("limit keys of a job", LIMIT_KEYS_PER_JOB, self.limit_keys.len())
    }
}

/// A job that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadJob {
    /// A name cannot be used.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The payload cannot be written as JSON.
    #[error("the payload cannot be written as JSON: {0}")]
    Json(#[from] BadJson),
}

/// Who gets a job's outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The object.
    pub object: ObjectKey,
    /// In this life only.
    pub incarnation: Incarnation,
}

/// Proof that a lease is the current one. Drawn for each claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseToken(u64);

impl LeaseToken {
    /// The token of `job` in the claim that was given `seed`.
    #[must_use]
    pub fn draw(seed: u64, job: JobId, attempt: u32) -> LeaseToken {
        LeaseToken(mix(mix(seed, job.0.unsigned_abs()), u64::from(attempt)))
    }

    /// As text: 16 hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        format!("{:016x}", self.0)
    }

    /// From text.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<LeaseToken> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u64::from_str_radix(text, 16).ok().map(LeaseToken)).flatten()
    }
}

impl Serialize for LeaseToken {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

impl<'de> Deserialize<'de> for LeaseToken {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<LeaseToken, D::Error> {
        let text = String::deserialize(deserializer)?;
        LeaseToken::from_hex(&text)
            .ok_or_else(|| serde::de::Error::custom("a lease token is 16 hexadecimal digits"))
    }
}

/// Names one attempt of a job. Every write about a running job is fenced by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeaseRef {
    /// Which job.
    pub job: JobId,
    /// Which attempt.
    pub attempt: u32,
    /// The proof.
    pub token: LeaseToken,
}

/// A claimed job, as its worker gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Lease {
    /// Which job, which attempt, the proof.
    #[serde(flatten)]
    pub lease: LeaseRef,
    /// Its queue.
    pub queue: QueueName,
    /// Its kind.
    pub kind: JobKind,
    /// What it is about.
    pub payload: Json,
    /// Its unique key.
    pub unique_key: Option<UniqueKey>,
    /// Failures before this attempt.
    pub failures: u32,
    /// Failures after which it is a dead letter.
    pub max_attempts: u32,
    /// When the lease ends unless it is renewed.
    pub lease_expires_at: Time,
    /// W3C trace context of whoever enqueued it.
    pub trace: Option<String>,
}

impl Lease {
    /// What becomes of the job if this attempt ends so, and nobody cancelled it, and it was not cut short too often.
    #[must_use]
    pub fn becomes(&self, end: &AttemptEnd) -> JobState {
        match end {
            AttemptEnd::Done { .. } => JobState::Done,
            AttemptEnd::Skipped { .. } => JobState::Skipped,
            AttemptEnd::HandedBack => JobState::Ready,
            AttemptEnd::Error { retry: RetryWish::Never, .. } => JobState::Failed,
            AttemptEnd::Error { retry: RetryWish::UncountedAfterMs(_), .. } => JobState::Scheduled,
            AttemptEnd::Error { retry: RetryWish::ByPolicy | RetryWish::AfterMs(_), .. } => {
                if self.failures + 1 < self.max_attempts { JobState::Scheduled } else { JobState::Failed }
            }
        }
    }
}

/// What a worker reports at the end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finish {
    /// How it ended.
    pub end: AttemptEnd,
    /// Limit keys whose rate is given back: the work turned out not to touch what they protect.
    pub refund: Vec<LimitKey>,
    /// Limit keys that must rest: a server said `Retry-After`.
    pub cool_down: Vec<CoolDown>,
}

impl Finish {
    /// Keeps what a worker reports within its bounds, saying so where something is lost.
    pub fn bound(&mut self) {
        match &mut self.end {
            AttemptEnd::Done { result } if result.len() > VALUE_BYTES => {
                let over =
                    OverBound { what: "bytes in a job's result", bound: VALUE_BYTES, given: result.len() };
                self.end = AttemptEnd::Error { reason: over.to_string(), retry: RetryWish::Never };
            }
            AttemptEnd::Skipped { reason } | AttemptEnd::Error { reason, .. } => {
                *reason = cut_reason(reason).to_owned();
            }
            AttemptEnd::Done { .. } | AttemptEnd::HandedBack => {}
        }
    }
}

impl From<AttemptEnd> for Finish {
    fn from(end: AttemptEnd) -> Finish {
        Finish { end, refund: Vec::new(), cool_down: Vec::new() }
    }
}

/// Stay away from a key for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoolDown {
    /// From which.
    pub key: LimitKey,
    /// For how long.
    pub for_ms: i64,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptEnd {
    /// The work is done.
    Done {
        /// What came of it.
        result: Json,
    },
    /// There was nothing to do, and that is no error.
    Skipped {
        /// Why.
        reason: String,
    },
    /// It failed.
    Error {
        /// Why.
        reason: String,
        /// Whether and when to try again.
        retry: RetryWish,
    },
    /// The worker gives it back unfinished: it is being shut down. Does not count as a failure.
    HandedBack,
}

impl AttemptEnd {
    /// Whether the attempt is as if it had not been.
    #[must_use]
    pub const fn is_uncounted(&self) -> bool {
        match self {
            AttemptEnd::HandedBack | AttemptEnd::Error { retry: RetryWish::UncountedAfterMs(_), .. } => true,
            AttemptEnd::Done { .. } | AttemptEnd::Skipped { .. } | AttemptEnd::Error { .. } => false,
        }
    }
}

/// What the worker knows about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryWish {
    /// By the job's backoff, while it has attempts.
    ByPolicy,
    /// After this many milliseconds, while it has attempts.
    AfterMs(i64),
    /// After this many milliseconds, and this attempt does not count: whoever it asked had no room for it.
    UncountedAfterMs(i64),
    /// Never: trying again cannot help.
    Never,
}

/// What the owner is told when a job is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutcome {
    /// Which job.
    pub job: JobId,
    /// By which key the owner enqueued it.
    pub unique_key: Option<UniqueKey>,
    /// Its kind.
    pub kind: JobKind,
    /// The last attempt; 0 if it never ran.
    pub attempt: u32,
    /// How it ended: a state that is over.
    pub state: JobState,
    /// What came of it, if it is done. A result of `null` is one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Json::present")]
    pub result: Option<Json>,
    /// Why it was skipped, failed or was cancelled.
    pub reason: Option<String>,
}

/// One attempt of a job, as history keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Which.
    pub attempt: u32,
    /// Who ran it.
    pub worker: WorkerId,
    /// From when.
    pub started_at: Time,
    /// Until when.
    pub ended_at: Time,
    /// How it ended.
    pub end: AttemptWord,
    /// Why, if not done.
    pub reason: Option<String>,
}

/// How an attempt ended, as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptWord {
    /// Done.
    Done,
    /// Skipped.
    Skipped,
    /// Failed.
    Error,
    /// The lease ran out while the engine lived.
    Expired,
    /// The worker gave it back.
    HandedBack,
    /// The engine that ran it ended.
    Restarted,
}

impl AttemptWord {
    /// Every word.
    pub const ALL: [AttemptWord; 6] = [
        AttemptWord::Done,
        AttemptWord::Skipped,
        AttemptWord::Error,
        AttemptWord::Expired,
        AttemptWord::HandedBack,
        AttemptWord::Restarted,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            AttemptWord::Done => "done",
            AttemptWord::Skipped => "skipped",
            AttemptWord::Error => "error",
            AttemptWord::Expired => "expired",
            AttemptWord::HandedBack => "handed_back",
            AttemptWord::Restarted => "restarted",
        }
    }

    /// The end of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<AttemptWord> {
        AttemptWord::ALL.into_iter().find(|end| end.as_str() == word)
    }
}
