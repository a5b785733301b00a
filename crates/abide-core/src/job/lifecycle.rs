//! The lifecycle of a job, as a pure function.
//!
//! ```text
//! scheduled ──due──► ready ──claimed──► running ──done──► done
//!     ▲                ▲                  │  │  └─skipped─► skipped
//!     │                └──lease expired───┘  ├──no attempts left──► failed
//!     └───────────────error, retried─────────┘  (any unfinished) ──cancel──► cancelled
//! ```

use super::{AttemptEnd, AttemptWord, JobState, RetryWish};
use crate::limits::JOB_RESTARTS;
use crate::retry::Backoff;
use crate::seed::Seed;
use crate::time::Time;

/// What the lifecycle needs to know of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Where it is.
    pub state: JobState,
    /// Attempts that count against it.
    pub failures: u32,
    /// Attempts that the end of their engine cut short.
    pub restarts: u32,
    /// Failures after which it is a dead letter.
    pub max_attempts: u32,
    /// The wait between attempts.
    pub backoff: Backoff,
    /// Whether it is to end at its worker's next word.
    pub cancel_asked: bool,
}

/// What happens to a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEvent<'a> {
    /// Its time has come.
    Due,
    /// A worker takes it.
    Claimed,
    /// The holder of its lease reports.
    Finished(&'a AttemptEnd),
    /// Its lease ran out while the engine lived.
    Expired,
    /// The engine that ran it has ended.
    Restarted,
    /// Somebody wants it not to run.
    CancelAsked,
    /// Somebody wants it to run again, with fresh attempts.
    RetryAsked,
}

/// Where a job goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The new state.
    pub state: JobState,
    /// When it may run, if it is scheduled.
    pub run_at: Option<Time>,
    /// Attempts that count against it.
    pub failures: u32,
    /// Attempts that were cut short.
    pub restarts: u32,
    /// Whether it is to end at its worker's next word.
    pub cancel_asked: bool,
    /// The attempt that ended by this, if one did, and why if not done.
    pub ended: Option<(AttemptWord, Option<String>)>,
}

/// The event does not fit the state: nothing changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// It is over already.
    #[error("the job is {0} already")]
    Over(JobState),
    /// It is not over yet.
    #[error("the job is {0}: only one that is over can be retried")]
    NotOver(JobState),
    /// It did its work; running it again would do it twice.
    #[error("the job is done: enqueue a new one to do it again")]
    DoneAlready,
    /// It is not running.
    #[error("the job is {0}, not running")]
    NotRunning(JobState),
    /// It is not waiting.
    #[error("the job is {0}, not waiting")]
    NotWaiting(JobState),
}

impl Standing {
    /// The lifecycle: where `event` takes a job that stands like this.
    pub fn after(&self, event: JobEvent<'_>, now: Time, seed: &mut Seed) -> Result<Next, Misfit> {
        use JobState::{Cancelled, Done, Failed, Ready, Running, Scheduled, Skipped};
        match (self.state, event) {
            (Scheduled, JobEvent::Due) => Ok(self.to(Ready)),
            (Ready, JobEvent::Claimed) => Ok(self.to(Running)),
            (Running, JobEvent::Finished(end)) => Ok(self.after_attempt(end, now, seed)),
            (Running, JobEvent::Expired) => Ok(self.cut_short(AttemptWord::Expired)),
            (Running, JobEvent::Restarted) => Ok(self.cut_short(AttemptWord::Restarted)),
            (Scheduled | Ready, JobEvent::CancelAsked) => Ok(self.to(Cancelled)),
            (Running, JobEvent::CancelAsked) => Ok(Next { cancel_asked: true, ..self.to(Running) }),
            (Skipped | Failed | Cancelled, JobEvent::RetryAsked) => {
                Ok(Next { failures: 0, restarts: 0, cancel_asked: false, ..self.to(Ready) })
            }
            (Done, JobEvent::RetryAsked) => Err(Misfit::DoneAlready),
            (Scheduled | Ready | Running, JobEvent::RetryAsked) => Err(Misfit::NotOver(self.state)),
            (Done | Skipped | Failed | Cancelled, JobEvent::CancelAsked) => Err(Misfit::Over(self.state)),
            (_, JobEvent::Finished(_) | JobEvent::Expired | JobEvent::Restarted) => {
                Err(Misfit::NotRunning(self.state))
            }
            (_, JobEvent::Due | JobEvent::Claimed) => Err(Misfit::NotWaiting(self.state)),
        }
    }

    fn to(&self, state: JobState) -> Next {
        Next {
            state,
            run_at: None,
            failures: self.failures,
            restarts: self.restarts,
            cancel_asked: self.cancel_asked && state == JobState::Running,
            ended: None,
        }
    }

    fn after_attempt(&self, end: &AttemptEnd, now: Time, seed: &mut Seed) -> Next {
        let (word, reason) = match end {
            AttemptEnd::Done { .. } => (AttemptWord::Done, None),
            AttemptEnd::Skipped { reason } => (AttemptWord::Skipped, Some(reason.clone())),
            AttemptEnd::Error { reason, .. } => (AttemptWord::Error, Some(reason.clone())),
            AttemptEnd::HandedBack => return self.cut_short(AttemptWord::HandedBack),
        };
        let ended = Some((word, reason));
        if self.cancel_asked {
            return Next { ended, ..self.to(JobState::Cancelled) };
        }
        match end {
            AttemptEnd::Done { .. } => Next { ended, ..self.to(JobState::Done) },
            AttemptEnd::Skipped { .. } => Next { ended, ..self.to(JobState::Skipped) },
            AttemptEnd::Error { retry, .. } => {
                let counts = !matches!(retry, RetryWish::UncountedAfterMs(_));
                let failures = self.failures + u32::from(counts);
                let wait_ms = match retry {
                    RetryWish::Never => None,
                    RetryWish::AfterMs(ms) | RetryWish::UncountedAfterMs(ms) => Some((*ms).max(0)),
                    RetryWish::ByPolicy => Some(self.backoff.delay_ms(failures, seed)),
                };
                match wait_ms.filter(|_| !counts || failures < self.max_attempts) {
                    Some(ms) => Next {
                        run_at: Some(now.plus_ms(ms)),
                        failures,
                        ended,
                        ..self.to(JobState::Scheduled)
                    },
                    None => Next { failures, ended, ..self.to(JobState::Failed) },
                }
            }
            AttemptEnd::HandedBack => self.cut_short(AttemptWord::HandedBack),
        }
    }

    fn cut_short(&self, word: AttemptWord) -> Next {
        // What was handed back in good order says nothing against the job: however often engines are stopped, or runs end,
        // before a long one is through.
        let failures = self.failures + u32::from(word == AttemptWord::Expired);
        let restarts = self.restarts + u32::from(word == AttemptWord::Restarted);
        let reason = match word {
            AttemptWord::Expired => "the lease ran out without a word from the worker",
            AttemptWord::Restarted => "the engine that ran it ended",
            AttemptWord::HandedBack => "the worker gave it back",
            AttemptWord::Done | AttemptWord::Skipped | AttemptWord::Error => "",
        };
        let state = if self.cancel_asked {
            JobState::Cancelled
        } else if failures >= self.max_attempts || restarts >= JOB_RESTARTS {
            JobState::Failed
        } else {
            JobState::Ready
        };
        Next { failures, restarts, ended: Some((word, Some(reason.to_owned()))), ..self.to(state) }
    }
}
