//! Why is it not running? A closed set of causes, all that hold at once.

use crate::job::JobState;
use crate::limit::{Blocked, Rate, Room};
use crate::name::{JobKind, LimitKey, QueueName, WorkerId};
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// One cause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "cause")]
pub enum Cause {
    /// It is over.
    Ended {
        /// How.
        state: JobState,
    },
    /// It used up its attempts: replay it with `retry`.
    DeadLetter {
        /// Attempts that counted.
        failures: u32,
        /// The last error.
        reason: Option<String>,
    },
    /// It is running.
    Running {
        /// Who runs it.
        worker: WorkerId,
        /// Which attempt.
        attempt: u32,
        /// When the lease ends unless it is renewed.
        lease_expires_at: Time,
    },
    /// It is running and has been asked to stop.
    Cancelling,
    /// Its time has not come.
    Scheduled {
        /// When it comes.
        run_at: Time,
    },
    /// It failed, or was put off, and waits before the next attempt.
    BackingOff {
        /// Until when.
        run_at: Time,
        /// Failures so far; none if it was only put off.
        failures: u32,
        /// The last error.
        reason: Option<String>,
    },
    /// Its queue is paused.
    QueuePaused {
        /// Which.
        queue: QueueName,
    },
    /// As many jobs as the key allows are running.
    Concurrency {
        /// Which key.
        key: LimitKey,
        /// How many it allows.
        limit: u32,
        /// How many run.
        in_use: u32,
        /// Waiting at the key before this one.
        ahead: Ahead,
    },
    /// A rate of the key is used up.
    RateLimited {
        /// Which key.
        key: LimitKey,
        /// Which rate.
        rate: Rate,
        /// Until when.
        until: Time,
        /// Waiting at the key before this one.
        ahead: Ahead,
    },
    /// A server said to stay away.
    CoolingDown {
        /// Which key.
        key: LimitKey,
        /// Until when.
        until: Time,
        /// Waiting at the key before this one.
        ahead: Ahead,
    },
    /// No worker for its kind is known in its queue.
    NoWorker {
        /// Which queue.
        queue: QueueName,
        /// Which kind.
        kind: JobKind,
    },
    /// Nothing holds it but others before it: it starts when a worker is free.
    Waiting {
        /// How many are before it.
        ahead: Ahead,
    },
}

/// How many are before a job. Counting stops at a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    /// How many were counted.
    pub count: u64,
    /// Whether there are, or may be, more.
    pub or_more: bool,
}

impl Ahead {
    /// Nothing.
    pub const NONE: Ahead = Ahead { count: 0, or_more: false };
}

/// What is known of a job and of all it depends on, read from one snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyFacts {
    /// Where it is.
    pub state: JobState,
    /// Its queue.
    pub queue: QueueName,
    /// Its kind.
    pub kind: JobKind,
    /// When it may run.
    pub run_at: Time,
    /// Attempts that counted.
    pub failures: u32,
    /// Why the last attempt ended as it did.
    pub reason: Option<String>,
    /// Whether it was asked to stop.
    pub cancel_asked: bool,
    /// Its lease while it runs: worker, attempt, end.
    pub lease: Option<(WorkerId, u32, Time)>,
    /// Whether its queue is paused.
    pub paused: bool,
    /// Its queue's own key and its limit keys.
    pub keys: Vec<KeyFacts>,
    /// Whether some worker takes its kind from its queue.
    pub has_worker: bool,
    /// How many ready jobs of its queue and kind are before it, if it is ready itself.
    pub ahead: Ahead,
}

/// One key a job must pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFacts {
    /// Which.
    pub key: LimitKey,
    /// What it allows now.
    pub room: Room,
    /// How many run under it.
    pub in_use: u32,
    /// How many wait at it before this one.
    pub ahead: Ahead,
}

/// Every cause that holds. Never empty.
#[must_use]
pub fn why(facts: &WhyFacts) -> Vec<Cause> {
    match facts.state {
        JobState::Done | JobState::Skipped | JobState::Cancelled => vec![Cause::Ended { state: facts.state }],
        JobState::Failed => {
            vec![Cause::DeadLetter { failures: facts.failures, reason: facts.reason.clone() }]
        }
        JobState::Running => {
            let mut causes: Vec<Cause> = facts
                .lease
                .iter()
                .map(|(worker, attempt, lease_expires_at)| Cause::Running {
                    worker: worker.clone(),
                    attempt: *attempt,
                    lease_expires_at: *lease_expires_at,
                })
                .collect();
            if facts.cancel_asked {
                causes.push(Cause::Cancelling);
            }
            causes
        }
        JobState::Scheduled => {
            let mut causes = vec![waits_for_time(facts)];
            causes.extend(obstacles(facts));
            causes
        }
        JobState::Ready => {
            let causes = obstacles(facts);
            if causes.is_empty() { vec![Cause::Waiting { ahead: facts.ahead }] } else { causes }
        }
    }
}

fn waits_for_time(facts: &WhyFacts) -> Cause {
    let run_at = facts.run_at;
    match (facts.failures, &facts.reason) {
        (0, None) => Cause::Scheduled { run_at },
        (failures, reason) => Cause::BackingOff { run_at, failures, reason: reason.clone() },
    }
}

fn obstacles(facts: &WhyFacts) -> Vec<Cause> {
    let mut causes = Vec::new();
    if facts.paused {
        causes.push(Cause::QueuePaused { queue: facts.queue.clone() });
    }
    if !facts.has_worker {
        causes.push(Cause::NoWorker { queue: facts.queue.clone(), kind: facts.kind.clone() });
    }
    for KeyFacts { key, room, in_use, ahead } in &facts.keys {
        let (key, ahead) = (key.clone(), *ahead);
        causes.extend(match *room {
            Room::For(_) => None,
            Room::Full(Blocked::Concurrency { limit }) => {
                Some(Cause::Concurrency { key, limit, in_use: *in_use, ahead })
            }
            Room::Full(Blocked::Rate { rate, until }) => Some(Cause::RateLimited { key, rate, until, ahead }),
            Room::Full(Blocked::Cooldown { until }) => Some(Cause::CoolingDown { key, until, ahead }),
        });
    }
    causes
}
