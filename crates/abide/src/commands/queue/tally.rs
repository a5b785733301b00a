//! What a run has done, and how much more it may do.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use abide_core::job::{AttemptEnd, Finish, JobId, JobState, Lease};
use abide_engine::worker::failed;
use abide_engine::{JobContext, Worker};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// What became of the jobs that were tried here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(super) struct Ended {
    pub(super) done: u64,
    pub(super) skipped: u64,
    /// For good.
    pub(super) failed: u64,
    /// Failed, and wait to be tried again.
    pub(super) to_retry: u64,
    /// How often one was given back unfinished.
    pub(super) handed_back: u64,
    /// Of the files that were saved.
    pub(super) bytes: u64,
}

/// Shared by everything that runs jobs in one run. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    // Locked for an addition at a time.
    state: Mutex<State>,
    /// Told when an attempt ends.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    ended: Ended,
    /// Jobs whose last attempt here failed and was not the last of all.
    waiting: BTreeSet<JobId>,
    running: u64,
    /// Jobs that may still start; none if there is no bound.
    budget: Option<u64>,
}

impl Tally {
    /// At most `budget` jobs.
    pub(super) fn new(budget: Option<u64>) -> Tally {
        Tally(Arc::new(Shared {
            state: Mutex::new(State { budget, ..State::default() }),
            ended: Notify::new(),
        }))
    }

    /// What has ended so far.
    pub(super) fn ended(&self) -> Ended {
        let state = self.lock();
        Ended { to_retry: state.waiting.len() as u64, ..state.ended }
    }

    /// How many more jobs may start, if that is bounded.
    pub(super) fn budget(&self) -> Option<u64> {
        self.lock().budget
    }

    /// Resolves when as many jobs as are allowed have run.
    pub(super) async fn used_up(&self) {
        self.becomes(State::is_used_up).await;
    }

    /// Resolves when another job may start: one that ended uncounted leaves its place to another.
    pub(super) async fn has_room(&self) {
        self.becomes(|state| state.budget != Some(0)).await;
    }

    async fn becomes(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let ended = self.0.ended.notified();
            if is_so(&self.lock()) {
                return;
            }
            ended.await;
        }
    }

    fn start(&self) -> bool {
        let mut state = self.lock();
        let may = state.budget != Some(0);
        if may {
            state.running += 1;
            state.budget = state.budget.map(|budget| budget - 1);
        }
        may
    }

    fn end(&self, lease: &Lease, finish: &Finish) {
        let mut state = self.lock();
        state.running -= 1;
        if finish.end.is_uncounted() {
            state.budget = state.budget.map(|budget| budget + 1);
        }
        if state.ended.add(lease, finish) {
            state.waiting.insert(lease.lease.job);
        } else if finish.end != AttemptEnd::HandedBack {
            state.waiting.remove(&lease.lease.job);
        }
        self.0.ended.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each step leaves the counts whole, so a panic elsewhere under the lock spoils nothing.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_used_up(&self) -> bool {
        self.budget == Some(0) && self.running == 0
    }
}

#[derive(Deserialize)]
struct Size {
    #[serde(default)]
    size: u64,
}

impl Ended {
    /// Whether the job waits for another attempt.
    fn add(&mut self, lease: &Lease, finish: &Finish) -> bool {
        match lease.becomes(&finish.end) {
            JobState::Done => self.done += 1,
            JobState::Skipped => self.skipped += 1,
            JobState::Failed => self.failed += 1,
            JobState::Scheduled => return true,
            JobState::Ready | JobState::Running | JobState::Cancelled => self.handed_back += 1,
        }
        if let AttemptEnd::Done { result } = &finish.end {
            self.bytes += result.decode::<Size>().map_or(0, |result| result.size);
        }
        false
    }

    /// Jobs that are over.
    pub(super) fn over(&self) -> u64 {
        self.done + self.skipped + self.failed
    }
}

/// An attempt under way: counted as running until its end, whatever that is.
struct Started {
    lease: Option<Lease>,
    tally: Tally,
}

impl Started {
    fn end(&mut self, finish: &Finish) {
        if let Some(lease) = self.lease.take() {
            self.tally.end(&lease, finish);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It ended without a word: whoever runs it says as much for it.
        let finish = if std::thread::panicking() {
            failed("the worker panicked")
        } else {
            AttemptEnd::HandedBack.into()
        };
        self.end(&finish);
    }
}

/// A worker whose attempts are counted, and which starts no more than it may.
#[derive(Clone)]
pub(super) struct Counted<W> {
    pub(super) worker: W,
    pub(super) tally: Tally,
}

impl<W: Worker + Clone> Worker for Counted<W> {
    fn run(&self, mut job: JobContext) -> Pin<Box<dyn Future<Output = Finish> + Send>> {
        let Counted { worker, tally } = self.clone();
        // Counted before it is first looked at: whoever asks for more jobs knows of this one.
        let started = tally.start().then(|| Started { lease: Some(job.lease().clone()), tally });
        Box::pin(async move {
            let Some(mut started) = started else {
                // The run ends as soon as those before it have ended, and then this is handed back.
                job.stopped().await;
                return AttemptEnd::HandedBack.into();
            };
            let finish = worker.run(job).await;
            started.end(&finish);
            finish
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abide_core::job::{LeaseRef, LeaseToken};
    use abide_core::json::Json;
    use abide_core::name::{JobKind, QueueName};
    use abide_core::time::Time;
    use tokio::sync::{mpsc, watch};

    fn job() -> JobContext {
        let lease = Lease {
            lease: LeaseRef { job: JobId(1), attempt: 1, token: LeaseToken::draw(0, JobId(1), 1) },
            queue: QueueName::new("q").unwrap(),
            kind: JobKind::new("k").unwrap(),
            payload: Json::null(),
            unique_key: None,
            failures: 0,
            max_attempts: 3,
            lease_expires_at: Time::ZERO,
            trace: None,
        };
        JobContext::new(lease, mpsc::unbounded_channel().0, watch::channel(false).1)
    }

    #[tokio::test]
    async fn an_attempt_that_panics_has_ended() {
        let tally = Tally::new(Some(1));
        let panics = |_: JobContext| async { panic!("as the test wants it") };
        let counted = Counted { worker: panics, tally: tally.clone() };
        tokio::spawn(counted.run(job())).await.unwrap_err();
        tally.used_up().await;
        assert_eq!(tally.ended(), Ended { to_retry: 1, ..Ended::default() });
    }

    #[tokio::test]
    async fn an_attempt_that_is_let_go_may_be_made_again() {
        let tally = Tally::new(Some(1));
        let hangs = |_: JobContext| std::future::pending();
        let counted = Counted { worker: hangs, tally: tally.clone() };
        drop(counted.run(job()));
        assert_eq!((tally.budget(), tally.ended().handed_back), (Some(1), 1));
    }
}
