//! What downloads of this process came to, for whoever watches.

use abide_core::job::{Finish, JobState, Lease};
use abide_engine::meter::Histogram;
use abide_fetch::{DownloadError, Downloaded, FetchError, Reason};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Resolvers that are counted by name: their names come from lists.
const RESOLVERS: usize = 200;
/// What the others are counted as.
const OTHER: &str = "_other";

/// Counts attempts. Cheap to clone; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    // Locked to note one attempt, or to copy what is there.
    counts: Arc<Mutex<BTreeMap<String, Counts>>>,
    listener: Arc<OnceLock<Listener>>,
}

/// Hears of each latency, by resolver.
type Hears = dyn Fn(&str, Duration) + Send + Sync;

struct Listener(Box<Hears>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// What the downloads of one resolver came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Attempts by the status of the last reply, if there was one, and by reason.
    pub attempts: BTreeMap<(Option<u16>, Reason), u64>,
    /// Attempts that are followed by another.
    pub retries: BTreeMap<Reason, u64>,
    /// Artifacts that are over.
    pub outcomes: BTreeMap<(Outcome, Reason), u64>,
    /// Bytes that came and were kept.
    pub bytes: u64,
    /// From a request to the head of its reply, for files that came.
    pub latency: Histogram,
}

/// How an artifact is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// There is a file.
    Success,
    /// There is none, and that is no error.
    Skip,
    /// It is a dead letter.
    Error,
}

impl Outcome {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Skip => "skip",
            Outcome::Error => "error",
        }
    }
}

/// What is known of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) reason: Reason,
    status: Option<u16>,
    bytes: u64,
}

impl Seen {
    pub(crate) fn of(ended: &Result<Downloaded, DownloadError>) -> Seen {
        match ended {
            Ok(Downloaded::Saved(saved)) => Seen {
                reason: Reason::Ok,
                status: Some(saved.status),
                bytes: saved.size.saturating_sub(saved.resumed_from),
            },
            Ok(Downloaded::NotModified(saved)) => {
                Seen { reason: Reason::NotModified, status: Some(saved.status), bytes: 0 }
            }
            Err(error) => {
                let status = match error {
                    DownloadError::Fetch(FetchError::Status { status, .. }) => Some(*status),
                    _ => None,
                };
                Seen { reason: error.reason(), status, bytes: 0 }
            }
        }
    }
}

impl Meter {
    /// What there was so far, by resolver; empty for those without one.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<String, Counts> {
        self.lock().clone()
    }

    /// Lets `hears` know each time from a request to the head of its reply, when it is noted. The first who listens stays.
    pub fn listen(&self, hears: impl Fn(&str, Duration) + Send + Sync + 'static) {
        // Whoever comes later wants to hear the same.
        drop(self.listener.set(Listener(Box::new(hears))));
    }

    /// Notes how the attempt of `lease` ended. One that was given back does not count.
    pub(crate) fn note(
        &self,
        resolver: Option<&str>,
        seen: Seen,
        latency: Option<Duration>,
        lease: &Lease,
        finish: &Finish,
    ) {
        let outcome = match lease.becomes(&finish.end) {
            JobState::Done => Some(Outcome::Success),
            JobState::Skipped => Some(Outcome::Skip),
            JobState::Failed => Some(Outcome::Error),
            JobState::Scheduled => None,
            JobState::Ready | JobState::Running | JobState::Cancelled => return,
        };
        let mut all = self.lock();
        let resolver = resolver.unwrap_or_default();
        let resolver = if all.len() < RESOLVERS || all.contains_key(resolver) { resolver } else { OTHER };
        let counts = all.entry(resolver.to_owned()).or_default();
        *counts.attempts.entry((seen.status, seen.reason)).or_default() += 1;
        match outcome {
            Some(outcome) => *counts.outcomes.entry((outcome, seen.reason)).or_default() += 1,
            None => *counts.retries.entry(seen.reason).or_default() += 1,
        }
        counts.bytes += seen.bytes;
        let Some(latency) = latency else { return };
        counts.latency.note(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX));
        drop(all);
        if let Some(Listener(hears)) = self.listener.get() {
            hears(resolver, latency);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Counts>> {
        // Each step leaves the counts whole, so a panic elsewhere under the lock spoils nothing.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            attempts: BTreeMap::new(),
            retries: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            bytes: 0,
            latency: Histogram::of_times(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finish::finish;
    use crate::patience::tests::lease;

    fn note(meter: &Meter, resolver: &str, failures: u32, error: DownloadError) {
        let lease = lease(failures + 1, failures);
        let ended = Err(error);
        let seen = Seen::of(&ended);
        let finish = finish(&lease, "a", ended);
        meter.note(Some(resolver), seen, None, &lease, &finish);
    }

    #[test]
    fn an_attempt_is_followed_by_another_or_the_last() {
        let failed = || FetchError::Status { host: "h".into(), status: 500, retry_after_ms: None }.into();
        let meter = Meter::default();
        for failures in 0..3 {
            note(&meter, "r", failures, failed());
        }
        note(&meter, "r", 0, DownloadError::Stopped);
        note(&meter, "r", 2, FetchError::Paced { host: "h".into(), wait_ms: 9 }.into());
        let counts = &meter.counts()["r"];
        assert_eq!(
            counts.attempts,
            BTreeMap::from([((Some(500), Reason::Backoff), 3), ((None, Reason::Backoff), 1)])
        );
        assert_eq!(counts.retries, BTreeMap::from([(Reason::Backoff, 3)]));
        assert_eq!(counts.outcomes, BTreeMap::from([((Outcome::Error, Reason::Backoff), 1)]));
    }

    #[test]
    fn the_names_of_resolvers_are_bounded() {
        let meter = Meter::default();
        for number in 0..2 * RESOLVERS {
            note(&meter, &format!("r{number}"), 0, DownloadError::Busy { path: "p".into() });
        }
        let counts = meter.counts();
        assert_eq!(counts.len(), RESOLVERS + 1);
        assert_eq!(counts[OTHER].retries[&Reason::DownloadError], RESOLVERS as u64);
    }
}
