//! What the engine counts while it works, for whoever watches it.
//!
//! Everything starts at zero with the engine. Names from outside are bounded: past [`NAMES`] queues or kinds, what comes
//! after counts under [`OTHER`].

mod histogram;
mod recent;

pub use histogram::Histogram;
pub use recent::Recent;

use abide_core::job::{AttemptWord, JobState};
use abide_core::time::Time;
use abide_store::write::{Batch, EventFate, JobMove};
use abide_store::{StoreError, Written};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Queues or kinds that are counted by name.
pub const NAMES: usize = 200;
/// The name of the rest: no queue or kind begins with an underscore.
pub const OTHER: &str = "_other";

/// Counts what happens. Shared by the engine's threads.
#[derive(Debug)]
pub struct Meter {
    // Locked for some additions at a time: once for each turn and each batch, and to be copied when somebody looks. Its
    // users hardly ever meet, so it costs about what an atomic does.
    counts: Mutex<Counts>,
    calls_waiting: AtomicUsize,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Jobs, by queue.
    pub queues: BTreeMap<String, JobCounts>,
    /// Turns, by kind of object.
    pub kinds: BTreeMap<String, TurnCounts>,
    /// Commits of turns that are durable.
    pub commits: u64,
    /// Commits that the store refused, because the object was not where the turn read it or its event was gone.
    pub refused_commits: u64,
    /// Writes in each batch.
    pub batch_sizes: Histogram,
    /// How long each batch took, in microseconds: applied and synced.
    pub batch_times: Histogram,
    /// How long its sync took, in microseconds, if the store says so.
    pub sync_times: Histogram,
    /// Batches that the store could not write.
    pub failed_batches: u64,
    /// How long after their time alarms ran, in microseconds.
    pub alarm_lateness: Histogram,
    /// Events that became dead letters.
    pub dead_letters: u64,
    /// Calls that have no reply yet.
    pub calls_waiting: u64,
}

/// Jobs of one queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCounts {
    /// Jobs that were new.
    pub enqueued: u64,
    /// Attempts that began.
    pub started: u64,
    /// Attempts that ended, by [`AttemptWord`], in the order of [`AttemptWord::ALL`].
    pub attempts: [u64; AttemptWord::ALL.len()],
    /// Jobs that were over, by [`JobState`], in the order of [`JobState::ALL`].
    pub finished: [u64; JobState::ALL.len()],
    /// Jobs that were over lately.
    pub lately: Recent,
    /// Attempts that failed and are followed by another.
    pub retried: u64,
    /// From when a job might run until it was leased, in microseconds.
    pub waits: Histogram,
    /// From lease to end of an attempt, in microseconds.
    pub runs: Histogram,
    /// From lease to the worker's first step, of jobs that run in this process, in microseconds.
    pub starts: Histogram,
}

/// Turns of one kind of object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnCounts {
    /// By how they ended, in the order of [`TurnEnd::ALL`].
    pub ended: [u64; TurnEnd::ALL.len()],
    /// How long handlers ran, in microseconds.
    pub times: Histogram,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnEnd {
    /// It made a commit.
    Changed,
    /// It changed nothing.
    Answered,
    /// The object said no.
    Refused,
    /// It could not go on.
    Failed,
}

impl TurnEnd {
    /// Every end.
    pub const ALL: [TurnEnd; 4] = [TurnEnd::Changed, TurnEnd::Answered, TurnEnd::Refused, TurnEnd::Failed];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            TurnEnd::Changed => "changed",
            TurnEnd::Answered => "answered",
            TurnEnd::Refused => "refused",
            TurnEnd::Failed => "failed",
        }
    }
}

impl Default for JobCounts {
    fn default() -> JobCounts {
        JobCounts {
            enqueued: 0,
            started: 0,
            attempts: Default::default(),
            finished: Default::default(),
            lately: Recent::default(),
            retried: 0,
            waits: Histogram::of_times(),
            runs: Histogram::of_times(),
            starts: Histogram::of_times(),
        }
    }
}

impl JobCounts {
    /// Jobs that ended in this state.
    #[must_use]
    pub fn finished_as(&self, state: JobState) -> u64 {
        position(&JobState::ALL, &state).map_or(0, |at| self.finished[at])
    }

    /// Attempts that ended so.
    #[must_use]
    pub fn ended_as(&self, word: AttemptWord) -> u64 {
        position(&AttemptWord::ALL, &word).map_or(0, |at| self.attempts[at])
    }

    fn note(&mut self, moved: &JobMove, at: Time) {
        if moved.from.is_none() {
            self.enqueued += 1;
        }
        if moved.to == JobState::Running {
            self.started += 1;
            self.waits.note_ms(at.since(moved.since));
        }
        if let Some(word) = moved.ended {
            add(&mut self.attempts, position(&AttemptWord::ALL, &word));
            self.runs.note_ms(at.since(moved.since));
            if !moved.to.is_over() && matches!(word, AttemptWord::Error | AttemptWord::Expired) {
                self.retried += 1;
            }
        }
        if moved.to.is_over() {
            add(&mut self.finished, position(&JobState::ALL, &moved.to));
            self.lately.note(at);
        }
    }
}

fn position<T: PartialEq>(all: &[T], one: &T) -> Option<usize> {
    all.iter().position(|other| other == one)
}

fn add(counts: &mut [u64], at: Option<usize>) {
    if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
        *count += 1;
    }
}

impl Default for TurnCounts {
    fn default() -> TurnCounts {
        TurnCounts { ended: Default::default(), times: Histogram::of_times() }
    }
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            queues: BTreeMap::new(),
            kinds: BTreeMap::new(),
            commits: 0,
            refused_commits: 0,
            batch_sizes: Histogram::of_sizes(),
            batch_times: Histogram::of_times(),
            sync_times: Histogram::of_times(),
            failed_batches: 0,
            alarm_lateness: Histogram::of_times(),
            dead_letters: 0,
            calls_waiting: 0,
        }
    }
}

/// The entry of a name, or of the rest if there are too many.
fn entry<'a, T: Default>(by_name: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    let name = if by_name.contains_key(name) || by_name.len() < NAMES { name } else { OTHER };
    // Two lookups for a name that is there, so that it is not cloned each time.
    if !by_name.contains_key(name) {
        by_name.insert(name.to_owned(), T::default());
    }
    by_name.get_mut(name).expect("put there if it was not")
}

impl Meter {
    pub(crate) fn new() -> Meter {
        Meter { counts: Mutex::default(), calls_waiting: AtomicUsize::new(0) }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted up to now.
    #[must_use]
    pub fn read(&self) -> Counts {
        let mut counts = self.counts().clone();
        counts.calls_waiting = self.calls_waiting.load(Ordering::Relaxed) as u64;
        counts
    }

    pub(crate) fn set_calls_waiting(&self, calls: usize) {
        self.calls_waiting.store(calls, Ordering::Relaxed);
    }

    /// A batch came back from the store.
    pub(crate) fn wrote(&self, result: &Result<Batch, StoreError>) {
        let mut counts = self.counts();
        let batch = match result {
            Ok(batch) => batch,
            Err(_) => {
                counts.failed_batches += 1;
                return;
            }
        };
        for moved in &batch.woken.moves {
            entry(&mut counts.queues, moved.queue.as_str()).note(moved, batch.at);
        }
        for written in &batch.written {
            match written {
                Written::Committed(Ok(_)) => counts.commits += 1,
                Written::Committed(Err(_)) => counts.refused_commits += 1,
                Written::EventFailed(EventFate::Dead(_)) => counts.dead_letters += 1,
                _ => {}
            }
        }
    }

    /// A batch was written in this time.
    pub(crate) fn batch(&self, writes: usize, took_us: u64, sync: Option<Duration>) {
        let mut counts = self.counts();
        counts.batch_sizes.note(writes as u64);
        counts.batch_times.note(took_us);
        if let Some(sync) = sync {
            counts.sync_times.note(u64::try_from(sync.as_micros()).unwrap_or(u64::MAX));
        }
    }

    /// A turn ended.
    pub(crate) fn turn(&self, kind: &str, end: TurnEnd, took_us: u64, late_ms: Option<i64>) {
        let mut counts = self.counts();
        let turns = entry(&mut counts.kinds, kind);
        add(&mut turns.ended, position(&TurnEnd::ALL, &end));
        turns.times.note(took_us);
        if let Some(late_ms) = late_ms {
            counts.alarm_lateness.note_ms(late_ms);
        }
    }

    /// A worker in this process took its first step.
    pub(crate) fn began(&self, queue: &str, after: Duration) {
        let after_us = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
        entry(&mut self.counts().queues, queue).starts.note(after_us);
    }
}

#[cfg(test)]
mod tests {
    use super::{Meter, NAMES, OTHER, TurnEnd};

    #[test]
    fn names_are_bounded() {
        let meter = Meter::new();
        for n in 0..NAMES + 50 {
            meter.turn(&format!("kind-{n}"), TurnEnd::Changed, 1, None);
        }
        meter.turn("kind-0", TurnEnd::Failed, 1, None);
        let kinds = meter.read().kinds;
        assert_eq!(kinds.len(), NAMES + 1);
        assert_eq!(kinds[OTHER].ended, [50, 0, 0, 0]);
        assert_eq!(kinds["kind-0"].ended, [1, 0, 0, 1]);
    }
}
